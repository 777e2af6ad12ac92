#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Being sampled does not make system calls return EINTR, keeps the EINTR of genuine signals, and
# does not make waits longer.  TIMING: the median of waits is no longer, and half of the ticks are sampled.  SOAK: a longer
# run, and one at the default rate.
set -eu
. "${SRCDIR:?}/tests/lib.sh"

# run RATE SECONDS TICKS: at least that many samples of each thread with TIMING, else ten in a run that is as long as that
# takes
run() {
	seconds=$2 least=10
	[ -z "${TIMING-}" ] || least=$3
	for times in 1 2 4 8; do
		"$BUILDDIR/tests/recording/eintr" "$VIGNETTED" "$dir/eintr.vgp" $1 $((seconds * times)) || fail "at $1 Hz"
		"$VGTOOL" info --json "$dir/eintr.vgp" >"$dir/info"
		samples=$(told samples) threads=$(told threads)
		[ "$samples" -lt $((least * threads)) ] || break
		[ -z "${TIMING-}" ] || break
	done
	echo "$samples samples of $threads threads"
	[ "$samples" -ge $((least * threads)) ] || fail "too few samples: $(cat "$dir/info")"
	told stack_ends
	# Also of threads that keep a frame pointer and may not be stopped to learn it.
	[ $(($(told stacks_complete) * 100)) -ge $((samples * 99)) ] || fail "incomplete stacks"
}
run 1000 2 1000
# Rarer stops hit waits in their middle: a timeout that began anew then would show.
run 99 2 100
[ -n "${SOAK-}" ] || exit 0
run 1000 20 10000
run 99 20 1000
