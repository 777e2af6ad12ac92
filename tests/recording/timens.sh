#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Time namespaces.  A namespace does not shift the times of timer samples, but may shift the helper's clock.  Timer
# samples are in the profile and the sum of weights is right, whether the helper, the program or both are in a time
# namespace.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
clocked=$BUILDDIR/tests/recording/clocked
as_root=
[ "$(id -u)" = 0 ] || as_root=-r

# shifted SECONDS COMMAND...: runs the command in a time namespace whose clocks are shifted by that many seconds
shifted() {
	offset_s=$1
	shift
	unshare $as_root -T --monotonic "$offset_s" --boottime "$offset_s" "$@"
}

# sums_to WEIGHT LEAST MOST: fails unless the latest report's sum of that weight is between LEAST and MOST nanoseconds,
# within 3 % and 5 ms: two periods of 499 Hz, and the program's start and end
sums_to() {
	sum=$(json "$dir/report" "it.$1_ns")
	[ $sum -ge $(($2 / 100 * 97 - 5000000)) ] && [ $sum -le $(($3 / 100 * 103 + 5000000)) ] ||
		fail "$what: $1 $sum ns, not $2 to $3"
}

# checked PROFILE: fails unless nine of ten timer samples are in the profile, and all times are within the recording.
# After a timer sample whose stack needs a stop, timer samples are skipped until the next tick.  Without timers, nine of
# ten stops must have a sample: the program may end during a stop.
checked() {
	"$VGTOOL" info --json "$1" >"$dir/info"
	"$VGTOOL" report --json "$1" >"$dir/report"
	echo "$what: $(info_value samples) samples, $(info_value timer_samples) of timers, $(info_value stops) of stops"
	[ "$capture" = stop ] || [ "$(info_value timer_samples)" -gt 0 ] || fail "$what: no timer samples"
	due=$(info_value stops)
	[ "$capture" = stop ] || due=$(info_value timer_samples)
	[ "$(info_value samples)" -ge $((due * 9 / 10)) ] ||
		fail "$what: samples are missing: $(cat "$dir/info")"
	[ "$(json "$dir/info" it.lost.unmatched)" = undefined ] || fail "$what: $(info_value lost)"
	last_us=$(records "$1" "it.filter(record => record.kind == 'sample').reduce((us, sample) => us + sample.since_us, 0)")
	[ $((last_us * 1000)) -le "$(info_value duration_ns)" ] || fail "$what: the last sample is $last_us us after the begin"
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

# recorded HELPER PROGRAM: attaches to a program; the helper and the program are shifted by these seconds
recorded() {
	what="helper $1, program $2, $capture"
	rm -f "$dir/pid"
	# unshare(1) may fork, so the program writes its own pid.
	shifted_by "$2" sh -c 'echo $$ >"$0.new"; mv "$0.new" "$0"; exec "$@"' "$dir/pid" "$clocked" turns 1000 98.31 30 >"$dir/log" &
	pids="$pids $!"
	await 60 "the program's pid" test -s "$dir/pid"
	program=$(cat "$dir/pid")
	pids="$pids $program"
	await 60 "the program" test "$(realpath "$clocked")" -ef "/proc/$program/exe"
	shifted_by "$1" "$VIGNETTED" --pid "$program" --capture $capture --rate 499 --duration 1 -o "$dir/out.vgp" 2>"$dir/log" ||
		fail "$what: $(cat "$dir/log")"
	kill -9 "$program"
	wait "$program" 2>/dev/null || true
	checked "$dir/out.vgp"
	sums_to wall "$(info_value duration_ns)" "$(info_value duration_ns)"
}

# both SECONDS CAPTURE: the helper and the program that it starts are shifted by these seconds
both() {
	capture=$2 what="both $1, $2"
	shifted $1 "$VIGNETTED" --capture $capture --rate 499 -o "$dir/out.vgp" -- "$clocked" turns 1 98.31 30 \
		>"$dir/truth" 2>"$dir/log" || fail "$what: $(cat "$dir/log")"
	checked "$dir/out.vgp"
	wall_ns=$(awk '$1 == "all" { print $2 }' "$dir/truth") cpu_ns=$(awk '$1 == "all" { print $3 }' "$dir/truth")
	# The program cannot measure how long it takes to start.
	sums_to wall "$wall_ns" "$(info_value duration_ns)"
	sums_to cpu "$cpu_ns" "$cpu_ns"
}

# either SECONDS: shifts both, and then only one of the two.  With stops there is only one clock, so shifting only one
# of the two is tested with timers only.
either() {
	both $1 stop
	both $1 auto
	recorded $1 0
	recorded 0 $1
}
ahead() { either 1000; }
behind() { either -20; }
side_by_side ahead behind
