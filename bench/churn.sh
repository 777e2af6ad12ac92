#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What sampling at 1 kHz costs a program that does nothing but make and join 100,000 threads, or execute
# itself, or start others (tests/recording/churn.c), and leaves two CPUs little to spare: how much longer it
# takes, against the same under perf, against looking which threads there are and no more
# (bare_scan.c), and against stopping the first thread, where there is one that goes on, and letting it
# go, with nothing in between (bare_stop.c): the least that a sampler of so high a rate can do to it.
# Once more with threads that have one CPU, so that a sampler has another.
#
# Each run with a sampler is compared with the two without beside it: alone the same program differs by a
# twentieth from one minute to the next.  Behind +- is the standard error of the median, by the distance of
# the quartiles; the target is reached only if it is with that added.
#
#     BENCH_ROUNDS    how often each is run
set -eu
. "${SRCDIR:?}/bench/lib.sh"
rounds=${BENCH_ROUNDS:-8}
churn=$BUILDDIR/tests/recording/churn
cpu=$(taskset -cp $$ | sed 's/.*[ :]\([0-9]*\).*/\1/')

# sampled SAMPLER COMMAND...
sampled() {
	sampler=$1; shift
	case $sampler in
	alone) "$@" ;;
	stopping)
		"$@" & program=$!
		"$bench/bare_stop" $program 1000 && wait $program ;;
	looking) "$bench/bare_scan" 1000 "$@" ;;
	vignetted) "$VIGNETTED" --rate 1000 -o "$dir/out.vgp" -- "$@" ;;
	perf) perf record -q --call-graph dwarf -e cpu-clock -F 1000 -o "$dir/perf.data" -- "$@" ;;
	esac >"$dir/log" 2>&1 || fail "churn: $sampler, $*: $(tail -1 "$dir/log")"
}

# timed SAMPLER COMMAND...: us.  What perf has written must not be the next one's burden.
timed() {
	begin=$(date +%s%N)
	sampled "$@"
	echo $((($(date +%s%N) - begin) / 1000))
	rm -f "$dir/perf.data"
	sync "$dir"
}

# compare NAME SAMPLERS COMMAND...: how much longer it takes with each
compare() {
	name=$1 samplers=$2; shift 2
	before=$(timed alone "$@")
	for round in $(seq "$rounds"); do
		for sampler in $samplers; do
			us=$(timed $sampler "$@")
			after=$(timed alone "$@")
			echo $after >>"$dir/us.$name.alone"
			echo $us >>"$dir/us.$name.$sampler"
			calc "2 * $us / ($before + $after)" >>"$dir/ratio.$name.$sampler"
			before=$after
		done
	done
	for sampler in alone $samplers; do
		ms=$(calc "$(median <"$dir/us.$name.$sampler") / 1000" %.0f)
		[ $sampler != alone ] || { printf '%-16s %-12s %8s\n' $name alone $ms; continue; }
		ratio=$(median <"$dir/ratio.$name.$sampler")
		error=$(spread <"$dir/ratio.$name.$sampler")
		printf '%-16s %-12s %8s %8.3f +-%.3f\n' $name $sampler $ms $ratio $error
		[ $sampler != vignetted ] || calc "$ratio + $error" %.3f >>"$dir/worst"
	done
}

perf=
! have_perf || perf=perf
printf '%-16s %-12s %8s %8s\n' program sampler ms RATIO
compare threads "stopping looking vignetted $perf" "$churn" threads 10000
compare threads-one-CPU "stopping looking vignetted" taskset -c $cpu "$churn" threads 10000
compare execs "looking vignetted $perf" "$churn" exec 300
compare spawns "looking vignetted $perf" "$churn" spawn 10000
verdict churn "$(quantile 1 <"$dir/worst")" 1.15 "times as long at 1 kHz, error added, the worst program"
