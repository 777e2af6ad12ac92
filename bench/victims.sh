#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What sampling costs servers: throughput and the 99th percentile of latency of redis-server
# (one request at a time, and 16 in a pipeline) and nginx, sampled at 99 and 999 Hz by vignetted
# and by perf.
#
# The server is under load all the time (load.c).  vignetted's sampling is switched on and off
# (toggle.c); perf cannot be, and is started anew for its windows (windows.c), so that there are fewer of
# these.  Throughput is the median over pairs, each of a window with and the mean of its neighbours
# without; latency that of 30 parts of the run, each with the percentiles of all its requests with and
# without; behind +- is the standard error of a median, by their spread.  A target is reached only if
# the cost is within it with that added: a cost that cannot be told from noise is not called small.
#
#     BENCH_ROUNDS    pairs at 99 Hz; at 999 Hz a third, of perf one in six
set -eu
. "${SRCDIR:?}/bench/lib.sh"
rounds=${BENCH_ROUNDS:-180}
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

# measure VICTIM SAMPLER HZ: $file.throughput with changes in %, $file.p99 likewise, $file.base with
# requests a second
measure() {
	file=$dir/$1.$2.$3
	pairs=$rounds
	[ $3 = 99 ] || pairs=$((rounds / 3 + 2))
	case $2 in
	vignetted)
		"$bench/toggle" ${1%-*} $port $server $3 $pairs 300 >"$file" 2>"$dir/log" ||
			fail "victims: $(tail -1 "$dir/log")"
		awk '$1 == "p99" { print 100 * ($3 / $2 - 1) }' "$file" >"$file.p99"
		awk 'NF == 2 && $1 != "interrupts" { print $1 }' "$file" >"$file.throughput"
		awk 'NF == 2 && $1 != "interrupts" { print $2 }' "$file" >"$file.base" ;;
	perf)
		"$bench/windows" ${1%-*} $port $((rounds / 12 + 2)) 1000 perf record -q --call-graph dwarf \
			-e cpu-clock -F $3 -o "$dir/perf.data" -p $server >"$file" 2>"$dir/log" ||
			fail "victims: $(tail -1 "$dir/log")"
		cut -d ' ' -f 2 "$file" >"$file.p99"
		cut -d ' ' -f 1 "$file" >"$file.throughput" ;;
	esac
}

# spread: the standard error of the median of the numbers on standard input, 1.253 s / sqrt(n)
spread() {
	awk '{ n++; a += $1; b += $1 * $1 }
		END { print (n > 1 ? 1.253 * sqrt((b - a * a / n) / (n - 1) / n) : 100) }'
}

samplers="vignetted"
have_perf && samplers="$samplers perf"
echo "change of throughput and of p99 latency against no sampling, medians of $rounds pairs at 99 Hz"
printf '%-16s %-16s %17s %17s\n' '' '' throughput 'p99 latency'
for victim in redis redis-pipelined nginx; do
	start $victim
	for hz in 99 999; do
		for sampler in $samplers; do
			measure $victim $sampler $hz
			throughput=$(median <"$file.throughput")
			error=$(spread <"$file.throughput")
			calc "1 + $throughput / 100" >"$dir/$sampler.$hz"
			[ $sampler.$hz != vignetted.99 ] || {
				printf '%-16s %-16s %15.0f/s\n' $victim unsampled "$(median <"$file.base")"
				calc "-($throughput) + $error" %.2f >>"$dir/costs"
			}
			printf '%-16s %-16s %+7.2f%% +-%5.2f %+7.1f%% +-%5.1f\n' '' "$sampler $hz Hz" \
				"$throughput" "$error" "$(median <"$file.p99")" "$(spread <"$file.p99")"
		done
	done
	end $pids
	pids=
	port=$((port + 1))
	[ ! -f "$dir/perf.99" ] || echo "RATIO of throughput to perf's:" \
		"99 Hz $(calc "$(cat "$dir/vignetted.99") / $(cat "$dir/perf.99")")," \
		"999 Hz $(calc "$(cat "$dir/vignetted.999") / $(cat "$dir/perf.999")")"
done
verdict victims "$(quantile 1 <"$dir/costs")" 1 "% of throughput at 99 Hz, error added, the worst victim"
