#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Unwind rows are what libdw says they are, in the binaries that people profile; and few of them
# need libunwind.  SOAK: every row, and every library that is installed.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
libraries=/usr/lib/x86_64-linux-gnu

# Debian's own node is a small program and a library.
node=$(find $libraries -name 'libnode.so.*' -type f | head -1)
every=10
[ -z "${SOAK-}" ] || every=1
files="$(realpath $libraries/libc.so.6) $(realpath $libraries/libstdc++.so.6)
	$(realpath /usr/bin/python3) $(realpath $libraries/libLLVM-14.so.1) ${node:-/usr/bin/node}"
for file in $files; do
	[ -f "$file" ] || fail "there is no $file"
done
"$BUILDDIR/tests/recording/rows" -e $every $files >"$dir/rows" || fail "rows: $(cat "$dir/rows")"
cat "$dir/rows"
awk '/complex:/ { for (i = 1; i < NF; i++) if ($i == "of" && $(i + 1) == "addresses,") share = $(i - 2)
	if (share >= 1) exit 1 }' "$dir/rows" || fail "too many complex rows"
[ "$(grep -c ' 0 differences' "$dir/rows")" = "$(echo $files | wc -w)" ] || fail "rows are not what libdw says"

# Products and sums that do not fit: 20 of the fixture's 24 entries, none of which says anything.
"${CC:-cc}" -shared -nostdlib "$SRCDIR/tests/fixtures/symbols_overflow.s" -o "$dir/overflow.so"
"$BUILDDIR/tests/recording/rows" "$dir/overflow.so" >"$dir/rows" || fail "overflow: $(cat "$dir/rows")"
grep -q ' 24 rows, .* 0 differences, .* 83.333 % of rows' "$dir/rows" || fail "rows of damaged entries: $(cat "$dir/rows")"
[ -n "${SOAK-}" ] || exit 0

# Assembly with unwind information by hand stands here, some of it wrong.
find $libraries /usr/lib/gcc /usr/lib/llvm-14 /usr/bin /usr/sbin -type f \( -name '*.so*' -o -perm -100 \) |
	while read -r file; do
		readelf -SW "$file" >"$dir/sections" 2>/dev/null || continue
		grep -q ' \.eh_frame  *PROGBITS' "$dir/sections" || continue
		# Rows are found by its table: static programs without have none, and frame pointers lead.
		if grep -q ' \.eh_frame_hdr ' "$dir/sections"; then
			echo "$file"
		else
			echo "$file: no .eh_frame_hdr, nothing to compare" >&2
		fi
	done >"$dir/files"
xargs "$BUILDDIR/tests/recording/rows" <"$dir/files" >"$dir/all" || true
different=$(grep -v ' 0 differences' "$dir/all" | grep -v 'nothing to compare' || true)
[ -z "$different" ] || fail "rows are not what libdw says: $different"
awk '/ rows, / { rows += $4; compared += $6; complex += $4 * $16 / 100; files++ }
	END { printf "%d files, %d rows, %d compared, %.3f %% of rows complex\n", files, rows, compared,
		100 * complex / rows }' "$dir/all"
