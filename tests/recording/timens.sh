#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Time namespaces.  A namespace does not shift the times of timer samples, but may shift the helper's clock.  Timer
# samples are in the profile and the sum of weights is right, whether the helper, the program or both are in a time
# namespace.  Clocks are shifted by 20 s or more, and recordings take half a second.  So a time that is shifted wrongly
# makes sums wrong by much more than the delays of a busy machine.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node unshare
clocked=$BUILDDIR/tests/recording/clocked
as_root=
[ "$(id -u)" = 0 ] || as_root=-r

# shifted SECONDS COMMAND...: runs the command in a time namespace whose clocks are shifted by that many seconds
shifted() {
	offset_s=$1
	shift
	unshare $as_root -T --monotonic "$offset_s" --boottime "$offset_s" "$@"
}

# figure KEY: prints a figure of the latest profile: of vgtool info, or one that figures_read() adds
figure() { sed -n "s/^$1 //p" "$dir/figures"; }

# sums_to WEIGHT LEAST MOST: fails unless the latest report's sum of that weight is between half of LEAST nanoseconds,
# and MOST, half of it and a second.  CPU time that is in no sample counts, too: the last stop may be long before the
# end.  The program's start and a scheduler tick are not in its own figure.  A wrong shift is 20 s or more.
sums_to() {
	sum=$(figure $1_ns)
	[ $1 = wall ] || sum=$((sum + $(figure cpu_unsampled_ns)))
	[ "$sum" -ge $(($2 / 2)) ] && [ "$sum" -le $(($3 / 2 * 3 + 1000000000)) ] ||
		fail "$what: $1 $sum ns, not about $2 to $3"
}

# figures_read PROFILE: reads the figures of a profile
figures_read() {
	"$VGTOOL" info --json "$1" >"$dir/info"
	"$VGTOOL" report --json "$1" >"$dir/report"
	"$VGTOOL" dump "$1" >"$dir/dump"
	node -e '
		const { readFileSync, writeFileSync } = require("fs"), dir = process.argv[1];
		const read = (name) => readFileSync(`${dir}/${name}`, "utf8");
		const info = JSON.parse(read("info")), { wall_ns, cpu_ns } = JSON.parse(read("report"));
		const last_us = read("dump").split("\n").filter((line) => line).map((line) => JSON.parse(line))
			.filter((record) => record.kind === "sample").reduce((us, sample) => us + sample.since_us, 0);
		const unmatched = info.lost.unmatched ?? 0;
		writeFileSync(`${dir}/figures`, Object.entries({ timer_samples: 0, stops: 0, ...info,
			wall_ns, cpu_ns, last_us, unmatched })
			.map(([key, value]) => `${key} ${value}\n`).join(""));' "$dir"
}

# checked: fails unless half of the timer samples are in the profile, and all times are within the recording.  After a
# timer sample whose stack needs a stop, timer samples are skipped until the next tick, which may be late on a busy
# machine.  Without timers, half of the stops must have a sample: the program may end during a stop.  If a namespace
# shifts times wrongly, no timer sample is in the profile.
checked() {
	echo "$what: $(figure samples) samples, $(figure timer_samples) of timers, $(figure stops) of stops"
	[ "$capture" = stop ] || [ "$(figure timer_samples)" -gt 0 ] || fail "$what: no timer samples"
	due=$(figure stops)
	[ "$capture" = stop ] || due=$(figure timer_samples)
	[ "$(figure samples)" -gt 0 ] && [ "$(figure samples)" -ge $((due / 2)) ] ||
		fail "$what: samples are missing; expected $((due / 2)): $(cat "$dir/info")"
	[ "$(figure unmatched)" = 0 ] || fail "$what: unmatched samples are lost: $(cat "$dir/info")"
	[ $(($(figure last_us) * 1000)) -le "$(figure duration_ns)" ] ||
		fail "$what: the last sample is $(figure last_us) us after the begin, but the end $(figure duration_ns) ns"
}

# shifted_by SECONDS COMMAND...: as shifted, or without a namespace if SECONDS is 0
shifted_by() {
	if [ "$1" != 0 ]; then
		shifted "$@"
	else
		shift
		"$@"
	fi
}

# timer_sampled FUNCTION ARGUMENT...: calls the function with a recording's length in $seconds, until the profile has
# samples, and timer samples: on a very busy machine the program gets too little CPU time for them, and stops are late
timer_sampled() {
	for seconds in 0.5 2 8 32; do
		"$@"
		due=$(figure timer_samples)
		[ "$capture" != stop ] || due=1
		[ "$due" = 0 ] || [ "$(figure samples)" -lt $((due / 2 + 1)) ] || break
	done
	checked
}

# recorded HELPER PROGRAM: attaches to a program; the helper and the program are shifted by these seconds
recorded() {
	what="helper $1, program $2, $capture"
	rm -f "$dir/pid"
	# unshare(1) may fork, so the program writes its own pid.
	shifted_by "$2" sh -c 'echo $$ >"$0.new"; mv "$0.new" "$0"; exec "$@"' "$dir/pid" \
		"$clocked" turns 1000 98.31 30 >"$dir/log" &
	pids="$pids $!"
	await 120 "the program's pid" test -s "$dir/pid"
	program=$(cat "$dir/pid")
	pids="$pids $program"
	await 120 "the program" test "$(realpath "$clocked")" -ef "/proc/$program/exe"
	record "$1" --pid "$program" --capture $capture --rate 499 --duration $seconds
	kill -9 "$program"
	wait "$program" 2>/dev/null || true
}

# both SECONDS: the helper and the program that it starts are shifted by these seconds
both() {
	what="both $1, $capture"
	record "$1" --capture $capture --rate 499 -- "$clocked" turns $seconds 98.31 30
}

# record SECONDS ARGUMENT...: runs vignetted, which is shifted by these seconds, and reads the figures of its profile.
# The program's output goes to $dir/truth.
record() {
	shift_s=$1
	shift
	shifted_by "$shift_s" "$VIGNETTED" -o "$dir/out.vgp" "$@" >"$dir/truth" 2>"$dir/log" ||
		all_lost "$dir/log" || fail "$what: $(cat "$dir/log")"
	figures_read "$dir/out.vgp"
}

# either SECONDS: shifts both, and then only one of the two.  With stops there is only one clock, so shifting only one
# of the two is tested with timers only.
either() {
	for capture in stop auto; do
		timer_sampled both $1
		read -r wall_ns cpu_ns <<-END
			$(sed -n 's/^all //p' "$dir/truth")
		END
		# The program cannot measure how long it takes to start.
		sums_to wall "$wall_ns" "$(figure duration_ns)"
		sums_to cpu "$cpu_ns" "$cpu_ns"
	done
	for shifts in "$1 0" "0 $1"; do
		timer_sampled recorded $shifts
		sums_to wall "$(figure duration_ns)" "$(figure duration_ns)"
	done
}
ahead() { either 1000; }
behind() { either -20; }
side_by_side ahead behind
