#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A program with a cycle as long as the sampling period is not always sampled at the same place of its cycle: one that
# uses the CPU, one that waits.  TIMING: all places are sampled about equally often.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
# A stop meets a program that uses the CPU where the scheduler interrupts the program, on a machine with others to run.
capture=$(build_capture) clocks="cpu wall"
[ $capture = auto ] || clocks=wall
program=$BUILDDIR/tests/recording/even

# record CLOCK SECONDS: into $dir/CLOCK.functions
record() {
	"$VIGNETTED" --capture $capture --mode $1 --rate 100 -o "$dir/$1.vgp" -- "$program" $1 $2
	named "$dir/$1.vgp" $1 "$dir/$1.functions" "$program"
}

# even CLOCK LEAST MOST: the share of each quarter of the cycle is at least and at most so many percent
even() {
	awk -v clock=$1 -v least=$2 -v most=$3 '
		$5 == "*" { all = $4 }
		$5 ~ /^spend_/ {
			share = 100 * $4 / all
			wrong = share < least || share > most
			print clock, $5, share "% of 25%" (wrong ? "   WRONG" : "")
			right += !wrong
		}
		END { exit right != 4 }' "$dir/$1.functions"
}

for clock in $clocks; do
	if [ -n "${TIMING-}" ]; then
		record $clock 12
		even $clock 10 42 || fail "$clock: a part of the cycle is sampled too often"
		continue
	fi
	# On a busy machine a part may have few samples by chance, the fewer the longer the recording.  In step with the
	# cycle, two parts of four have none, however long that is.
	for seconds in 3 6 12 24; do
		record $clock $seconds
		even $clock 4 88 && continue 2
	done
	fail "$clock: parts of the cycle are never sampled"
done
