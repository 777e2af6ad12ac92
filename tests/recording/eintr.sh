#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Sampling does not make system calls return EINTR, keeps the EINTR of signals, and does not make waits longer.  TIMING:
# the median of waits is not longer, and half of the ticks are sampled.  SOAK: a longer run, and one at the default
# rate.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node
exact=${TIMING-}${SOAK-}

# run RATE SECONDS TICKS: with TIMING there must be TICKS samples for each thread.  Otherwise repeats with longer runs
# until there are ten for each thread.
run() {
	seconds=$2 least=10
	[ -z "${TIMING-}" ] || least=$3
	for times in 1 2 4 8; do
		"$BUILDDIR/tests/recording/eintr" "$VIGNETTED" "$dir/eintr.vgp" $1 $((seconds * times)) || fail "at $1 Hz"
		"$VGTOOL" info --json "$dir/eintr.vgp" >"$dir/info"
		samples=$(info_value samples) threads=$(info_value threads)
		[ "$samples" -lt $((least * threads)) ] || break
		[ -z "${TIMING-}" ] || break
	done
	echo "$samples samples of $threads threads"
	[ "$samples" -ge $((least * threads)) ] || fail "too few samples: $(cat "$dir/info")"
	info_value stack_ends
	# Among the samples are those of waiting threads whose functions use the frame pointer.  Such threads are not
	# stopped to read the frame pointer.
	complete=$(info_value stacks_complete)
	[ $((samples - complete)) -le $(may_lack $samples 990) ] || fail "$complete of $samples stacks are complete"
}
run 1000 2 1000
# At a lower rate there are stops in the middle of a wait.  If a stop made the timeout begin again, the wait would be
# longer.
run 99 2 100
[ -n "${SOAK-}" ] || exit 0
run 1000 20 10000
run 99 20 1000
