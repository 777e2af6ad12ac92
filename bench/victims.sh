#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What sampling costs servers: throughput and the 99th percentile of latency of redis-server
# (one request at a time, and 16 in a pipeline) and nginx, sampled at 99 and 999 Hz by vignetted
# and by perf.
#
# Every sampled run stands between two that are not, and is compared with the mean of those: a
# machine's drift is slower than that.  "noise" is what two neighbours that are not sampled
# differ by (median).  Behind +- is the standard error of a median, by the spread of the rounds; the
# target is reached only if the cost is within it with that added.  On a noisy machine that takes
# many rounds, and of one nothing is known, which counts as 100%: a cost that cannot be told from
# noise is not called small.
set -eu
. "${SRCDIR:?}/bench/lib.sh"
seconds=${BENCH_SECONDS:-2}
rounds=${BENCH_ROUNDS:-4}
port=$((20000 + $$ % 20000))

# load VICTIM SECONDS: `requests_per_second p99_ms`
load() {
	case $1 in
	redis*)
		pipeline=1
		[ $1 = redis ] || pipeline=16
		redis-benchmark -p $port -c 16 -P $pipeline -t get -n "$(calc "$2 * $rate" %.0f)" --csv |
			awk -F '"' '$2 == "GET" { print $4, $14 }' ;;
	nginx)
		wrk -t 1 -c 16 -d "$2" --latency http://127.0.0.1:$port/page |
			awk '$1 == "99%" { p = $2; u = p; gsub(/[0-9.]/, "", u)
				p = u == "us" ? p / 1000 : u == "s" ? p * 1000 : p + 0 }
			$1 == "Requests/sec:" { r = $2 } END { print r, p }' ;;
	esac
}

start() {
	case $1 in
	redis*) redis-server --port $port --save '' --appendonly no >/dev/null & ;;
	nginx)
		sed "s|PREFIX|$dir|g; s|PORT|$port|" "$SRCDIR/bench/nginx.conf" >"$dir/nginx.conf"
		yes | head -c 1000 >"$dir/page"
		chmod 755 "$dir"
		nginx -p "$dir" -c "$dir/nginx.conf" 2>/dev/null & ;;
	esac
	pids=$!
	sleep 1
	kill -0 $pids 2>/dev/null || fail "victims: $1 does not run"
	rate=20000
	rate=$(load $1 1 | cut -d ' ' -f 1 | cut -d . -f 1)
}

# run VICTIM SAMPLER HZ: a line of `throughput p99`
run() {
	sampler=
	case $2 in
	vignetted) "$VIGNETTED" --pid $pids --rate $3 -o "$dir/out.vgp" 2>/dev/null & sampler=$! ;;
	perf)
		perf record -q --call-graph dwarf -e cpu-clock -F $3 -o "$dir/perf.data" -p $pids \
			>/dev/null 2>&1 & sampler=$! ;;
	esac
	[ -z "$sampler" ] || sleep 0.3
	load $1 "$seconds"
	[ -z "$sampler" ] || stop $sampler
}

samplers="vignetted"
have_perf && samplers="$samplers perf"
echo "change of throughput and of p99 latency against no sampling, medians of $rounds"
printf '%-16s %-16s %14s %14s\n' '' '' throughput 'p99 latency'
# spread FILE COLUMN: the standard error of its median, 1.253 s / sqrt(n)
spread() {
	cut -d ' ' -f $2 "$1" | awk '{ n++; a += $1; b += $1 * $1 }
		END { print (n > 1 ? 1.253 * sqrt((b - a * a / n) / (n - 1) / n) : 100) }'
}

for victim in redis redis-pipelined nginx; do
	start $victim
	before=$(run $victim none 0)
	echo "$before" >"$dir/base"
	round=0
	while [ $round -lt "$rounds" ]; do
		round=$((round + 1))
		for hz in 99 999; do
			for sampler in $samplers; do
				with=$(run $victim $sampler $hz)
				after=$(run $victim none 0)
				echo "$before $with $after" | awk 'NF == 6 {
					print 100 * ($3 / (($1 + $5) / 2) - 1), 100 * ($4 / (($2 + $6) / 2) - 1),
					100 * ($5 > $1 ? $5 / $1 - 1 : $1 / $5 - 1) }' >>"$dir/$victim.$sampler.$hz"
				before=$after
				echo "$after" >>"$dir/base"
			done
		done
	done
	end $pids
	pids=
	port=$((port + 1))
	printf '%-16s %-16s %12.0f/s %11.3f ms  noise %s%%\n' $victim unsampled \
		"$(cut -d ' ' -f 1 "$dir/base" | median)" "$(cut -d ' ' -f 2 "$dir/base" | median)" \
		"$(cut -d ' ' -f 3 "$dir/$victim".*.99 | median | cut -c 1-4)"
	for sampler in $samplers; do
		for hz in 99 999; do
			file=$dir/$victim.$sampler.$hz
			throughput=$(cut -d ' ' -f 1 "$file" | median)
			error=$(spread "$file" 1)
			printf '%-16s %-16s %+7.2f%% +-%4.1f %+7.2f%% +-%4.1f\n' '' "$sampler $hz Hz" "$throughput" \
				"$(calc "$error" %.1f)" "$(cut -d ' ' -f 2 "$file" | median)" "$(spread "$file" 2)"
			[ $sampler.$hz != vignetted.99 ] || {
				calc "-($throughput) + $error" %.2f >>"$dir/costs"
			}
			calc "1 + $throughput / 100" >"$dir/$sampler.$hz"
		done
	done
	[ ! -f "$dir/perf.99" ] || echo "RATIO of throughput to perf's:" \
		"99 Hz $(calc "$(cat "$dir/vignetted.99") / $(cat "$dir/perf.99")")," \
		"999 Hz $(calc "$(cat "$dir/vignetted.999") / $(cat "$dir/perf.999")")"
done
verdict victims "$(quantile 1 <"$dir/costs")" 1 "% of throughput at 99 Hz, error added, the worst victim"
