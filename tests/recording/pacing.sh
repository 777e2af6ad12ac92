#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A program that computes nearly all the time: the helper wakes far less often than it samples, and the little that the
# program waits is in the profile all the same.  SOAK: longer, and closer.
#
# A program that makes threads which live so short that nobody finds most of them, beside one that goes on: each is sampled
# as often as it was asked for; on one CPU, too.
#
# A program whose threads wait half of the time, but shortly each time: the helper wakes as seldom.  And one whose threads
# wake each other so often that timers cost more than stops, until they do not: timers sample it again.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
seconds=24 least=0.2 most=2.2
[ -z "${SOAK-}" ] || seconds=120 least=0.7 most=1.4
program=$BUILDDIR/tests/recording/breather
"$program" $seconds >"$dir/truth" & host=$!
"$VIGNETTED" --pid $host --rate 99 -o "$dir/p.vgp" 2>"$dir/log" & pid=$!

# wakes_of PROCESS: each sleep of the helper's between two ticks is one.
wakes_of() {
	awk '$1 == "voluntary_ctxt_switches:" { print $2 }' "/proc/$1/status"
}

# interrupts_in PROFILE
interrupts_in() {
	info "$1" "interrupts ?? 0"
}

sleep $((seconds - 4))                           # the load runs
wakes=$(wakes_of $pid)
wait $host
wait $pid || fail "vignetted: $(cat "$dir/log")"
pid=

named "$dir/p.vgp" wall "$dir/functions" "$program"
interrupts=$(interrupts_in "$dir/p.vgp")
echo "$wakes wakes, $interrupts interrupts in $seconds s"

# Where the kernel samples for us, at 99 Hz and a tick each there would be a thousand in ten seconds.
if [ "$interrupts" -gt $((seconds * 10)) ]; then
	[ "$wakes" -lt $((seconds * 50)) ] || fail "it woke $wakes times"
fi
awk -v least=$least -v most=$most '
	NR == FNR { waited = $1; all = $2; next }
	$5 == "*" { total = $4 }
	$5 == "breathe" { breathed = $4 }
	END {
		printf "waited %.3f s of %.3f s; in the profile %.3f s of %.3f s\n", waited / 1e9, all / 1e9,
			breathed / 1e9, total / 1e9
		right = breathed / waited
		exit (right < least || right > most || total < 0.9 * all || total > 1.01 * all)
	}' "$dir/truth" "$dir/functions" || fail "time is missing"

# within NAME GOT WANTED PERCENT
within() {
	awk -v got="${2:-0}" -v wanted="$3" -v percent="$4" 'BEGIN {
		off = 100 * (got - wanted) / wanted
		exit off > percent || off < -percent }' || fail "$1: $2 where it was $3"
}

"$VIGNETTED" --rate 1000 -o "$dir/crowd.vgp" -- "$BUILDDIR/tests/recording/churn" crowd $((seconds * 250)) >"$dir/truth" \
	2>"$dir/log" || fail "churn: $(cat "$dir/log")"
read wall main_cpu worker_cpu <"$dir/truth"
cat "$dir/truth" "$dir/log"
named "$dir/crowd.vgp" cpu "$dir/cpu" "$BUILDDIR/tests/recording/churn"
named "$dir/crowd.vgp" wall "$dir/wall" "$BUILDDIR/tests/recording/churn"
within 'wall time of what makes threads' "$(awk '$5 == "crowd" { print $4 }' "$dir/wall")" $wall 5
within 'CPU time of what makes threads' "$(awk '$5 == "crowd" { print $4 }' "$dir/cpu")" $main_cpu 15
within 'CPU time of a late thread' "$(awk '$5 == "crowd_work" { print $4 }' "$dir/cpu")" $worker_cpu 10

interrupts=$(interrupts_in "$dir/crowd.vgp")
[ "$interrupts" -lt 30 ] || [ "$interrupts" -gt $((main_cpu / 2000000)) ] || fail "$interrupts interrupts"
for function in crowd:$main_cpu crowd_work:$worker_cpu; do
	samples=$(awk -v name=${function%:*} '$5 == name { print $2 }' "$dir/cpu")
	[ "${samples:-0}" -gt $((${function#*:} / 2000000)) ] || fail "${samples:-0} samples of ${function%:*}"
done

cpu=$(taskset -cp $$ | sed 's/.*[ :]\([0-9]*\).*/\1/')
"$VIGNETTED" --rate 1000 -o "$dir/made.vgp" -- taskset -c $cpu "$BUILDDIR/tests/recording/churn" threads 4000 2>"$dir/log" ||
	fail "churn: $(cat "$dir/log")"
cat "$dir/log"
enough='duration_ns > 0 && it.samples + (it.lost.ticks_skipped ?? 0) > 0.5 * it.duration_ns / 1e6'
[ "$(info "$dir/made.vgp" "$enough")" = true ] || fail "few samples: $("$VGTOOL" info "$dir/made.vgp")"

"$BUILDDIR/tests/recording/churn" relay $((seconds * 250)) >"$dir/truth" & host=$!
"$VIGNETTED" --capture auto --pid $host --rate 49 -o "$dir/relay.vgp" 2>"$dir/log" & pid=$!
sleep $((seconds / 4 - 1))                       # it runs
wakes=$(wakes_of $pid)
wait $host
wait $pid || fail "vignetted: $(cat "$dir/log")"
pid=
read used wall <"$dir/truth"
interrupts=$(interrupts_in "$dir/relay.vgp")
echo "$used ns of CPU time in $wall ns; $wakes wakes, $interrupts interrupts"
sampled_by_kernel=false
if [ "$interrupts" -gt $((seconds * 5)) ]; then
	sampled_by_kernel=true
	[ "$wakes" -lt $((seconds * 7)) ] || fail "it woke $wakes times"
fi
named "$dir/relay.vgp" cpu "$dir/cpu" "$BUILDDIR/tests/recording/churn"
named "$dir/relay.vgp" wall "$dir/wall" "$BUILDDIR/tests/recording/churn"
within 'CPU time of threads that wait shortly' "$(awk '$5 == "relay" { print $4 }' "$dir/cpu")" $used 20
within 'wall time of threads that wait shortly' "$(awk '$5 == "relay" { print $4 }' "$dir/wall")" $wall 15

ms=$((seconds * 160))
"$VIGNETTED" --capture auto --rate 99 -o "$dir/rally.vgp" -- taskset -c $cpu "$BUILDDIR/tests/recording/churn" rally $ms \
	>/dev/null 2>"$dir/log" || fail "churn: $(cat "$dir/log")"
interrupts=$(interrupts_in "$dir/rally.vgp")
echo "$interrupts interrupts of a program that computes for the second $ms ms"
! $sampled_by_kernel || [ "$interrupts" -gt $((ms / 25)) ] || fail "$("$VGTOOL" info "$dir/rally.vgp")"
