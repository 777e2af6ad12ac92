#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Measures how much longer a program takes when it is sampled at 1 kHz.  The program (tests/recording/churn.c) only
# creates and joins 100,000 threads, or executes itself, or starts other programs; it keeps two CPUs nearly busy.  The
# samplers are vignetted, perf, and two programs that do only a part of a sampler's work:
#
#     scanning     reads the list of threads, and two files of each new thread (bare_scan.c)
#     stopping     stops the first thread and continues it (bare_stop.c); only where that thread lives as long as the
#                  program
#
# In one more comparison all threads run on one CPU, so that the sampler has the other CPU for itself.
#
# The run time of the program alone changes by 5 % from one minute to the next.  So each run with a sampler is compared
# with the runs without a sampler directly before and after it.  The number after +- is the standard error of the
# median, computed from the quartiles.  The target is reached only if the ratio plus this error is at most the target.
#
#     BENCH_ROUNDS    how often each sampler is run with each program
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
	scanning) "$bench/bare_scan" 1000 "$@" ;;
	vignetted) "$VIGNETTED" --rate 1000 -o "$dir/out.vgp" -- "$@" ;;
	perf) perf record -q --call-graph dwarf -e cpu-clock -F 1000 -o "$dir/perf.data" -- "$@" ;;
	esac >"$dir/log" 2>&1 || fail "churn: $sampler, $*: $(tail -1 "$dir/log")"
}

# timed SAMPLER COMMAND...: prints the time in us, and syncs the disk afterwards, so that the next run does not have to
# wait for perf's data to be written
timed() {
	begin=$(date +%s%N)
	sampled "$@"
	echo $((($(date +%s%N) - begin) / 1000))
	rm -f "$dir/perf.data"
	sync "$dir"
}

# compare NAME SAMPLERS COMMAND...: prints how much longer the command takes with each sampler
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
		case $sampler in
		vignetted | perf) under=$sampler ;;
		scanning) under="a bare scan of the threads" ;;
		*) continue ;;
		esac
		measured "Run time of $name under $under relative to the unsampled run" \
			"$(calc "$ratio" %.2f) +-$(calc "$error" %.2f)"
		[ $sampler != vignetted ] || calc "$ratio + $error" %.3f >>"$dir/worst"
	done
}

perf=
! have_perf || perf=perf
printf '%-16s %-12s %8s %8s\n' program sampler ms RATIO
compare threads "stopping scanning vignetted $perf" "$churn" threads 10000
compare threads-one-CPU "stopping scanning vignetted" taskset -c $cpu "$churn" threads 10000
compare execs "scanning vignetted $perf" "$churn" exec 300
compare spawns "scanning vignetted $perf" "$churn" spawn 10000
verdict "Run time at 1 kHz relative to the unsampled run, the worst program, error added" \
	"$(quantile 1 <"$dir/worst")" 1.15
