#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Debug information of which dwz moved a part to a file that is not there: whoever reads it names that
# file, a store keeps the fact, `vgtool missing` lists the file, and symbols that are whole are kept.
# Needs VGTOOL, VIGNETTED; takes CXX, SRCDIR.
set -eu

: "${VGTOOL:?path of vgtool}" "${VIGNETTED:?path of vignetted}"
SRCDIR=${SRCDIR:-.}
fixtures=$(cd "$SRCDIR/tests/fixtures" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
cxx=${CXX:-c++}

fail() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}

# run STATUS COMMAND...: $dir/out and $dir/err
run() {
	wanted=$1 status=0; shift
	timeout 120 "$@" >"$dir/out" 2>"$dir/err" || status=$?
	[ "$status" = "$wanted" ] || fail "$*: status $status, not $wanted: $(head -c 400 "$dir/err")"
}

# named WHAT: standard error names the absent file, once
named() {
	[ "$(grep -c "$link, build id $id, which was not found" "$dir/err")" = 1 ] ||
		fail "$1: does not name $link $id once: $(head -c 400 "$dir/err")"
}
unnamed() {
	! grep -q 'not found' "$dir/err" || fail "$1: names a file: $(cat "$dir/err")"
}

# ---- two programs, and what they share ----
mkdir "$dir/bin" "$dir/whole"
cat >"$dir/spin.cc" <<'END'
__attribute__((constructor)) static void spin()
{
	for (volatile long i = 0; i < 400000000; i = i + 1)
		;
}
END
for which in one two; do
	$cxx -O2 -g -Wl,--build-id "$fixtures/symbols_names.cc" "$dir/spin.cc" -o "$dir/bin/$which"
	echo "int only_in_$which;" >>"$dir/spin.cc"
done
cp "$dir/bin/one" "$dir/whole"
(cd "$dir/bin" && dwz -m shared.debug one two)
link=$(readelf --string-dump=.gnu_debugaltlink "$dir/bin/one" | sed -nE '1,/]/s/.*\]  *([^ ]*shared.debug).*/\1/p')
id=$(readelf -n "$dir/bin/shared.debug" | sed -n 's/.*Build ID: //p')
[ "$link" = shared.debug ] && [ -n "$id" ] || fail "dwz: link '$link' to '$id'"
run 0 "$VIGNETTED" -o "$dir/a.vgp" --rate 500 -- "$dir/bin/one"
system="-s /lib/x86_64-linux-gnu/libc.so.6 -s /lib64/ld-linux-x86-64.so.2
	-s /lib/x86_64-linux-gnu/libstdc++.so.6 -s /lib/x86_64-linux-gnu/libgcc_s.so.1
	-s /lib/x86_64-linux-gnu/libm.so.6"

# ---- while it is there ----
run 0 "$VGTOOL" symbols -o "$dir/store" "$dir/bin/one"
unnamed "symbols, whole"
! grep -rq 'INFO ABSENT' "$dir/store" || fail "a whole store has INFO ABSENT"
cp -r "$dir/store" "$dir/kept"
for store in "$dir/store" "$dir/bin"; do
	run 0 "$VGTOOL" resolve -s "$store" -o "$dir/named.vgp" "$dir/a.vgp"
	unnamed "resolve from $store, whole"
	run 0 "$VGTOOL" missing -s "$store" $system "$dir/a.vgp"
done

# ---- and when it is not ----
mv "$dir/bin/shared.debug" "$dir/elsewhere"
run 0 "$VGTOOL" symbols "$dir/bin/one"
named "symbols to standard output"
grep -q '<name omitted>' "$dir/out" || fail "no name is lost: the test shows nothing"
run 0 "$VGTOOL" symbols -o "$dir/less" "$dir/bin/one" "$dir/bin/two"
grep -q "bin/one: .*$link, build id $id" "$dir/err" && grep -q "bin/two: .*$link, build id $id" "$dir/err" ||
	fail "symbols to a store: $(cat "$dir/err")"
for store in "$dir/less" "$dir/bin"; do
	run 0 "$VGTOOL" resolve -s "$store" -o "$dir/named.vgp" "$dir/a.vgp"
	named "resolve from $store"
	run 1 "$VGTOOL" missing -s "$store" $system "$dir/a.vgp"
	grep -qE "^ *[0-9.]+% +[0-9]+ $link $id [0-9A-F]{33} for one$" "$dir/out" && [ "$(wc -l <"$dir/out")" = 1 ] ||
		fail "missing in $store: $(cat "$dir/out" "$dir/err")"
	run 1 "$VGTOOL" missing --json -s "$store" $system "$dir/a.vgp"
	python3 - "$dir/out" "$link" "$id" <<'END' || fail "missing --json in $store: $(cat "$dir/out")"
import json, sys
missing, = json.load(open(sys.argv[1]))["missing"]
assert missing["name"] == sys.argv[2] and missing["build_id"].lower() == sys.argv[3], missing
assert missing["for"] == "one" and missing["samples"] > 0, missing
END
done
# A module without symbols is there for nobody else.
run 1 "$VGTOOL" missing --json -s "$dir/less" "$dir/a.vgp"
grep -q '"for":null' "$dir/out" || fail "missing --json: $(cat "$dir/out")"
# Symbols with all names are not replaced by others, and replace them.
run 0 "$VGTOOL" symbols -o "$dir/store" "$dir/bin/one"
grep -q 'kept: it has more' "$dir/out" || fail "the whole symbols are replaced: $(cat "$dir/out")"
diff -rq "$dir/store" "$dir/kept" || fail "the whole symbols are others"
run 0 "$VGTOOL" symbols -o "$dir/less" --debug-dir="$dir/whole" "$dir/whole/one"
cmp "$dir"/less/one/*/one.sym "$dir"/kept/one/*/one.sym || fail "the whole symbols do not replace the others"
run 0 "$VGTOOL" store "$dir/less"
# With symbols that are whole in another store, those are taken.
run 0 "$VGTOOL" resolve -s "$dir/bin" -s "$dir/kept" -o "$dir/named.vgp" "$dir/a.vgp"
unnamed "resolve from two stores"

echo "$failures failures"
[ "$failures" = 0 ]
