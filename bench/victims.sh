#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What sampling costs servers: throughput and the 99th percentile of latency of redis-server
# (one request at a time, and 16 in a pipeline) and nginx, sampled at 99 and 999 Hz by vignetted
# and by perf.
#
# The server is under load all the time, and a window of a second with the sampler stands between
# two without (windows.c).  Figures are medians over the pairs; behind +- is the standard error of
# a median, by the spread of the pairs.  The target is reached only if the cost is within it with
# that added: a cost that cannot be told from noise is not called small.  At 99 Hz, where the target
# is, there are more pairs than elsewhere.
#
#     BENCH_SECONDS   the length of a window
#     BENCH_ROUNDS    pairs at 99 Hz; elsewhere a quarter
set -eu
. "${SRCDIR:?}/bench/lib.sh"
seconds=${BENCH_SECONDS:-1}
rounds=${BENCH_ROUNDS:-60}
port=$((20000 + $$ % 20000))

# start VICTIM: the server and its load
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
	case $1 in
	redis) redis-benchmark -p $port -c 16 -t get -n 2000000000 -q >/dev/null & ;;
	redis-pipelined) redis-benchmark -p $port -c 16 -P 16 -t get -n 2000000000 -q >/dev/null & ;;
	nginx) wrk -t 1 -c 16 -d 36000 http://127.0.0.1:$port/page >/dev/null & ;;
	esac
	pids="$server $!"
	sleep 1
}

# windows VICTIM SAMPLER HZ PAIRS
windows() {
	case $2 in
	vignetted) set -- "$1" "$4" "$VIGNETTED" --pid $server --rate $3 -o "$dir/out.vgp" ;;
	perf) set -- "$1" "$4" perf record -q --call-graph dwarf -e cpu-clock -F $3 -o "$dir/perf.data" -p $server ;;
	esac
	kind=${1%-*} pairs=$2
	shift 2
	"$bench/windows" $kind $port $pairs $((seconds * 1000)) "$@" 2>"$dir/log" ||
		fail "victims: $(tail -1 "$dir/log")"
}

# spread FILE COLUMN: the standard error of its median, 1.253 s / sqrt(n)
spread() {
	cut -d ' ' -f $2 "$1" | awk '{ n++; a += $1; b += $1 * $1 }
		END { print (n > 1 ? 1.253 * sqrt((b - a * a / n) / (n - 1) / n) : 100) }'
}

samplers="vignetted"
have_perf && samplers="$samplers perf"
echo "change of throughput and of p99 latency against no sampling, medians of $rounds pairs at 99 Hz"
printf '%-16s %-16s %16s %16s\n' '' '' throughput 'p99 latency'
for victim in redis redis-pipelined nginx; do
	start $victim
	for hz in 99 999; do
		for sampler in $samplers; do
			pairs=$((rounds / 4 + 1))
			[ $sampler.$hz != vignetted.99 ] || pairs=$rounds
			file=$dir/$victim.$sampler.$hz
			windows $victim $sampler $hz $pairs >"$file"
			throughput=$(cut -d ' ' -f 1 "$file" | median)
			error=$(spread "$file" 1)
			calc "1 + $throughput / 100" >"$dir/$sampler.$hz"
			[ $sampler.$hz != vignetted.99 ] || {
				printf '%-16s %-16s %14.0f/s %13.0f us\n' $victim unsampled \
					"$(cut -d ' ' -f 3 "$file" | median)" "$(cut -d ' ' -f 4 "$file" | median)"
				calc "-($throughput) + $error" %.2f >>"$dir/costs"
			}
			printf '%-16s %-16s %+7.2f%% +-%5.2f %+7.2f%% +-%5.2f\n' '' "$sampler $hz Hz" "$throughput" \
				"$error" "$(cut -d ' ' -f 2 "$file" | median)" "$(spread "$file" 2)"
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
