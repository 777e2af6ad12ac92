#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The demo runs as it does for a user, and Speedscope's file is valid (viewers.sh shows such files in Speedscope).
set -eu
. "${SRCDIR:?}/tests/lib.sh"
. "$SRCDIR/tests/views/browser.sh"
# Without VIGNETTED: the demo finds the helper of the build.
(unset VIGNETTED; CFLAGS="-O2 -g ${SANITIZE-}" sh "$SRCDIR/examples/demo.sh" "$dir") >"$dir/output"
cat "$dir/output"
for file in life.vgp symbols life.resolved.vgp life.speedscope.json; do
	[ -s "$dir/$file" ] || fail "the demo has not written $file"
done
[ ! -e "$dir/life.vgp.part" ] || fail "the demo left life.vgp.part"
"$VGTOOL" info --json "$dir/life.resolved.vgp" >"$dir/info.json"
"$VGTOOL" report --json "$dir/life.resolved.vgp" >"$dir/report.json"
node "$SRCDIR/tests/views/demo.mjs" "$dir"
speedscope check "$release" "$dir/life.speedscope.json"
