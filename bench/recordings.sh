#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Two more recordings of a process beside one: what they cost the helper and the process, and whether each one has the
# sums that it has alone.  The first recording is of wall time at 999 Hz.  The others are of CPU time at 99 Hz, and of
# one thread at 499 Hz.
#
# The program runs 60 % of its time in one function and 40 % in another, with naps (tests/recording/sessions.c).  Each
# round has the same three recordings, first one after the other and then at the same time.  With stops only, a second
# recording would cost most if it had stops of its own.
set -eu
. "${SRCDIR:?}/bench/lib.sh"
seconds=${BENCH_SECONDS:-3}
rounds=${BENCH_ROUNDS:-5}
run=$dir/run ids=

vgctl() { "$BUILDDIR/vgctl/vgctl" --directory "$run" "$@"; }

# begin NAME: begins the recording of that name, and adds its id to $ids
begin() {
	case $1 in
	fast*) options="--rate 999" ;;
	cpu*) options="--rate 99 --mode cpu" ;;
	one*) options="--rate 499 --thread $thread" ;;
	esac
	ids="$ids $(vgctl begin "$host" -o "$dir/$1.vgp" $options)"
}

# end_all: ends the recordings that begin() began
end_all() {
	sleep "$seconds"
	for id in $ids; do vgctl end "$host" "$id" >"$dir/log"; done
	ids=
}

# sums NAME: prints the parts of the threads' wall time and of their CPU time that are in samples, and the stops, their
# pauses in ns and the helper's CPU time in ns, each by second of the recording
sums() {
	for weight in wall cpu; do
		"$VGTOOL" folded --weight $weight "$dir/$1.vgp" 2>"$dir/log" | awk '{ us += $NF } END { print us * 1000 }'
	done >"$dir/weights"
	"$VGTOOL" info --json "$dir/$1.vgp" >"$dir/info"
	for key in duration_ns threads cpu_unsampled_ns stops pause_total_ns helper_cpu_ns; do number "$dir/info" $key; done |
		cat "$dir/weights" - | awk '{ v[NR] = $1; s = v[3] / 1e9 }
			END { print v[1] / v[3] / v[4], v[2] / (v[2] + v[5]), v[6] / s, v[7] / s, v[8] / s }'
}

echo "in samples:      wall time             CPU time"
echo "                   alone    beside     alone    beside"
for stop in 0 1; do
	kind=$([ $stop = 1 ] && echo stops || echo timers)
	rm -rf "$run"
	mkfifo "$dir/in.$stop"
	"$BUILDDIR/tests/recording/sessions" "$run" $stop "$dir/own.vgp" 5 <"$dir/in.$stop" >"$dir/said" 2>&1 & program=$!
	exec 7>"$dir/in.$stop"
	pids=$program
	until grep -q "listen ok" "$dir/said"; do
		kill -0 $program 2>/dev/null || fail "recordings: $(cat "$dir/said")"
		sleep 0.1
	done
	host=$(basename "$run"/*.sock .sock)
	thread=$(for task in /proc/"$host"/task/*; do basename "$task"; done | sort -n | tail -1)
	round=0
	while [ $round -lt "$rounds" ]; do
		round=$((round + 1))
		for name in fast cpu one; do
			begin $name.alone
			end_all
		done
		for name in fast cpu one; do begin $name.beside; done
		end_all
		for name in fast cpu one; do
			sums $name.alone >"$dir/alone"
			sums $name.beside >"$dir/beside"
			paste "$dir/alone" "$dir/beside" >>"$dir/$kind.$name"
		done
	done
	exec 7>&-
	wait $program || true
	pids=
	for name in fast cpu one; do
		awk -v name=$name -v kind=$kind '
			function wall(part) { return name == "cpu" ? "-" : sprintf("%.4f", part / NR) }
			{ for (i = 1; i <= 10; i++) sum[i] += $i }
			END { printf "%-7s %-5s %9s %9s %9.4f %9.4f\n", kind, name, wall(sum[1]), wall(sum[6]),
				sum[2] / NR, sum[7] / NR }' "$dir/$kind.$name"
	done
	ratio() { awk -v at="$1" '{ print $(at + 5) / $at }' "$dir/$kind.fast" | median; }
	verdict "Helper CPU time, three recordings by the fastest alone, $kind" "$(ratio 5)" 1.05
	[ $stop = 0 ] || verdict "Stops, three recordings by the fastest alone" "$(ratio 3)" 1.05
	[ $stop = 0 ] || verdict "Pauses, three recordings by the fastest alone" "$(ratio 4)" 1.05
done
