#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The demo from end to end, and its flame graph in the real Speedscope.
# Needs what examples/demo.sh needs, and NPM (node_modules with speedscope).
set -eu
. "${SRCDIR:?}/tests/lib.sh"
: "${SRCDIR:?}" "${BUILDDIR:?}" "${VGTOOL:?}" "${NPM:?}"
unset VIGNETTED
CFLAGS="-O2 -g ${SANITIZE-}"
export CFLAGS

sh "$SRCDIR/examples/demo.sh" "$dir" >"$dir/output"
cat "$dir/output"
for file in life.vgp symbols life.resolved.vgp life.speedscope.json; do
	[ -s "$dir/$file" ] || { echo "the demo left no $file"; exit 1; }
done
[ ! -e "$dir/life.vgp.part" ] || { echo "the demo left life.vgp.part"; exit 1; }
"$VGTOOL" info --json "$dir/life.resolved.vgp" >"$dir/info.json"
"$VGTOOL" report --json "$dir/life.resolved.vgp" >"$dir/report.json"
node "$SRCDIR/tests/demo.mjs" "$dir"
SPEEDSCOPE_DIR=$NPM/speedscope/dist/release sh "$SRCDIR/tests/speedscope.sh" \
	"$dir/life.speedscope.json" life neighbours
