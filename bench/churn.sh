#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What sampling at 1 kHz costs a program that does nothing but make and join 100,000 threads, or execute
# itself, or start others (tests/churn.c), and leaves two CPUs little to spare: how much longer it
# takes, against the same under perf, and against looking which threads there are and no more
# (bare_scan.c).
#
#     BENCH_ROUNDS    how often each is run
set -eu
. "${SRCDIR:?}/bench/lib.sh"
rounds=${BENCH_ROUNDS:-5}
churn=$BUILDDIR/tests/churn

# sampled SAMPLER MODE COUNT: the program under it
sampled() {
	case $1 in
	alone) "$churn" "$2" "$3" ;;
	looking) "$bench/bare_scan" 1000 "$churn" "$2" "$3" ;;
	vignetted) "$VIGNETTED" --rate 1000 -o "$dir/out.vgp" -- "$churn" "$2" "$3" ;;
	perf) perf record -q --call-graph dwarf -e cpu-clock -F 1000 -o "$dir/perf.data" -- \
		"$churn" "$2" "$3" ;;
	esac >"$dir/log" 2>&1 || fail "churn: $1, $2: $(tail -1 "$dir/log")"
}

# timed SAMPLER MODE COUNT: us.  What perf has written must not be the next one's burden.
timed() {
	begin=$(date +%s%N)
	sampled "$@"
	echo $((($(date +%s%N) - begin) / 1000))
	rm -f "$dir/perf.data"
	sync "$dir"
}

samplers="looking vignetted"
have_perf && samplers="$samplers perf"
printf '%-16s %-12s %12s %8s\n' program sampler ms RATIO
for program in "threads 10000" "exec 300" "spawn 3000"; do
	mode=${program% *}
	for round in $(seq "$rounds"); do
		for sampler in $samplers; do
			alone=$(timed alone $program)
			us=$(timed $sampler $program)
			echo $alone >>"$dir/us.$mode.alone"
			echo $us >>"$dir/us.$mode.$sampler"
			calc "$us / $alone" >>"$dir/ratio.$mode.$sampler"
		done
	done
	echo 1 >"$dir/ratio.$mode.alone"
	for sampler in alone $samplers; do
		printf '%-16s %-12s %12.0f %8.3f\n' "$program" $sampler \
			"$(calc "$(median <"$dir/us.$mode.$sampler") / 1000")" "$(median <"$dir/ratio.$mode.$sampler")"
	done
	median <"$dir/ratio.$mode.vignetted" >>"$dir/worst"
done
verdict churn "$(quantile 1 <"$dir/worst")" 1.1 "times as long at 1 kHz, the worst program"
