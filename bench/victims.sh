#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What sampling costs servers: throughput and the 99th percentile of latency of redis-server
# (one request at a time, and 16 in a pipeline) and nginx, sampled at 99 and 999 Hz by vignetted
# and by perf.
#
# The server is under load all the time (load.c).  vignetted's sampling is switched on and off
# (toggle.c); perf cannot be, and is started anew for its windows (windows.c), so that there are fewer of
# these.  Then the same by redis-benchmark's own figures, a run of it with and one without in turn: it
# takes a CPU whole and leaves redis-server a part of the other.
#
# Figures are medians over pairs, each of a window with and the mean of its neighbours without; behind
# +- is the standard error of a median, by the distance of the quartiles.  A target is reached only if the
# cost is within it with that added: a cost that cannot be told from noise is not called small.
#
#     BENCH_ROUNDS    pairs at 99 Hz; at 999 Hz a third, of perf a twelfth; runs of redis-benchmark a fourth
set -eu
. "${SRCDIR:?}/bench/lib.sh"
rounds=${BENCH_ROUNDS:-160}
port=$((20000 + $$ % 20000))

# start VICTIM: the server
start() {
	case $1 in
	redis*)
		redis-server --port $port --save '' --appendonly no >/dev/null & server=$! ;;
	nginx)
		sed "s|PREFIX|$dir|g; s|PORT|$port|" "$SRCDIR/bench/nginx.conf" >"$dir/nginx.conf"
		yes | head -c 1000 >"$dir/page"
		chmod 755 "$dir"
		nginx -p "$dir" -c "$dir/nginx.conf" 2>/dev/null & server=$! ;;
	esac
	pids=$server
	sleep 1
	kill -0 $server 2>/dev/null || fail "victims: $1 does not run"
}

perf="perf record -q --call-graph dwarf -e cpu-clock -o $dir/perf.data"

# sampler NAME HZ: becomes a sampler of the server
sampler() {
	case $1 in
	vignetted) exec "$VIGNETTED" --rate "$2" -o "$dir/out.vgp" --pid $server ;;
	perf) exec $perf -F "$2" -p $server ;;
	esac
}

# redis_benchmark: requests a second and p99 in us, of one run
redis_benchmark() {
	redis-benchmark -p $port -t get -n 100000 --csv 2>/dev/null |
		awk -F '[",]+' 'NR == 2 { print $3, $8 * 1000 }'
}

# runs PAIRS SAMPLER HZ: what toggle and windows print, by redis-benchmark's own figures
runs() {
	redis_benchmark >/dev/null
	redis_benchmark
	for _ in $(seq $1); do
		(sampler $2 $3) >/dev/null 2>&1 & pids="$server $!"
		sleep 0.3
		redis_benchmark
		kill -0 ${pids#* } || fail "victims: $2 has ended"
		stop ${pids#* }
		pids=$server
		sleep 0.3
		redis_benchmark
	done
}

# measure VICTIM SAMPLER HZ: a line for each pair: the changes of throughput and of p99 in %, and both
# without
measure() {
	pairs=$rounds
	[ $3 = 99 ] || pairs=$((rounds / 3 + 2))
	case $1.$2 in
	redis-benchmark.*)
		runs $((rounds / 4 + 2)) $2 $3 >"$dir/runs"
		[ "$(wc -l <"$dir/runs")" -eq $((2 * (rounds / 4 + 2) + 1)) ] || fail "victims: redis-benchmark failed"
		awk 'NR % 2 == 0 { with = $1; with_us = $2; next }
			NR > 1 { print "pair", 100 * log(with / sqrt(before * $1)),
				100 * log(with_us / sqrt(before_us * $2)), $1, $2 }
			{ before = $1; before_us = $2 }' "$dir/runs" >"$dir/raw" ;;
	*.vignetted)
		"$bench/toggle" $1 $port $pairs 300 $server $3 >"$dir/raw" 2>"$dir/log" ||
			fail "victims: $(tail -1 "$dir/log")" ;;
	*.perf)
		"$bench/windows" $1 $port $((rounds / 12 + 2)) 1000 $perf -F $3 -p $server \
			>"$dir/raw" 2>"$dir/log" || fail "victims: $(tail -1 "$dir/log")" ;;
	esac
	sed -n 's/^pair //p' "$dir/raw" >"$dir/pairs"
	for column in 1 2 3 4; do cut -d ' ' -f $column "$dir/pairs" >"$dir/column.$column"; done
}

# spread: the standard error of the median of the numbers on standard input: 1.253 s / sqrt(n), where
# the quartiles are 1.349 s apart; and a sixth more, because neighbours share a window without
spread() {
	tee "$dir/numbers" >/dev/null
	calc "1.155 * 1.253 / 1.349 * ($(quantile 0.75 <"$dir/numbers") - $(quantile 0.25 <"$dir/numbers")) \
		/ sqrt($(wc -l <"$dir/numbers"))"
}

samplers="vignetted"
have_perf && samplers="$samplers perf"
echo "change of throughput and of p99 latency against no sampling, medians of $rounds pairs at 99 Hz"
printf '%-16s %-16s %17s %17s\n' '' '' throughput 'p99 latency'
for victim in redis redis-pipelined nginx redis-benchmark; do
	start $victim
	rates="99 999"
	[ $victim != redis-benchmark ] || rates=99
	for hz in $rates; do
		for sampler in $samplers; do
			measure $victim $sampler $hz
			throughput=$(median <"$dir/column.1") throughput_error=$(spread <"$dir/column.1")
			latency=$(median <"$dir/column.2") latency_error=$(spread <"$dir/column.2")
			[ $sampler.$hz != vignetted.99 ] || {
				printf '%-16s %-16s %15.0f/s %15.0fus\n' $victim unsampled \
					"$(median <"$dir/column.3")" "$(median <"$dir/column.4")"
				calc "-($throughput) + $throughput_error" %.2f >>"$dir/costs"
				calc "$latency + $latency_error" %.2f >>"$dir/latencies"
			}
			printf '%-16s %-16s %+7.2f%% +-%5.2f %+7.2f%% +-%5.2f\n' '' "$sampler $hz Hz" \
				"$throughput" "$throughput_error" "$latency" "$latency_error"
			echo "$victim $sampler.$hz $throughput" >>"$dir/changes"
		done
	done
	end $pids
	pids=
	port=$((port + 1))
	awk -v victim=$victim '$1 == victim { change[$2] = 1 + $3 / 100 }
		END { if ("perf.99" in change) print "RATIO of throughput to perf'"'"'s: 99 Hz",
			change["vignetted.99"] / change["perf.99"] }' "$dir/changes"
done
verdict victims "$(quantile 1 <"$dir/costs")" 1 "% of throughput at 99 Hz, error added, the worst victim"
verdict 'victims, p99' "$(quantile 1 <"$dir/latencies")" 1 "% more at 99 Hz, error added, the worst victim"
