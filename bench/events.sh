#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What an event of the program's costs the thread that tells it: its own processor time in
# nanoseconds, of 1 and of 4 threads, while a session records and while none does; against a
# clock_gettime(2), without which no event has a time, and against write(2) of a record of 32 bytes.
# An idle event is of the size of the loop that repeats it, which is measured beside it and taken off.
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
echo "ns an event, medians of $rounds rounds:"
printf '  %-34s %10s %10s\n' '' '1 thread' '4 threads'
# row TEXT NAME
row() {
	printf '  %-34s %10s %10s\n' "$1" "$(median <"$dir/$2.1")" "$(median <"$dir/$2.4")"
}
row "instant, recorded" instant
row "begin or end, recorded" interval
row "idle, in the loop that counts" idle
row "that loop with nothing in it" loop
row "idle, the difference" idle.more
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
verdict "events, recorded" "$(cat "$dir/worst")" 2 "of a clock_gettime"
idle=$(for threads in 1 4; do median <"$dir/idle.more.$threads"; done | quantile 1)
verdict "events, idle" "$idle" 1 ns
