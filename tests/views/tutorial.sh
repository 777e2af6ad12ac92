#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The commands of doc/tutorial.md, and the picture in it.
#
#     PICTURE   where to write the picture, for `make picture`; by default it is removed after the test
set -eu
. "${SRCDIR:?}/tests/lib.sh"
. "$SRCDIR/tests/installed.sh"
cd "$dir"
node "$SRCDIR/tests/views/tutorial.mjs" "$SRCDIR/doc/tutorial.md"

# cpu_share PROFILE FUNCTION: prints the function's total CPU time in percent of the profile's CPU time
cpu_share() {
	vgtool report --json --weight cpu "$1" |
		json - "100 * it.functions.find((f) => f.name === '$2').total_ns / it.cpu_ns"
}

# The numbers fit what the tutorial's text says about them.
slow=$(cpu_share slow.resolved.vgp word_find) fast=$(cpu_share fast.resolved.vgp word_find)
awk -v slow="$slow" -v fast="$fast" 'BEGIN { exit !(slow > 65 && fast < 55) }' ||
	fail "word_find has $slow % of the CPU time, then $fast %"
faster=$(vgtool diff --json --weight cpu slow.resolved.vgp fast.resolved.vgp |
	json - "it.changes.find((c) => c.type === 'all').self_ns.percent < -50")
[ "$faster" = true ] || fail "the improved program is not twice as fast"

sh "$SRCDIR/tests/views/picture.sh" slow.speedscope.json "${PICTURE:-$dir/picture.png}"
