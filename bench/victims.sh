#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What sampling costs servers: throughput and the 99th percentile of latency of redis-server
# (one request at a time, and 16 in a pipeline), nginx and PostgreSQL, sampled at 99 and 999 Hz by
# vignetted and by perf.
#
# The server is under load all the time (load.c, or pgbench), or redis-benchmark runs again and again: it
# takes a CPU whole and leaves redis-server a part of the other.  vignetted's sampling is switched on and off
# (toggle.c); perf cannot be, and is started anew for its windows (windows.c), so that there are fewer of
# these.  Three do a part of a sampler's work and no more (floors.h): "timers" has the kernel sample and
# fetches nothing, "stopping" stops the server and lets it go, "waking" does nothing but wake.  Where a
# request's latency times the rate is more than one in a hundred, whatever delays one shows in the 99th
# percentile.
#
# Figures are medians over windows, each compared with its two neighbours without; behind +- is the
# standard error of a median, by the distance of the quartiles.  A target is reached only if the cost is
# within it with that added: a cost that cannot be told from noise is not called small.
#
# Of pgbench's transactions it is known which met a tick.  Where ticks are all that a sampler does, the 99th
# percentile's change is told by those (around.h), to half a percent; what windows tell is behind it, and is taken
# if it is more than their errors allow.
#
#     BENCH_VICTIMS   which, of those below
#     BENCH_ALONE     yes: vignetted at 99 Hz and no more, to have time for many windows
#     BENCH_ROUNDS    windows at 99 Hz; of vignetted as many times more as that victim's noise asks (repeats());
#                     of a part of the work half as many, at 999 Hz a third, of perf a twelfth; three times
#                     as many runs of redis-benchmark, which are short
set -eu
. "${SRCDIR:?}/bench/lib.sh"
rounds=${BENCH_ROUNDS:-120}
victims=${BENCH_VICTIMS:-redis redis-pipelined nginx pgbench redis-benchmark}
port=$((20000 + $$ % 20000))

# as_database COMMAND...: PostgreSQL does not run as root
as_database() {
	if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; else "$@"; fi
}

# database: PostgreSQL with a pgbench that goes on; the server is the process that serves it.  It does
# not wait for the disk, which is not what is measured.
database() {
	postgres=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
	export PGHOST="$dir/database" PGUSER=postgres
	chmod 755 "$dir"
	mkdir "$PGHOST"
	[ "$(id -u)" != 0 ] || chown postgres "$PGHOST"
	as_database "$postgres/initdb" -U postgres -A trust -D "$PGHOST/data" >"$dir/log"
	as_database "$postgres/postgres" -D "$PGHOST/data" -k "$PGHOST" -c listen_addresses= -c fsync=off \
		2>"$dir/postgres.log" & pids=$!
	until psql -qc 'create database pgbench' 2>"$dir/log"; do
		kill -0 $pids 2>/dev/null || fail "victims: $(tail -1 "$dir/postgres.log")"
		sleep 0.1
	done
	pgbench -qi pgbench 2>"$dir/log"
	pgbench -T 100000 -l --log-prefix="$dir/transactions" pgbench >"$dir/pgbench.log" 2>&1 & load=$!
	pids="$load $pids"
	where=$dir/transactions.$load
	sleep 1
	server=$(psql -Atc "select pid from pg_stat_activity where application_name = 'pgbench'")
}

# start VICTIM: the server, and where compare.h's load finds it
start() {
	where=$port
	case $1 in
	redis*)
		redis-server --port $port --save '' --appendonly no >/dev/null & pids=$! server=$! ;;
	pgbench)
		database ;;
	nginx)
		sed "s|PREFIX|$dir|g; s|PORT|$port|" "$SRCDIR/bench/nginx.conf" >"$dir/nginx.conf"
		yes | head -c 1000 >"$dir/page"
		chmod 755 "$dir"
		nginx -p "$dir" -c "$dir/nginx.conf" 2>/dev/null & pids=$! server=$! ;;
	esac
	sleep 1
	[ -n "$server" ] && kill -0 $server 2>/dev/null || fail "victims: $1 does not run"
}

perf="perf record -q --call-graph dwarf -e cpu-clock -o $dir/perf.data"

