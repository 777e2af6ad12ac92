#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Measures how often the verdict of `vgtool diff --fail-above` is right, on real programs at 999 Hz in cpu mode: a
# program with one thread and fixed work, redis-server under a load, and node with JIT code.
#
# Each program is recorded BENCH_ROUNDS times.  The program with fixed work is also recorded with planted changes: all of
# its ten functions do 5 % more, or one of them does 10 % more.  The kinds of recordings take turns.  Then pairs are drawn
# from the recordings at random, with one profile or three profiles on each side, and no profile on both sides.  A pair
# without a change must not be "slower".  A pair with a change must be.  The servers do not do fixed work, so shares of
# their time are compared, as vgtool(1) recommends.
#
#     BENCH_SECONDS   the length of a recording of redis-server and node
#     BENCH_ROUNDS    how often each program is recorded
#     BENCH_PAIRS     how many pairs are drawn for each row
set -eu
. "${SRCDIR:?}/bench/lib.sh"
seconds=${BENCH_SECONDS:-3}
rounds=${BENCH_ROUNDS:-20}
pairs=${BENCH_PAIRS:-200}
millions=220             # the work of one function: ten of them take about 3 s

# record NAME OPTION...: records and symbolizes a profile, $dir/NAME
record() {
	name=$1; shift
	"$VGTOOL" record --quiet --no-pager --rate 999 --mode cpu --budget 0 -o "$dir/$name" "$@" >"$dir/out" 2>"$dir/log" ||
		fail "verdicts: $name: $(tail -n 1 "$dir/log")"
}

# draw EACH: prints PAIRS lines with EACH different numbers of runs for each side
draw() {
	awk -v pairs="$pairs" -v rounds="$rounds" -v each="$1" 'BEGIN {
		srand(1)
		for (pair = 0; pair < pairs; pair++) {
			for (i = 1; i <= rounds; i++)
				order[i] = i
			line = ""
			for (i = 1; i <= 2 * each; i++) {
				k = i + int(rand() * (rounds - i + 1))
				swap = order[i]; order[i] = order[k]; order[k] = swap
				line = line " " order[i]
			}
			print line
		}
	}'
}

# judge BEFORE AFTER EACH LIMIT [OPTION]: compares pairs of recordings of the two kinds.  Sets $slower, $unclear and
# $missed, which are percentages of the pairs.
judge() {
	before=$1 after=$2 each=$3 limit=$4 option=${5:-} slower=0 unclear=0
	draw "$each" >"$dir/pairs"
	while read -r line; do
		set -- $line
		a= b= count=0
		for run in "$@"; do
			count=$((count + 1))
			if [ $count -le "$each" ]; then a="$a $dir/$before.$run"; else b="$b $dir/$after.$run"; fi
		done
		status=0
		"$VGTOOL" diff $option --fail-above $limit $a -- $b >"$dir/out" 2>"$dir/log" || status=$?
		case $status in
		0) ;;
		1) slower=$((slower + 1)) ;;
		2) unclear=$((unclear + 1)) ;;
		*) fail "verdicts: $before, $after: $(tail -n 1 "$dir/log")" ;;
		esac
	done <"$dir/pairs"
	slower=$(calc "100 * $slower / $pairs") unclear=$(calc "100 * $unclear / $pairs") missed=$(calc "100 - $slower")
	printf '%-8s %-8s %9s %6s%% %9s%% %12s%%\n' "$before" "$after" "$each" "$limit" "$slower" "$unclear"
}

port=$(free_port)
redis-server --port "$port" --save '' --appendonly no >"$dir/redis.log" 2>&1 & redis=$!
node --perf-basic-prof-only-functions "$SRCDIR/bench/busy.js" & node=$!
pids="$redis $node"
until redis-cli -p "$port" ping >/dev/null 2>&1; do sleep 0.1; done
kill -STOP $node
for round in $(seq "$rounds"); do
	record work.$round -- "$bench/verdicts_work" $millions
	record all.$round -- "$bench/verdicts_work" $millions 5 0
	record one.$round -- "$bench/verdicts_work" $millions 0 10
	redis-benchmark -p "$port" -n 100000000 -r 10000 -t set,lpush,lrange_100 -q >/dev/null 2>&1 & load=$!
	pids="$redis $node $load"
	sleep 0.5
	record redis.$round --pid $redis --duration "$seconds"
	end $load
	kill -CONT $node
	record node.$round --pid $node --duration "$seconds"
	kill -STOP $node
done
printf '%-8s %-8s %9s %7s %10s %13s\n' before after profiles limit slower 'cannot tell'
for each in 1 3; do
	side="$each profile$([ "$each" = 1 ] || echo s) a side"
	for program in work redis node; do
		[ $program = work ] && option= || option=--share
		for limit in 2 5 10 20; do
			judge $program $program "$each" $limit $option
			verdict "Equal pairs of $program called slower, $side, limit $limit %" "$slower" 5 %
			verdict "Equal pairs of $program without a verdict, $side, limit $limit %" "$unclear" 20 %
		done
	done
done
judge work all 3 2
verdict "Pairs with 5 % more work not called slower, 3 profiles a side, limit 2 %" "$missed" 10 %
judge work one 3 2
verdict "Pairs with 10 % more in one of ten functions not called slower, 3 profiles a side, limit 2 %" "$missed" 20 %
