#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Programs that do the same as often as they are sampled are not met in the same place of it each time: one that
# uses the CPU, one that waits.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
# Interrupts in the one build of the check, stops in the other; these meet one that uses the CPU where the scheduler
# leaves it, on a machine with others to run.
capture=auto clocks="cpu wall"
[ -z "${SANITIZE-}" ] || capture=stop clocks=wall
program=$BUILDDIR/tests/recording/even
for clock in $clocks; do
	"$VIGNETTED" --capture $capture --mode $clock --rate 100 -o "$dir/$clock.vgp" -- "$program" $clock 12 &
	recorders="${recorders-} $!"
done
for recorder in $recorders; do
	wait $recorder || fail "vignetted fails"
done
for clock in $clocks; do
	named "$dir/$clock.vgp" $clock "$dir/functions" "$program"
	awk -v clock=$clock '
		$5 == "*" { all = $4 }
		$5 ~ /^spend_/ {
			share = 100 * $4 / all
			wrong = share < 10 || share > 42
			print clock, $5, share "% of 25%" (wrong ? "   WRONG" : "")
			right += !wrong
		}
		END { exit right != 4 }' "$dir/functions" || fail "a part of the cycle is met too often"
done
