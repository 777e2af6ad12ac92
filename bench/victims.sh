#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What sampling costs servers: throughput and the 99th percentile of latency of redis-server (one request at a time, and 16
# in a pipeline), nginx and PostgreSQL at 99 Hz, by vignetted and by the bare mechanism that it uses:
#
#     timers      vignetted; and the kernel's timers on every thread, which nobody fetches
#     stops       vignetted with stop_always; and a stop and release of the server's first thread
#
# The server is under load all the time (load.c, or pgbench).  Sampling is switched on and off (toggle.c): each window with
# sampling is compared with its two neighbours without.  The samplers take turns, several times.  Figures are medians
# over windows; behind +- is half of the 95 % interval of the median, by the distance of the quartiles.
#
# The target is a difference: what vignetted costs less what the bare mechanism costs.  It is reached if the whole 95 %
# interval is within the target, not reached if the whole interval is beyond it, and else not decided.
#
#     BENCH_VICTIMS   which, of those below
#     BENCH_METHODS   timers, stops or both
#     BENCH_BEFORE    another build's bench/toggle, which takes its turns too, to be compared with
#     BENCH_ROUNDS    turns; in each, every sampler has BENCH_WINDOWS windows of 300 ms
set -eu
. "${SRCDIR:?}/bench/lib.sh"
rounds=${BENCH_ROUNDS:-6}
windows=${BENCH_WINDOWS:-20}
victims=${BENCH_VICTIMS:-redis redis-pipelined nginx pgbench}
methods=${BENCH_METHODS:-timers stops}
port=$(free_port)

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

# turn SAMPLER: appends its windows to $dir/SAMPLER: lines of the changes of throughput and of p99 in %, and both without
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

# figure SAMPLER COLUMN: the median and half of its 95 % interval.  A window is in two lines.
figure() {
	cut -d ' ' -f $2 "$dir/$1" >"$dir/column"
	echo "$(median <"$dir/column") $(calc "1.96 * $(spread 2 <"$dir/column")")"
}

# decide NAME DIFFERENCE ERROR LIMIT: a difference that is to be at most the limit
decide() {
	word=$(awk -v d="$2" -v e="$3" -v l="$4" 'BEGIN {
		print (d + e <= l ? "reached" : (d - e > l ? "not reached" : "not decided")) }')
	printf '%s: %+.2f +-%.2f points (target: %s) [%s]\n' "$1" "$2" "$3" "$4" "$word"
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
	# Not stop(): what sh starts with & ignores SIGINT, and pgbench leaves it so.
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
		decide "victims, $victim, $method, throughput lost" "$(calc "$3 - $1")" "$(calc "sqrt($2 ^ 2 + $4 ^ 2)")" 0.5
		decide "victims, $victim, $method, p99 more" "$(calc "$5 - $7")" "$(calc "sqrt($6 ^ 2 + $8 ^ 2)")" 2
	done
done
