#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A thousand threads that wait: known where, complete, and not stopped once their stacks are known.  And
# where again, for another recording, when stops have made the kernel take calls up again.  TIMING: all stops are in
# the first second, and no more than nine of ten ticks are skipped.  SOAK: a longer run.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
threads=1000 first=2
[ -z "${TIMING-}" ] || first=5
[ -z "${SOAK-}" ] || first=60
mkfifo "$dir/ready"
"$BUILDDIR/tests/recording/blocked" $threads >"$dir/ready" &
pid=$!
read -r line <"$dir/ready"
[ "$line" = blocked ] || fail "the threads do not block"

# record NAME TICKS: until so many ticks have sampled all threads, and for $first seconds at least
record() {
	for times in 1 2 4 8; do
		"$VIGNETTED" --pid $pid -o "$dir/$1.vgp" --rate 99 --duration $((first * times))
		"$VGTOOL" info --json "$dir/$1.vgp" >"$dir/info"
		samples=$(told samples)
		[ "$samples" -lt $((threads * $2)) ] || return 0
	done
	fail "too few samples: $(cat "$dir/info")"
}

# calls FILE: a fifth of the threads waits in each; main is in pause(2)
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
stops=$(told stops) complete=$(told stacks_complete)
echo "$samples samples, $complete complete, $stops stops"
[ "$samples" = "$complete" ] || fail "incomplete stacks: $(cat "$dir/info")"
# A few stops tell the size of each function's frame, which all threads of a call share.
[ "$stops" -le $((threads / 4)) ] || fail "sleeping threads were stopped: $stops stops"
if [ -n "${TIMING-}" ]; then
	[ "$samples" -ge $((threads * 10 * first)) ] || fail "too few samples: $(cat "$dir/info")"
	# "stops" as it stood at each checkpoint, a second apart.
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
