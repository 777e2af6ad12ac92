#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Measures what a sleeping thread costs the helper at each tick at 99 Hz, and whether the helper stops it more than
# once.
#
# The costs of a short recording are subtracted from the costs of a longer recording.  The difference is the cost of
# ticks in which nothing happens.  It is divided by the number of samples and not of ticks: with 4,000 threads a round
# may last longer than a period, and ticks are then skipped.  For comparison, bare_read.c reads one file per thread: a
# sampler cannot do less.
set -eu
. "${SRCDIR:?}/bench/lib.sh"
seconds=${BENCH_SECONDS:-4}
rounds=${BENCH_ROUNDS:-3}
settle=2

# recorded SECONDS: records for that time and prints `CPU_NS STOPS SAMPLES`
recorded() {
	"$bench/cpu" "$dir/cpu" "$VIGNETTED" --pid $pids --rate 99 --duration "$1" -o "$dir/out.vgp" \
		2>"$dir/log" || fail "threads: $(cat "$dir/log")"
	"$VGTOOL" info --json "$dir/out.vgp" >"$dir/info"
	echo "$(cat "$dir/cpu") $(number "$dir/info" stops) $(number "$dir/info" samples)"
}

printf '%8s %14s %14s %8s %14s %14s\n' threads 'us per thread' 'bare read, us' RATIO 'stops at first' 'stops later'
for count in 1 100 1000 4000; do
	"$bench/sleepers" $count >"$dir/ready" & pids=$!
	until grep -q threads "$dir/ready"; do
		kill -0 $pids 2>/dev/null || fail "threads: this machine does not allow $count threads"
		sleep 0.1
	done
	round=0
	while [ $round -lt "$rounds" ]; do
		round=$((round + 1))
		recorded $settle >"$dir/short"
		recorded $((settle + seconds)) >"$dir/long"
		paste "$dir/short" "$dir/long" | awk '{ print ($4 - $1) / ($6 - $3) / 1000 }' >>"$dir/us.$count"
		cut -d ' ' -f 2 "$dir/short" >>"$dir/first.$count"
		paste "$dir/short" "$dir/long" | awk '{ print $5 - $2 }' >>"$dir/later.$count"
		"$bench/bare_read" $pids 99 "$seconds" | awk '{ print $1 / $2 / 1000 }' >>"$dir/bare.$count"
	done
	end $pids
	pids=
	us=$(median <"$dir/us.$count")
	bare=$(median <"$dir/bare.$count")
	printf '%8s %14.3f %14.3f %8.2f %14s %14s\n' $count "$us" "$bare" "$(calc "$us / $bare")" \
		"$(median <"$dir/first.$count")" "$(median <"$dir/later.$count")"
	[ $count -lt 1000 ] || echo "$us" >>"$dir/us"
	median <"$dir/later.$count" >>"$dir/later"
done
echo "(a tick also has a fixed cost, which is divided by the number of threads)"
verdict "CPU time per sleeping thread and tick, with 1,000 and 4,000 threads" "$(quantile 1 <"$dir/us")" 1.5 us
verdict "Stops of sleeping threads after the first sample" "$(quantile 1 <"$dir/later")" 0
