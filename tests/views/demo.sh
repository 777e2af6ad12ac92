#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The demo runs as it does for a user, and Speedscope's file is valid (viewers.sh shows such files in Speedscope).
set -eu
. "${SRCDIR:?}/tests/lib.sh"
[ -z "${SANITIZE-}" ] || skip "the demo keeps three threads busy for seconds, and shows nothing about memory"
needs cc
. "$SRCDIR/tests/views/browser.sh"
. "$SRCDIR/tests/views/recorded.sh"
# 62 samples of each worker on a CPU, and 52 in the snake.  The hottest function has 85 % of a worker's time: it has less
# than half of 62 samples with a probability of 8e-10 (Chernoff's bound).  The snake is longer than 1,000 cells for a third
# of its time: in none of 52 samples with (2/3)^52 = 7e-10.
seconds=2
demo() {
	# Without VIGNETTED: the demo finds the helper of the build.
	(unset VIGNETTED; LIFE_SECONDS=$seconds sh "$SRCDIR/examples/demo.sh" "$dir") \
		>"$dir/output" 2>&1 || fail "the demo: $(cat "$dir/output")"
	seconds=$((2 * seconds))
	"$VGTOOL" info --json "$dir/life.resolved.vgp" >"$dir/info.json"
	"$VGTOOL" report --json --on-cpu "$dir/life.resolved.vgp" >"$dir/report.json"
	# An incomplete stack before a wait for a CPU counts for each period of the wait.
	[ "$(json "$dir/info.json" 'it.stacks_complete >= 0.999 * it.stacks')" = true ] || return 1
	[ "$(json "$dir/report.json" 'it.threads.filter((thread) => /^worker/.test(thread.name)).every((worker) =>
			worker.samples >= 62) &&
		it.functions.find((row) => row.name === "snake_measure").total_samples >= 60')" = true ]
}
again "62 samples of each worker, 60 of the snake, and complete stacks" demo
cat "$dir/output"
for file in life.vgp symbols life.resolved.vgp life.speedscope.json; do
	[ -s "$dir/$file" ] || fail "the demo has not written $file"
done
[ ! -e "$dir/life.vgp.part" ] || fail "the demo left life.vgp.part"
node "$SRCDIR/tests/views/demo.mjs" "$dir"
speedscope check "$release" "$dir/life.speedscope.json"
