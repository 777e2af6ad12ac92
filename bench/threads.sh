#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What a sleeping thread costs the helper at each tick, at 99 Hz, and whether it is stopped again
# after it was seen once.
#
# Two recordings, one longer than the other, are subtracted: what is left is ticks in which nothing
# happens.  One sample of one thread is one thread and tick: at 4,000 threads a tick may last longer
# than a period, and some are skipped.  Beside them the least there is to do, reading a file per thread (bare_look.c).
set -eu
. "${SRCDIR:?}/bench/lib.sh"
seconds=${BENCH_SECONDS:-4}
rounds=${BENCH_ROUNDS:-3}
settle=2

# recorded SECONDS: `cpu_ns stops samples` of a recording of that length
recorded() {
	"$bench/cpu" "$dir/cpu" "$VIGNETTED" --pid $pids --rate 99 --duration "$1" -o "$dir/out.vgp" \
		2>"$dir/log" || fail "threads: $(cat "$dir/log")"
	"$VGTOOL" info --json "$dir/out.vgp" >"$dir/info"
	echo "$(cat "$dir/cpu") $(number "$dir/info" stops) $(number "$dir/info" samples)"
}

printf '%8s %14s %14s %8s %14s %14s\n' threads 'us a thread' 'bare read, us' RATIO 'stops at first' 'stops later'
for count in 1 100 1000 4000; do
	"$bench/sleepers" $count >"$dir/ready" & pids=$!
	until grep -q threads "$dir/ready"; do
		kill -0 $pids 2>/dev/null || fail "threads: no $count threads here"
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
		"$bench/bare_look" $pids 99 "$seconds" | awk '{ print $1 / $2 / 1000 }' >>"$dir/bare.$count"
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
echo "(a tick has a cost of its own, which one thread bears alone)"
verdict threads "$(quantile 1 <"$dir/us")" 1.5 "us a thread and tick, of 1,000 and more"
verdict "threads stopped" "$(quantile 1 <"$dir/later")" 0 "stops after the first"
