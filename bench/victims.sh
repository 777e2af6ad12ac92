#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Measures what sampling at 99 Hz costs servers: throughput and the 99th percentile of latency of redis-server (one
# request at a time, and 16 in a pipeline), nginx and PostgreSQL.  The samplers are vignetted and the bare mechanism
# that it uses:
#
#     timers      vignetted; and a timer on every thread, whose samples are not fetched
#     stops       vignetted with stop_always; and a stop of the server's first thread, which is continued at once
#
# The server is always under load (load.c, or pgbench).  Sampling is switched on and off (toggle.c), and each window
# with sampling is compared with the two windows beside it.  The samplers take turns, several times.  Figures are
# medians over windows.  The number after +- is half of the 95 % interval of the median, computed from the
# quartiles.
#
# The target is for the difference: the cost of vignetted minus the cost of the bare mechanism.  It is reached if the
# whole 95 % interval is within the target, not reached if the whole interval is beyond it, and otherwise not decided.
#
#     BENCH_VICTIMS   the servers (default: all)
#     BENCH_METHODS   timers, stops or both (default: both)
#     BENCH_BEFORE    bench/toggle of another build, which takes turns as one more sampler
#     BENCH_ROUNDS    turns; in each, every sampler has BENCH_WINDOWS windows of 300 ms
set -eu
. "${SRCDIR:?}/bench/lib.sh"
rounds=${BENCH_ROUNDS:-6}
windows=${BENCH_WINDOWS:-20}
victims=${BENCH_VICTIMS:-redis redis-pipelined nginx pgbench}
methods=${BENCH_METHODS:-timers stops}
port=$(free_port)

# as_database COMMAND...: runs the command as the user postgres if this shell runs as root: PostgreSQL refuses root
as_database() {
	if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; else "$@"; fi
}

# database: starts PostgreSQL and a pgbench that never ends; $server is the process that serves pgbench.  fsync is off:
# the disk is not measured.
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

# start VICTIM: starts that server.  Sets $server to its process, and $where to its port (pgbench: to the path of
# pgbench's log), as compare_load() in compare.h expects.
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

# turn SAMPLER: appends two lines to $dir/SAMPLER for each window with the sampler.  One compares it with the window
# before, the other with the window after.  A line has the changes of throughput and of p99 in %, and both figures
# without the sampler.
turn() {
	case $1 in
	vignetted-timers) set -- $1 "" ;;
	vignetted-stops) set -- $1 stop ;;
	bare-timers) set -- $1 timers ;;
	bare-stops) set -- $1 stopping ;;
	before) set -- $1 "" ;;
	esac
	toggle=$bench/toggle
	[ $1 != before ] || toggle=$BENCH_BEFORE
	"$toggle" $victim $where $windows 300 $server 99 $2 >"$dir/lines" 2>"$dir/log" ||
		fail "victims: $(tail -1 "$dir/log")"
	grep -v '^[a-z]' "$dir/lines" >>"$dir/$1"
}

# figure SAMPLER COLUMN: prints the median and half of its 95 % interval.  `spread 2`: the two lines of one window
# (compare.h) are not independent.
figure() {
	cut -d ' ' -f $2 "$dir/$1" >"$dir/column"
	echo "$(median <"$dir/column") $(calc "1.96 * $(spread 2 <"$dir/column")")"
}

# decide NAME DIFFERENCE ERROR LIMIT: prints whether the difference is at most the limit
decide() {
	word=$(awk -v d="$2" -v e="$3" -v l="$4" 'BEGIN {
		print (d + e <= l ? "reached" : (d - e > l ? "not reached" : "not decided")) }')
	points=$(printf '%+.2f +-%.2f points' "$2" "$3")
	echo "$bench_name: $1: $points (target: $4 points) [$word]"
	results_row "$1" "$points" "$4 points" "$word"
}

printf '%-16s %-18s %17s %17s\n' '' '' throughput 'p99 latency'
for victim in $victims; do
	start $victim
	samplers=
	for method in $methods; do samplers="$samplers vignetted-$method bare-$method"; done
	[ -z "${BENCH_BEFORE-}" ] || samplers="$samplers before"
	for sampler in $samplers; do : >"$dir/$sampler"; done
	for round in $(seq "$rounds"); do
		for sampler in $samplers; do turn $sampler; done
	done
	# Do not use stop(), which sends SIGINT: sh starts background commands with SIGINT ignored, and pgbench keeps
	# it ignored.
	kill $pids
	wait $pids || true
	pids=
	port=$(free_port)
	set -- $samplers
	printf '%-16s %-18s %15.0f/s %15.0fus\n' $victim unsampled "$(cut -d ' ' -f 3 "$dir/$1" | median)" \
		"$(cut -d ' ' -f 4 "$dir/$1" | median)"
	for sampler in $samplers; do
		printf '%-16s %-18s %+7.2f%% +-%5.2f %+8.2f%% +-%5.2f\n' '' $sampler $(figure $sampler 1) $(figure $sampler 2)
	done
	for method in $methods; do
		set -- $(figure vignetted-$method 1) $(figure bare-$method 1) $(figure vignetted-$method 2) $(figure bare-$method 2)
		decide "Throughput lost, $victim, beyond bare $method" "$(calc "$3 - $1")" "$(calc "sqrt($2 ^ 2 + $4 ^ 2)")" 0.5
		decide "p99 latency added, $victim, beyond bare $method" "$(calc "$5 - $7")" "$(calc "sqrt($6 ^ 2 + $8 ^ 2)")" 2
	done
done
