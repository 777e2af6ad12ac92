#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vignetted's unwind rows equal libdw's in commonly profiled files, and few rows need libunwind.  SOAK: every row, and
# every installed library.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
libraries=/usr/lib/x86_64-linux-gnu
needs python3 node "${CXX%% *}" musl-gcc busybox $libraries/libLLVM-14.so.1

# Debian's node is a small program with a large library.
node=$(find $libraries -name 'libnode.so.*' -type f | head -1)
every=10
[ -z "${SOAK-}" ] || every=1
files="$(realpath $libraries/libc.so.6) $(realpath $libraries/libstdc++.so.6)
	$(realpath /usr/bin/python3) $(realpath $libraries/libLLVM-14.so.1) ${node:-/usr/bin/node}"
"$BUILDDIR/tests/recording/rows" -e $every $files >"$dir/rows" || fail "rows: $(cat "$dir/rows")"
cat "$dir/rows"
awk '/complex:/ { for (i = 1; i < NF; i++) if ($i == "of" && $(i + 1) == "addresses,") share = $(i - 2)
	if (share >= 1) exit 1 }' "$dir/rows" || fail "1 % or more of the addresses of a file need libunwind: $(cat "$dir/rows")"
[ "$(grep -c ' 0 differences' "$dir/rows")" = "$(echo $files | wc -w)" ] ||
	fail "rows differ from libdw's: $(grep -v ' 0 differences' "$dir/rows")"

# all_equal FILE...: fails unless every row of each file equals libdw's
all_equal() {
	"$BUILDDIR/tests/recording/rows" "$@" >"$dir/rows" || fail "rows: $(cat "$dir/rows")"
	cat "$dir/rows"
	[ "$(grep -c ' 0 differences' "$dir/rows")" = $# ] ||
		fail "rows differ from libdw's: $(grep -v ' 0 differences' "$dir/rows")"
}

# Programs linked with -static have .eh_frame and no .eh_frame_hdr.
cat >"$dir/throws.cc" <<'END'
#include <iostream>
#include <regex>
int main(int argc, char **argv)
{
	try {
		return std::regex_search(argv[0], std::regex(argv[argc - 1]));
	} catch (const std::regex_error &error) {
		std::cout << error.what();
		return 2;
	}
}
END
echo 'int main(void) { return 0; }' >"$dir/plain.c"
$CXX -O2 -static "$dir/throws.cc" -o "$dir/throws"
${CC%% *} -O2 -static "$dir/plain.c" -o "$dir/plain"
musl-gcc -O2 -static "$dir/plain.c" -o "$dir/musl"
strip -o "$dir/stripped" "$dir/throws"
for file in throws plain musl stripped; do
	! readelf -SW "$dir/$file" | grep -q ' \.eh_frame_hdr ' || fail "$file has .eh_frame_hdr, so the test proves nothing"
done
all_equal "$dir/throws" "$dir/plain" "$dir/musl" "$dir/stripped" /bin/busybox

# A .eh_frame_hdr without its table: linkers omit the table if they do not understand a part of .eh_frame.
libc=$(realpath $libraries/libc.so.6)
header=$((0x$(readelf -SW "$libc" | sed -n 's/.* \.eh_frame_hdr *PROGBITS *[0-9a-f]* *\([0-9a-f]*\) .*/\1/p')))
cp "$libc" "$dir/tableless"
printf '\377\377' | dd of="$dir/tableless" bs=1 seek=$((header + 2)) conv=notrunc 2>"$dir/log"
all_equal "$dir/tableless"

# Products and sums overflow in 20 of the fixture's 24 entries.  These entries give no row.
"${CC:-cc}" -shared -nostdlib "$SRCDIR/tests/fixtures/symbols_overflow.s" -o "$dir/overflow.so"
"$BUILDDIR/tests/recording/rows" "$dir/overflow.so" >"$dir/rows" || fail "overflow: $(cat "$dir/rows")"
grep -q ' 24 rows, .* 0 differences, .* 83.333 % of rows' "$dir/rows" || fail "rows of damaged entries: $(cat "$dir/rows")"
[ -n "${SOAK-}" ] || exit 0

# All installed files.  Some assembly code in them has unwind information written by hand, which may be wrong.
find $libraries /usr/lib/gcc /usr/lib/llvm-14 /usr/bin /usr/sbin -type f \( -name '*.so*' -o -perm -100 \) |
	while read -r file; do
		readelf -SW "$file" >"$dir/sections" 2>/dev/null || continue
		grep -q ' \.eh_frame  *PROGBITS' "$dir/sections" || continue
		echo "$file"
	done >"$dir/files"
xargs "$BUILDDIR/tests/recording/rows" <"$dir/files" >"$dir/all" || true
different=$(grep -v ' 0 differences' "$dir/all" | grep -v 'nothing to compare' || true)
[ -z "$different" ] || fail "rows differ from libdw's: $different"
awk '/ rows, / { rows += $4; compared += $6; complex += $4 * $16 / 100; files++ }
	END { printf "%d files, %d rows, %d compared, %.3f %% of rows complex\n", files, rows, compared,
		100 * complex / rows }' "$dir/all"
