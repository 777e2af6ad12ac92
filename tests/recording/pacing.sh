#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A program that computes nearly all the time: the helper wakes far less often than it samples, and
# the little that the program waits is in the profile all the same.  Meanwhile it takes the CPU from nobody
# when it wakes: its policy is SCHED_BATCH.  SOAK: longer, and closer.
#
# And one that does so in threads which nobody finds, so short do they live: timers, which are made with
# each of them, are given up but for those that the first thread has of its own, and one that comes later and
# goes on is stopped instead, each sampled as often as it was asked for; on one CPU, too.
#
# And one whose threads wait half of the time, but shortly each time: that is looked at as seldom.  And one
# whose threads wake each other so often that timers cost more than stops, until they do not: the kernel
# samples it again.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
seconds=24 least=0.2 most=2.2
[ -z "${SOAK-}" ] || seconds=120 least=0.7 most=1.4
program=$BUILDDIR/tests/recording/breather
"$program" $seconds >"$dir/truth" & host=$!
"$VIGNETTED" --pid $host --rate 99 -o "$dir/p.vgp" 2>"$dir/log" & pid=$!

# policy_of PROCESS: 0 is SCHED_OTHER, 3 SCHED_BATCH.  Behind the name the state is field 3, it is field 41.
policy_of() {
	sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 39
}

# wakes_of PROCESS: each sleep of the helper's between two ticks is one.
wakes_of() {
	awk '$1 == "voluntary_ctxt_switches:" { print $2 }' "/proc/$1/status"
}

# interrupts_in PROFILE
interrupts_in() {
	info "$1" "interrupts ?? 0"
}

end=$(($(date +%s) + seconds - 4)) looks=0 patient=0
while [ "$(date +%s)" -lt $end ]; do
	sleep 1                                 # between two looks
	looks=$((looks + 1))
	[ "$(policy_of $pid)" != 3 ] || patient=$((patient + 1))
done
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
	[ $((2 * patient)) -gt $looks ] || [ "$(policy_of self)" != 0 ] ||
		fail "it was patient at $patient of $looks looks"
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

# Where the kernel samples for us, it does so with the first thread to the end.
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
