#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# dwz moved a part of the debug information to a file that does not exist.  Every command that reads the rest of the
# debug information names the missing file, a store records that file's name, `vgtool missing` lists the file, and
# complete symbols are kept.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node "${CXX%% *}" dwz

# absent_named WHAT: fails unless standard error names the missing file once
absent_named() {
	[ "$(grep -c "$link, build id $id, which was not found" "$dir/err")" = 1 ] ||
		fail "$1: not one message about $link $id: $(head -c 400 "$dir/err")"
}
absent_unnamed() {
	! grep -q 'not found' "$dir/err" || fail "$1: names a missing file: $(cat "$dir/err")"
}

# ---- two programs with a shared file ----
mkdir "$dir/bin" "$dir/whole"
cat >"$dir/spin.cc" <<'END'
__attribute__((constructor)) static void spin()
{
	for (volatile long i = 0; i < 100000000; i = i + 1)
		;
}
END
for which in one two; do
	$CXX -O2 -g -Wl,--build-id "$fixtures/symbols_names.cc" "$dir/spin.cc" -o "$dir/bin/$which"
	echo "int only_in_$which;" >>"$dir/spin.cc"
done
cp "$dir/bin/one" "$dir/whole"
(cd "$dir/bin" && dwz -m shared.debug one two)
link=$(readelf --string-dump=.gnu_debugaltlink "$dir/bin/one" | sed -nE '1,/]/s/.*\]  *([^ ]*shared.debug).*/\1/p')
id=$(build_id "$dir/bin/shared.debug")
[ "$link" = shared.debug ] && [ -n "$id" ] || fail "dwz: link '$link' to '$id'"
recorded -o "$dir/a.vgp" --rate 1999 -- "$dir/bin/one"
system="-s /lib/x86_64-linux-gnu/libc.so.6 -s /lib64/ld-linux-x86-64.so.2
	-s /lib/x86_64-linux-gnu/libstdc++.so.6 -s /lib/x86_64-linux-gnu/libgcc_s.so.1
	-s /lib/x86_64-linux-gnu/libm.so.6"

# ---- the file exists ----
exits 0 "$VGTOOL" symbols -o "$dir/store" "$dir/bin/one"
absent_unnamed "symbols, whole"
! grep -rq 'INFO MISSING' "$dir/store" || fail "a store with complete symbols has INFO MISSING"
cp -r "$dir/store" "$dir/kept"
for store in "$dir/store" "$dir/bin"; do
	exits 0 "$VGTOOL" resolve -s "$store" -o "$dir/named.vgp" "$dir/a.vgp"
	absent_unnamed "resolve from $store, whole"
	exits 0 "$VGTOOL" missing -s "$store" $system "$dir/a.vgp"
done

# ---- the file does not exist ----
mv "$dir/bin/shared.debug" "$dir/elsewhere"
exits 0 "$VGTOOL" symbols "$dir/bin/one"
absent_named "symbols to standard output"
grep -q '<name omitted>' "$dir/out" || fail "no name is missing, so the test proves nothing"
exits 0 "$VGTOOL" symbols -o "$dir/less" "$dir/bin/one" "$dir/bin/two"
grep -q "bin/one: .*$link, build id $id" "$dir/err" && grep -q "bin/two: .*$link, build id $id" "$dir/err" ||
	fail "symbols to a store: $(cat "$dir/err")"
for store in "$dir/less" "$dir/bin"; do
	exits 0 "$VGTOOL" resolve -s "$store" -o "$dir/named.vgp" "$dir/a.vgp"
	absent_named "resolve from $store"
	exits 1 "$VGTOOL" missing -s "$store" $system "$dir/a.vgp"
	grep -qE "^ *[0-9.]+% +[0-9]+ $link $id [0-9A-F]{33} for one$" "$dir/out" && [ "$(wc -l <"$dir/out")" = 1 ] ||
		fail "missing in $store: $(cat "$dir/out" "$dir/err")"
	exits 1 "$VGTOOL" missing --json -s "$store" $system "$dir/a.vgp"
	out_holds "it.missing.length === 1 && it.missing[0].name === '$link' && it.missing[0].build_id.toLowerCase() === '$id'"
	out_holds 'it.missing[0].for === "one" && it.missing[0].samples > 0'
done
# A module without symbols is in the list, too.  Its "for" is null, because it is not a file that another module needs.
exits 1 "$VGTOOL" missing --json -s "$dir/less" "$dir/a.vgp"
out_holds 'it.missing.some(m => m.for === null)'
# Complete symbols replace incomplete ones, and are not replaced by them.
exits 0 "$VGTOOL" symbols -o "$dir/store" "$dir/bin/one"
has out 'kept: the existing file has more symbols'
diff -rq "$dir/store" "$dir/kept" || fail "the complete symbols were changed"
exits 0 "$VGTOOL" symbols -o "$dir/less" --debug-dir="$dir/whole" "$dir/whole/one"
cmp "$dir"/less/one/*/one.sym "$dir"/kept/one/*/one.sym || fail "the complete symbols do not replace the incomplete ones"
exits 0 "$VGTOOL" store "$dir/less"
# Complete symbols in another store are preferred.
exits 0 "$VGTOOL" resolve -s "$dir/bin" -s "$dir/kept" -o "$dir/named.vgp" "$dir/a.vgp"
absent_unnamed "resolve from two stores"

