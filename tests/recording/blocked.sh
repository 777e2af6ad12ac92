#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A thousand waiting threads: their samples name the system call, their stacks are complete, and the threads are not
# stopped any more once their stacks are known.  The same is true of a second recording, after stops have made the
# kernel restart the calls.  TIMING: all stops are in the first second, and at most nine of ten ticks are skipped.
# SOAK: a longer run.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
threads=1000 first=2
[ -z "${TIMING-}" ] || first=5
[ -z "${SOAK-}" ] || first=60
mkfifo "$dir/ready"
"$BUILDDIR/tests/recording/blocked" $threads >"$dir/ready" &
pid=$!
read -r line <"$dir/ready"
[ "$line" = blocked ] || fail "the threads do not wait"

# record NAME TICKS: records for at least $first seconds, until TICKS ticks have sampled all threads
record() {
	for times in 1 2 4 8; do
		"$VIGNETTED" --pid $pid -o "$dir/$1.vgp" --rate 99 --duration $((first * times))
		"$VGTOOL" info --json "$dir/$1.vgp" >"$dir/info"
		samples=$(info_value samples)
		[ "$samples" -lt $((threads * $2)) ] || return 0
	done
	fail "too few samples: $(cat "$dir/info")"
}

# calls FILE: fails unless each of five system calls has about a fifth of the samples.  The bound is 10/51, because the
# main thread waits in pause(2), which is none of the five.
calls() {
	samples=$(info "$1" samples)
	"$VGTOOL" report --json "$1" >"$dir/report"
	node "$SRCDIR/tests/functions.mjs" "$dir/report" >"$dir/functions"
	for call in futex poll epoll_wait read clock_nanosleep; do
		self=$(awk -v name="[$call]" '$5 == name { print $1 }' "$dir/functions")
		echo "[$call]: ${self:-none}"
		[ $((${self:-0} * 51)) -ge $((samples * 10)) ] || fail "[$call] has ${self:-no} samples of $samples"
	done
}

record blocked 10
stops=$(info_value stops) complete=$(info_value stacks_complete)
echo "$samples samples, $complete complete, $stops stops"
[ "$samples" = "$complete" ] || fail "incomplete stacks: $(cat "$dir/info")"
# A few stops are needed to learn the frame sizes of functions.  All threads that wait in one system call have the same
# functions.
[ "$stops" -le $((threads / 4)) ] || fail "sleeping threads were stopped: $stops stops"
if [ -n "${TIMING-}" ]; then
	[ "$samples" -ge $((threads * 10 * first)) ] || fail "too few samples: $(cat "$dir/info")"
	# The statistic "stops" at each checkpoint.  There is a checkpoint every second.
	"$VGTOOL" dump "$dir/blocked.vgp" | grep '"kind":"stats"' | while read -r line; do
		echo "$line" | json - it.values.stops
	done >"$dir/stops"
	[ "$(wc -l <"$dir/stops")" -ge 4 ] || fail "too few checkpoints: $(cat "$dir/stops")"
	later=$(($(tail -1 "$dir/stops") - $(sed -n 2p "$dir/stops")))
	echo "stops in the first second: $(sed -n 2p "$dir/stops"), later: $later"
	[ $later = 0 ] || fail "sleeping threads were stopped: $(cat "$dir/stops")"
fi
calls "$dir/blocked.vgp"
first=1
record again 2
calls "$dir/again.vgp"
