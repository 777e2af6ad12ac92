#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The rows that vignetted finds from instructions are right, by libdw's rows of four libraries: of one address in 100.
# SOAK: of every address.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
libraries=/usr/lib/x86_64-linux-gnu
needs $libraries/libstdc++.so.6 $libraries/libcrypto.so.3 $libraries/libx264.so.164
every=100
[ -z "${SOAK-}" ] || every=1

# Of each library: of instructions the least part that is right and the most that is wrong, in percent; then of return
# addresses.  The figures reached are up to 1 better.
limits='libc.so.6 98.5 0.2 94.5 1.0
libstdc++.so.6 97.3 0.2 93.0 1.0
libcrypto.so.3 96.0 0.2 98.8 0.4
libx264.so.164 99.5 0.2 97.0 1.0'

echo "$limits" | while read -r library right wrong returns_right returns_wrong; do
	file=$(realpath "$libraries/$library")
	"$BUILDDIR/tests/recording/code_rows" -e $every "$file" >"$dir/rows" || fail "code_rows: $(cat "$dir/rows")"
	cat "$dir/rows"
	for limit in "instructions $right $wrong" "return addresses $returns_right $returns_wrong"; do
		set -- $limit
		sed -n "s/^code_rows: [^ ]*: \([0-9]*\) $1[a-z ]*: \([0-9.]*\) % right, \([0-9.]*\) % wrong.*/\1 \2 \3/p" \
			"$dir/rows" >"$dir/figures"
		shift $(($# - 2))
		awk -v right="$1" -v wrong="$2" '{ lines++; if ($1 == 0 || $2 < right || $3 > wrong) exit 1 }
			END { if (lines != 1) exit 1 }' "$dir/figures" ||
			fail "$library: of ${limit% $1 $2}, at least $1 % must be right and at most $2 % wrong: $(cat "$dir/rows")"
	done
done
