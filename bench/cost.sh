#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Measures the sampler's CPU time per complete sample of python3 and node at 1 kHz, from the capture to the stored
# stack.  vignetted is compared with perf record and perf script together, because perf unwinds in perf script.
#
# Only running threads are sampled (--mode cpu), as perf does.  A stack is complete if its root frame is where threads
# begin: for perf, the program's entry or clone.  perf has nearly no complete stack of node, because it cannot unwind
# JIT code.  So the CPU time per sample, complete or not, is measured as well, and the worst of all ratios counts.
#
# A bare stop (bare_stop.c) is a lower bound for a sampler that stops threads.
#
# The cost for the sampled program is not measured here (perf copies 16 KiB for each sample; vignetted may stop
# threads): see pause.sh.
set -eu
. "${SRCDIR:?}/bench/lib.sh"
seconds=${BENCH_SECONDS:-4}
rounds=${BENCH_ROUNDS:-3}

vignetted_run() {
	"$bench/cpu" "$dir/cpu" "$VIGNETTED" --pid $1 --rate 1000 --mode cpu --duration "$seconds" \
		-o "$dir/out.vgp" 2>"$dir/log" || fail "cost: $(cat "$dir/log")"
	"$VGTOOL" info --json "$dir/out.vgp" >"$dir/info"
	calc "$(cat "$dir/cpu") / $(number "$dir/info" stacks_complete) / 1000" >>"$dir/$2.vignetted"
	calc "$(cat "$dir/cpu") / $(number "$dir/info" samples) / 1000" >>"$dir/$2.vignetted.any"
	calc "100 * $(number "$dir/info" stacks_complete) / $(number "$dir/info" samples)" >>"$dir/$2.vignetted.whole"
}

bare_run() {
	"$bench/cpu" "$dir/cpu" "$bench/bare_stop" $1 1000 $((seconds * 1000))
	calc "$(cat "$dir/cpu") / $seconds / 1000000" >>"$dir/$2.bare"
}

perf_run() {
	"$bench/cpu" "$dir/cpu" perf record -q --call-graph dwarf,16384 -F 1000 -e cpu-clock \
		-o "$dir/perf.data" -p $1 -- sleep "$seconds" >/dev/null 2>&1
	"$bench/cpu" "$dir/cpu.script" perf script --no-inline -i "$dir/perf.data" >"$dir/script" 2>/dev/null
	count=$(perf_complete "$(readlink -f /proc/$1/exe)" <"$dir/script" | cut -d ' ' -f 1)
	calc "($(cat "$dir/cpu") + $(cat "$dir/cpu.script")) / $count / 1000" >>"$dir/$2.perf"
	any=$(grep -c 'cpu-clock' "$dir/script")
	calc "($(cat "$dir/cpu") + $(cat "$dir/cpu.script")) / $any / 1000" >>"$dir/$2.perf.any"
	calc "$(cat "$dir/cpu") / $any / 1000" >>"$dir/$2.record"
	calc "100 * $count / $any" >>"$dir/$2.perf.whole"
}

# show TEXT SAMPLER
show() {
	printf '  %-24s %12s %12s %9s%%\n' "$1" "$(median <"$dir/$name.$2")" \
		"$(median <"$dir/$name.$2.any")" "$(median <"$dir/$name.$2.whole")"
}

# ratio OURS THEIRS: prints the median of the rounds' ratios
ratio() {
	paste "$dir/$name.$1" "$dir/$name.$2" | awk '$2 != "none" { print $1 / $2 }' | median |
		awk '{ printf "%.4f\n", $1 }'
}

for name in python3 node; do
	case $name in
	python3) "$python" "$SRCDIR/bench/busy.py" 1 & ;;
	node) node "$SRCDIR/bench/busy.js" & ;;
	esac
	pids=$!
	sleep 2
	round=0
	while [ $round -lt "$rounds" ]; do
		round=$((round + 1))
		vignetted_run $pids $name
		bare_run $pids $name
		have_perf && perf_run $pids $name
	done
	end $pids
	pids=
	echo "$name, CPU time in us, medians of $rounds rounds of $seconds s:"
	printf '  %-24s %12s %12s %10s\n' '' 'per complete' 'per sample' complete
	show vignetted vignetted
	printf '  %-24s %12s %12s\n' "bare stop, no sample" '' "$(median <"$dir/$name.bare")"
	echo "RATIO to a bare stop: $(ratio vignetted bare)"
	[ -f "$dir/$name.perf" ] || continue
	show "perf record + script" perf
	printf '  %-24s %12s %12s\n' "perf record alone" '' "$(median <"$dir/$name.record")"
	echo "RATIO to perf: per complete stack $(ratio vignetted perf)," \
		"per sample $(ratio vignetted.any perf.any)"
	measured "CPU time per sample of $name relative to perf record and perf script" "$(ratio vignetted.any perf.any)"
	ratio vignetted perf >>"$dir/ratios"
	ratio vignetted.any perf.any >>"$dir/ratios"
done
worst=none
[ -f "$dir/ratios" ] && worst=$(quantile 1 <"$dir/ratios")
verdict "CPU time per sample or per complete sample, the worst of all ratios" "$worst" 0.12
