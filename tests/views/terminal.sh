#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# No output of the programs has untrusted bytes that a terminal would obey: messages of a fake helper, the name of a
# tracer, the module of a symbol file, every string of a profile.  tests/views/untrusted.c is the fake helper and the
# tracer, and writes the profile.  The programs replace these bytes in output to a file, too, so the test reads
# files.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs script iconv
: "${VGCTL:?}"
untrusted=$BUILDDIR/tests/views/untrusted
cd "$dir"

# shown WORDS COMMAND...: fails unless the command prints these words, nothing that a terminal obeys, and no forged line
shown() {
	words=$1
	shift
	timeout $life_s "$@" >out 2>&1 || true
	for word in $words; do
		grep -aqF -e "$word" out || fail "$*: no $word in: $(LC_ALL=C tr -c '\n -~' '?' <out | head -n 1 | cut -c 1-160)"
	done
	iconv -f utf-8 -t utf-8 <out >/dev/null 2>&1 || fail "$*: its output is not UTF-8"
	tr -d '\n' <out >line
	! LC_ALL=C grep -aqP '[\x00-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]' line ||
		fail "$*: a terminal would obey $(LC_ALL=C grep -aoP \
			'.{0,20}([\x00-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae])' line | head -n 3 | od -An -c | head -n 9)"
	! grep -aq '^forged' out || fail "$*: a forged line"
}

# ---- a fake helper ----
mkdir -m 700 helpers
started helper "$untrusted" helper "$dir/helpers"
helper=$(cat helper)
shown 'program-\x1b]0;owned' "$VGCTL" --directory helpers list
shown 'program-\x1b]0;owned' "$VGCTL" --directory helpers status "$helper"
shown 'failure-\x1b]0;owned' "$VGCTL" --directory helpers begin "$helper" -o begun.vgp
shown 'failure-\x1b]0;owned' "$VGCTL" --directory helpers end "$helper"
shown 'failure-\x1b]0;owned' "$VGCTL" --directory helpers dump "$helper" dumped.vgp
shown 'failure-\x1b]0;owned' "$VGCTL" --directory helpers mark "$helper" label

# ---- the name of a tracer ----
sleep 1000 & target=$!
pids="$pids $target"
started tracer "$untrusted" tracer $target
shown 'tracer\x1b[1m\x07\x9b1m' "$VIGNETTED" --pid $target -o traced.vgp

# ---- the names of files ----
name=$(printf 'file-\033[1m.vgp')
shown 'file-\x1b[1m' "$VGTOOL" info "$name"
shown 'file-\x1b[1m' "$VIGNETTED" --pid $target -o "$name/x"

# ---- a symbol file: its module, and a line that is wrong ----
evil=$(printf '\033]0;owned\007\23331m\302\23331m\177\342\200\256end')
mkdir -p store/x/11112222333344445555666677778888A
printf 'MODULE Linux x86_64 11112222333344445555666677778888A module-%s\nFUNC 0 %s\n' "$evil" "$evil" \
	>store/x/11112222333344445555666677778888A/x.sym
shown 'module-\x1b]0;owned\x07\x9b31m\u009b31m\x7f\u202eend' "$VGTOOL" store store
shown 'module-\u001b]0;owned' "$VGTOOL" store --json store

# ---- a profile ----
"$untrusted" profile evil.vgp
cp evil.vgp other.vgp
# The reader replaces each byte that a terminal would obey by one ?.
q='?]0;owned??forged?31m??31m?????end'
f='?]0:owned??forged?31m??31m?????end'
shown "program-$q mode-$q writer-$q arch-$q counter-$q lost-$q cost-$q module-$q end-$q" "$VGTOOL" info evil.vgp
shown "program-$q counter-$q" "$VGTOOL" info --json evil.vgp
shown "program-$q function-$q module-$q code-$q kernel-$q thread-$q" "$VGTOOL" report evil.vgp
shown "program-$q function-$q" "$VGTOOL" report --json evil.vgp
shown "program-$q thread-$q label-$q" "$VGTOOL" report --by interval evil.vgp
shown "thread-$q" "$VGTOOL" report --by thread evil.vgp
shown "module-$q" "$VGTOOL" report --by module evil.vgp
shown "file-$q" "$VGTOOL" report --by file evil.vgp
shown "function-$q" "$VGTOOL" report --by line evil.vgp
shown "function-$q module-$q code-$q" "$VGTOOL" report --tree evil.vgp
shown "function-$q" "$VGTOOL" report --tree --json evil.vgp
shown "function-$q" "$VGTOOL" report --callees function evil.vgp
shown "function-$q" "$VGTOOL" report --callers function evil.vgp
shown 'match-\x1b\[1m' "$VGTOOL" report --match "$(printf 'match-\033\\[1m|function')" --tree evil.vgp
shown "function-$q" "$VGTOOL" report --counter "counter-$q" evil.vgp
shown "label-$q kind-$q counter-$(echo "$q" | cut -c 1-8)" "$VGTOOL" summary evil.vgp
shown "thread-$q label-$q" "$VGTOOL" summary --threads evil.vgp
shown "label-$q function-$q" "$VGTOOL" diff evil.vgp other.vgp
shown "label-$q function-$q code-$q" "$VGTOOL" aggregate evil.vgp other.vgp
shown "module-$q" "$VGTOOL" missing -s store evil.vgp
shown "module-$q" "$VGTOOL" resolve -s store evil.vgp -o resolved.vgp
shown "function-$f code-$f" "$VGTOOL" folded evil.vgp
shown "thread-$f" "$VGTOOL" folded --threads evil.vgp
shown "function-$q label-$q" "$VGTOOL" speedscope evil.vgp
shown "function-$q label-$q" "$VGTOOL" chrome evil.vgp
shown "function-$q label-$q" sh -c "'$VGTOOL' firefox evil.vgp | gzip -dc"
shown "function-$q label-$q thread-$q code-$q" \
	sh -c "'$VGTOOL' pprof evil.vgp | gzip -dc | LC_ALL=C tr -c ' -~' '\n'"
shown "program-$q function-$q" "$VGTOOL" flamegraph --min 0 evil.vgp
shown '<!DOCTYPE' "$VGTOOL" view evil.vgp
e='\x1b]0;owned\x07\x0aforged\x9b31m\u009b31m\x7f\u202e\x09end'
shown "program-$e thread-$e label-$e function-$e module-$e code-$e kernel-$e file-$e" "$VGTOOL" audit evil.vgp
# JSON escapes control characters, and replaces bytes that are not UTF-8.
shown 'thread-\u001b]0;owned\u0007\nforged' "$VGTOOL" audit --json evil.vgp
shown 'label-\u001b]0;owned\u0007\nforged 31m\u009b31m\u007f\u202e\tend' "$VGTOOL" dump evil.vgp

# ---- a binary: the name of its library, of a function and of a source file ----
printf '# 1 "source-%s.c"\nint evil_function(void) { return 1; }\n' "$evil" >evil.c
${CC:-cc} -x cpp-output -w -g -shared -fPIC -Wl,--build-id=sha1 -Wl,-soname,"soname-$evil" -o evil.so evil.c
shown 'soname-?]0;owned' "$VGTOOL" symbols evil.so
shown 'soname-?]0;owned' "$VGTOOL" symbols -o saved evil.so

# vgtool does not write a binary file to a terminal.
shown terminal sh -c "script -qec '$VGTOOL cut --time 0.. evil.vgp' /dev/null | tr -d '\\r'"
shown terminal sh -c "script -qec '$VGTOOL recover -o - evil.vgp' /dev/null | tr -d '\\r'"
