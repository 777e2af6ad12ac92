#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# How often the helper wakes, and what is sampled then:
#
#   - A program that runs nearly all the time: the helper wakes far less often than there are samples, and the profile
#     still has the short waits.  SOAK: longer, with narrower limits.
#   - A program that creates many threads.  Most of them exit before the helper can find them, and one lives on.  The
#     creating thread and the one that lives on have their samples, also on one CPU.
#   - A program whose threads wait half of the time, each time for a short time: the helper wakes rarely, too.
#   - A program whose threads first wake each other so often that timers cost more than stops.  Later they do not, and
#     timers sample the program again.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node
seconds=24 least=0.2 most=2.2
[ -z "${SOAK-}" ] || seconds=120 least=0.7 most=1.4
program=$BUILDDIR/tests/recording/breather
"$program" $seconds >"$dir/truth" & host=$!
"$VIGNETTED" --pid $host --rate 99 -o "$dir/p.vgp" 2>"$dir/log" & pid=$!

# wakes_of PROCESS: prints how often the process has slept
wakes_of() {
	awk '$1 == "voluntary_ctxt_switches:" { print $2 }' "/proc/$1/status"
}

# timer_samples_in PROFILE: prints the number of timer samples
timer_samples_in() {
	info "$1" "timer_samples ?? 0"
}

sleep $((seconds - 4))                           # the program runs
wakes=$(wakes_of $pid)
wait $host
wait $pid || fail "vignetted: $(cat "$dir/log")"
pid=

symbolize "$dir/p.vgp" wall "$dir/functions" "$program"
timer_samples=$(timer_samples_in "$dir/p.vgp")
echo "$wakes wakes, $timer_samples timer samples in $seconds s"

# Only if there are timers.  If the helper woke for each tick at 99 Hz, it would wake twice as often as this limit.
if [ "$timer_samples" -gt $((seconds * 10)) ]; then
	[ "$wakes" -lt $((seconds * 50)) ] || fail "the helper woke $wakes times in $seconds s"
fi
awk -v least=$least -v most=$most '
	NR == FNR { waited = $1; all = $2; next }
	$5 == "*" { total = $4 }
	$5 == "breathe" { breathed = $4 }
	END {
		printf "the program waited %.3f s of %.3f s; in the profile %.3f s of %.3f s\n", waited / 1e9, all / 1e9,
			breathed / 1e9, total / 1e9
		right = breathed / waited
		exit (right < least || right > most || total < 0.9 * all || total > 1.01 * all)
	}' "$dir/truth" "$dir/functions" || fail "the profile's times are wrong"

# within NAME GOT WANTED PERCENT: fails if GOT differs from WANTED by more than PERCENT
within() {
	awk -v got="${2:-0}" -v wanted="$3" -v percent="$4" 'BEGIN {
		off = 100 * (got - wanted) / wanted
		exit off > percent || off < -percent }' || fail "$1: $2 in the profile, $3 in the program"
}

"$VIGNETTED" --rate 1000 -o "$dir/crowd.vgp" -- "$BUILDDIR/tests/recording/churn" crowd $((seconds * 250)) >"$dir/truth" \
	2>"$dir/log" || fail "churn: $(cat "$dir/log")"
read wall main_cpu worker_cpu <"$dir/truth"
cat "$dir/truth" "$dir/log"
symbolize "$dir/crowd.vgp" cpu "$dir/cpu" "$BUILDDIR/tests/recording/churn"
symbolize "$dir/crowd.vgp" wall "$dir/wall" "$BUILDDIR/tests/recording/churn"
within 'wall time of the creating thread' "$(awk '$5 == "crowd" { print $4 }' "$dir/wall")" $wall 5
within 'CPU time of the creating thread' "$(awk '$5 == "crowd" { print $4 }' "$dir/cpu")" $main_cpu 15
within 'CPU time of the thread that lives' "$(awk '$5 == "crowd_work" { print $4 }' "$dir/cpu")" $worker_cpu 10

timer_samples=$(timer_samples_in "$dir/crowd.vgp")
[ "$timer_samples" -lt 30 ] || [ "$timer_samples" -gt $((main_cpu / 2000000)) ] || fail "only $timer_samples timer samples"
for function in crowd:$main_cpu crowd_work:$worker_cpu; do
	samples=$(awk -v name=${function%:*} '$5 == name { print $2 }' "$dir/cpu")
	[ "${samples:-0}" -gt $((${function#*:} / 2000000)) ] || fail "only ${samples:-0} samples of ${function%:*}"
done

cpu=$(taskset -cp $$ | sed 's/.*[ :]\([0-9]*\).*/\1/')
"$VIGNETTED" --rate 1000 -o "$dir/made.vgp" -- taskset -c $cpu "$BUILDDIR/tests/recording/churn" threads 4000 2>"$dir/log" ||
	fail "churn: $(cat "$dir/log")"
cat "$dir/log"
enough='duration_ns > 0 && it.samples + (it.lost.ticks_skipped ?? 0) > 0.5 * it.duration_ns / 1e6'
[ "$(info "$dir/made.vgp" "$enough")" = true ] || fail "too few samples: $("$VGTOOL" info "$dir/made.vgp")"

"$BUILDDIR/tests/recording/churn" relay $((seconds * 250)) >"$dir/truth" & host=$!
"$VIGNETTED" --capture auto --pid $host --rate 49 -o "$dir/relay.vgp" 2>"$dir/log" & pid=$!
sleep $((seconds / 4 - 1))                       # the program runs
wakes=$(wakes_of $pid)
wait $host
wait $pid || fail "vignetted: $(cat "$dir/log")"
pid=
read used wall <"$dir/truth"
timer_samples=$(timer_samples_in "$dir/relay.vgp")
echo "$used ns of CPU time in $wall ns; $wakes wakes, $timer_samples timer samples"
has_timers=false
if [ "$timer_samples" -gt $((seconds * 5)) ]; then
	has_timers=true
	[ "$wakes" -lt $((seconds * 7)) ] || fail "the helper woke $wakes times"
fi
symbolize "$dir/relay.vgp" cpu "$dir/cpu" "$BUILDDIR/tests/recording/churn"
symbolize "$dir/relay.vgp" wall "$dir/wall" "$BUILDDIR/tests/recording/churn"
within 'CPU time of threads with short waits' "$(awk '$5 == "relay" { print $4 }' "$dir/cpu")" $used 20
within 'wall time of threads with short waits' "$(awk '$5 == "relay" { print $4 }' "$dir/wall")" $wall 15

ms=$((seconds * 160))
"$VIGNETTED" --capture auto --rate 99 -o "$dir/rally.vgp" -- taskset -c $cpu "$BUILDDIR/tests/recording/churn" rally $ms \
	>/dev/null 2>"$dir/log" || fail "churn: $(cat "$dir/log")"
timer_samples=$(timer_samples_in "$dir/rally.vgp")
echo "$timer_samples timer samples of a program that runs for the second $ms ms"
! $has_timers || [ "$timer_samples" -gt $((ms / 25)) ] || fail "$("$VGTOOL" info "$dir/rally.vgp")"
