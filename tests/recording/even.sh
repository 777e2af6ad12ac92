#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A program whose cycle is as long as the sampling period is sampled at all points of its cycle about equally often.
# One such program uses the CPU, and another one waits.  Needs an idle machine: when the scheduler delays the program or
# the helper, it also moves the samples.  tests/unit/check_ticks.c and check_timers.c test the times of samples without
# a process.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node
[ -n "${TIMING-}" ] || skip "needs an idle machine: make timing"
# On a busy machine, a stop finds a running program where the scheduler has preempted it.  So stops are only tested with
# "wall".
capture=$(build_capture) clocks="cpu wall"
[ $capture = auto ] || clocks=wall
program=$BUILDDIR/tests/recording/even

# record CLOCK SECONDS: writes $dir/CLOCK.functions
record() {
	"$VIGNETTED" --capture $capture --mode $1 --rate 100 -o "$dir/$1.vgp" -- "$program" $1 $2
	symbolize "$dir/$1.vgp" $1 "$dir/$1.functions" "$program"
}

# even CLOCK LEAST MOST: whether each quarter of the cycle has a share between these percentages
even() {
	awk -v clock=$1 -v least=$2 -v most=$3 '
		$5 == "*" { all = $4 }
		$5 ~ /^quarter_/ {
			share = 100 * $4 / all
			wrong = share < least || share > most
			print clock, $5, share "% of 25%" (wrong ? "   WRONG" : "")
			right += !wrong
		}
		END { exit right != 4 }' "$dir/$1.functions"
}

for clock in $clocks; do
	record $clock 12
	even $clock 10 42 || fail "$clock: a part of the cycle is sampled too often: $(cat "$dir/$clock.functions")"
done
