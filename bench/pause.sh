#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Measures how long a running thread pauses for a sample at 1 kHz: by vignetted with timers, by vignetted with stops
# ("stopping"), by a bare stop, and by perf.
#
# The thread measures itself: watch.c prints the longest gap in each sampling period.  Some of these gaps are not the
# sampler's.  So the thread is also measured without a sampler.  The quantile q of a sampler's own gaps is the length x
# for which P(gap > x, sampled) - P(gap > x, alone) = 1 - q.  This quantile excludes the gaps that the machine caused,
# although a single gap does not show its cause.
set -eu
. "${SRCDIR:?}/bench/lib.sh"
seconds=${BENCH_SECONDS:-1}
rounds=${BENCH_ROUNDS:-9}

# watched KIND ROUND: writes the gaps of the thread under that sampler into a file
watched() {
	on 0 "$bench/watch" "$seconds" 1000 >"$dir/$1.$2" & watch=$!
	sampler=
	case $1 in
	alone) ;;
	bare) on 1 "$bench/bare_stop" $watch 1000 & sampler=$! ;;
	vignetted) on 1 "$VIGNETTED" --pid $watch --rate 1000 -o "$dir/out.vgp" 2>/dev/null & sampler=$! ;;
	stopping)
		on 1 "$VIGNETTED" --pid $watch --rate 1000 --capture stop -o "$dir/out.vgp" 2>/dev/null &
		sampler=$! ;;
	perf)
		on 1 perf record -q --call-graph dwarf -e cpu-clock -F 1000 -o "$dir/perf.data" \
			-p $watch >/dev/null 2>&1 & sampler=$! ;;
	esac
	pids="$watch $sampler"
	wait $watch
	stop $sampler
	pids=
	sort -rg "$dir/$1.$2" -o "$dir/$1.$2"
}

# own Q FILE ALONE: prints that quantile of a sampler's own gaps, in us.  Both files have the longest gap first.
own() {
	awk -v q="$1" 'NR == FNR { alone[++n] = $1; next } { gap[++m] = $1 }
		END { b = 0
			for (i = 1; i <= m; i++) {
				while (b < n && alone[b + 1] > gap[i]) b++
				if (i / m - b / n >= 1 - q) { printf "%.2f\n", gap[i] / 1000; exit }
			}
			print "none" }' "$3" "$2"
}

samplers="bare vignetted stopping"
have_perf && samplers="$samplers perf"
round=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	watched alone $round
	for kind in $samplers; do
		watched $kind $round
		for q in 0.5 0.99; do
			own $q "$dir/$kind.$round" "$dir/alone.$round" >>"$dir/$kind.q$q"
		done
	done
	for q in 0.5 0.99; do
		quantile $q <"$dir/alone.$round" | awk '{ print $1 / 1000 }' >>"$dir/alone.q$q"
	done
done
echo "longest gap of a 1 ms period, us, medians of $rounds rounds of $seconds s"
printf '%-10s %8s %8s\n' sampler p50 p99
for kind in alone $samplers; do
	printf '%-10s %8s %8s\n' $kind "$(median <"$dir/$kind.q0.5")" "$(median <"$dir/$kind.q0.99")"
done

# ratio Q SAMPLER PEER: prints the median of the rounds' ratios
ratio() {
	paste "$dir/$2.q$1" "$dir/$3.q$1" |
		awk '$2 != "none" && $1 != "none" { print $1 / $2 }' | median | awk '{ printf "%.2f\n", $1 }'
}
[ ! -f "$dir/perf.q0.5" ] ||
	echo "RATIO to perf: p50 $(ratio 0.5 vignetted perf), p99 $(ratio 0.99 vignetted perf)"
for kind in vignetted stopping; do
	if [ $kind = vignetted ]; then what="by timers"; else what="by stops"; fi
	echo "RATIO to a bare stop, $kind: p50 $(ratio 0.5 $kind bare), p99 $(ratio 0.99 $kind bare)"
	verdict "Median pause relative to a bare stop, $what" "$(ratio 0.5 $kind bare)" 1.25
	verdict "99th percentile of pauses relative to a bare stop, $what" "$(ratio 0.99 $kind bare)" 1.5
done
