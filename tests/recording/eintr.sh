#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Being sampled does not make system calls return EINTR, keeps the EINTR of genuine signals, and
# does not make waits longer.  SOAK: a longer run, and one at the default rate.
set -eu
: "${BUILDDIR:?}" "${VIGNETTED:?}" "${VGTOOL:?}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# run RATE SECONDS TICKS: at least that many samples of each thread
run() {
	"$BUILDDIR/tests/recording/eintr" "$VIGNETTED" "$dir/eintr.vgp" "$1" "$2" || { echo FAIL; exit 1; }
	"$VGTOOL" info --json "$dir/eintr.vgp" >"$dir/info"
	number=$(sed 's/.*"samples":\([0-9]*\),"threads":\([0-9]*\),.*/\1 \2/' "$dir/info")
	set -- $1 $2 $3 $number
	echo "$4 samples of $5 threads"
	[ "$4" -ge $(($3 * $5)) ] || { echo "FAIL: too few samples: $(cat "$dir/info")"; exit 1; }
	sed 's/.*"stack_ends"/"stack_ends"/; s/"pause_p50.*//' "$dir/info"
	# Also of threads that keep a frame pointer and may not be stopped to learn it.
	complete=$(sed 's/.*"stacks_complete":\([0-9]*\),.*/\1/' "$dir/info")
	[ $((complete * 100)) -ge $(($4 * 99)) ] || { echo "FAIL: incomplete stacks"; exit 1; }
}
run 1000 2 1000
# Rarer stops hit waits in their middle: a timeout that began anew then would show.
run 99 3 150
[ -n "${SOAK-}" ] || exit 0
run 1000 20 10000
run 99 20 1000
