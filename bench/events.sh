#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Measures the CPU time of one event in the thread that records it, in nanoseconds: with 1 and with 4 threads, in a
# session and without a session.  Two other calls are measured for comparison: clock_gettime(2), which every event
# calls for its time, and write(2) of 32 bytes.  An event without a session takes about as long as the loop around it.
# So the empty loop is measured, too, and subtracted.
set -eu
. "${SRCDIR:?}/bench/lib.sh"
rounds=${BENCH_ROUNDS:-5}

round=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	for threads in 1 4; do
		for what in loop idle instant interval clock write; do
			"$bench/events" $what $threads "$dir/file" >"$dir/out" || fail "events: $what failed"
			cut -d ' ' -f 1 "$dir/out" >>"$dir/$what.$threads"
			cut -d ' ' -f 2 "$dir/out" >>"$dir/$what.recorded"
			cut -d ' ' -f 3 "$dir/out" >>"$dir/$what.dropped"
		done
		for what in instant interval; do
			paste "$dir/$what.$threads" "$dir/clock.$threads" | tail -1 |
				awk '{ print $1 / $2 }' >>"$dir/$what.clocks.$threads"
		done
		paste "$dir/idle.$threads" "$dir/loop.$threads" | tail -1 |
			awk '{ print $1 - $2 }' >>"$dir/idle.more.$threads"
	done
done
echo "ns per event, medians of $rounds rounds:"
printf '  %-34s %10s %10s\n' '' '1 thread' '4 threads'
# row TEXT NAME
row() {
	printf '  %-34s %10s %10s\n' "$1" "$(median <"$dir/$2.1")" "$(median <"$dir/$2.4")"
}
row "instant, recorded" instant
row "begin or end, recorded" interval
row "instant without a session + loop" idle
row "the loop alone" loop
row "instant without a session" idle.more
row "clock_gettime" clock
row "write of 32 bytes" write
echo "dropped: $(cat "$dir"/instant.dropped "$dir"/interval.dropped | awk '{ n += $1 } END { print n + 0 }') of" \
	"$(cat "$dir"/instant.recorded "$dir"/interval.recorded | awk '{ n += $1 } END { print n + 0 }')"
for threads in 1 4; do
	echo "RATIO to clock_gettime, $threads threads: instant $(median <"$dir/instant.clocks.$threads")," \
		"begin or end $(median <"$dir/interval.clocks.$threads")"
done
for threads in 1 4; do
	for what in instant interval; do median <"$dir/$what.clocks.$threads"; done
done | quantile 1 >"$dir/worst"
verdict "Time of a recorded event relative to clock_gettime" "$(cat "$dir/worst")" 2
idle=$(for threads in 1 4; do median <"$dir/idle.more.$threads"; done | quantile 1)
verdict "Time of an event while nothing records" "$idle" 1 ns