# repeats VICTIM: how many more windows of it are run than of one that is quiet.  Windows of redis-benchmark
# differ by an eighth among themselves, for nothing, and 2,400 of them tell half a percent.
repeats() {
	case $1 in
	redis-benchmark) echo 20 ;;
	redis-pipelined) echo 4 ;;
	redis) echo 3 ;;
	*) echo 2 ;;
	esac
}

# measure VICTIM SAMPLER HZ: lines of the changes of throughput and of p99 in %, and both without
measure() {
	windows=$rounds
	if [ $2.$3 = vignetted.99 ]; then windows=$((windows * $(repeats $1)))
	elif [ $1 = redis-benchmark ]; then windows=$((windows * 3)); fi
	[ $2 != perf ] || windows=$((windows / 12 + 2))
	[ $2.$3 != vignetted.999 ] || windows=$((windows / 3 + 2))
	case $2 in
	waking | stopping | timers) set -- "$bench/toggle" $1 $where $((windows / 2 + 1)) 300 $server $3 $2 ;;
	vignetted) set -- "$bench/toggle" $1 $where $windows 300 $server $3 ;;
	perf) set -- "$bench/windows" $1 $where $windows 1000 $perf -F $3 -p $server ;;
	esac
	"$@" >"$dir/lines" 2>"$dir/log" || fail "victims: $(tail -1 "$dir/log")"
	around=$(sed -n 's/^around //p' "$dir/lines")
	sed -i '/^around/d' "$dir/lines"
	for column in 1 2 3 4; do cut -d ' ' -f $column "$dir/lines" >"$dir/column.$column"; done
}

# around_take: what ticks tell, unless windows tell of more
around_take() {
	by_windows=$(printf '  (windows: %+.2f%% +-%.2f)' "$latency" "$latency_error")
	[ "$(calc "$latency - $latency_error > ${around% *} + ${around#* }")" = 0 ] || return 0
	latency=${around% *} latency_error=${around#* }
}

all=vignetted parts="timers stopping waking" rates="99 999"
if [ -n "${BENCH_ALONE-}" ]; then
	parts= rates=99
elif have_perf; then
	all="vignetted perf"
fi
echo "change of throughput and of p99 latency against no sampling, medians of windows"
printf '%-16s %-16s %17s %17s\n' '' '' throughput 'p99 latency'
for victim in $victims; do
	start $victim
	for hz in $rates; do
		samplers=$all
		[ $hz != 99 ] || samplers="$all $parts"
		for sampler in $samplers; do
			measure $victim $sampler $hz
			throughput=$(median <"$dir/column.1") throughput_error=$(spread 2 <"$dir/column.1")
			latency=$(median <"$dir/column.2") latency_error=$(spread 2 <"$dir/column.2")
			by_windows=
			[ $hz != 99 ] || [ -z "$around" ] || around_take
			[ $sampler.$hz != vignetted.99 ] || {
				printf '%-16s %-16s %15.0f/s %15.0fus\n' $victim unsampled \
					"$(median <"$dir/column.3")" "$(median <"$dir/column.4")"
				echo "$victim $(calc "-($throughput) + $throughput_error" %.2f)" \
					"$(calc "$latency + $latency_error" %.2f)" >>"$dir/costs"
			}
			printf '%-16s %-16s %+7.2f%% +-%5.2f %+7.2f%% +-%5.2f%s\n' '' "$sampler $hz Hz" \
				"$throughput" "$throughput_error" "$latency" "$latency_error" "$by_windows"
			echo "$victim $sampler.$hz $throughput" >>"$dir/changes"
		done
	done
	# Not stop(): what sh starts with & ignores SIGINT, and pgbench leaves it so.
	kill $pids
	wait $pids || true
	pids=
	port=$((port + 1))
	awk -v victim=$victim '$1 == victim { change[$2] = 1 + $3 / 100 }
		END { for (hz = 99; hz <= 999; hz += 900) if ("perf." hz in change)
			print "RATIO of throughput to perf'"'"'s: " hz " Hz", change["vignetted." hz] / change["perf." hz] }
		' "$dir/changes"
done
while read -r victim throughput latency; do
	verdict "victims, $victim, throughput" "$throughput" 1 "% lost at 99 Hz, error added"
	verdict "victims, $victim, p99" "$latency" 1 "% more at 99 Hz, error added"
done <"$dir/costs"
