#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Signals, stops and debuggers of a program that is sampled at 1 kHz.  SOAK: 100,000 signals, 1,000 stops, 100
# debuggers.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs gdb node strace
signals=10000 stops=100 debuggers=3
[ -z "${SOAK-}" ] || signals=100000 stops=1000 debuggers=100

"$BUILDDIR/tests/recording/signals" "$VIGNETTED" "$dir/signals.vgp" $signals $stops
[ "$(info "$dir/signals.vgp" end_reason)" = "the process ended" ] || fail "the profile does not end with the process"

# Debuggers attach and detach, or fail to attach because the helper holds a thread.  The program continues.
"$BUILDDIR/tests/recording/churn" threads 100000000 & host=$!
pids=$host
"$VIGNETTED" --rate 1000 --capture stop --pid $host -o "$dir/debugged.vgp" 2>"$dir/log" & helper=$!
pids="$host $helper"
# vignetted cannot begin while a debugger is attached.
await 120 "vignetted begins" test -s "$dir/debugged.vgp.part"

# held: prints the number of stopped threads
held() {
	cat /proc/$host/task/*/stat 2>/dev/null | sed 's/.*) //' | grep -c '^[tT]' || true
}

# traced PID: whether that process traces the program's first thread, or has ended
traced() {
	grep -q "^TracerPid:[^0-9]*$1\$" "/proc/$host/status" || exited "$1"
}

# attach: runs gdb and strace on the program; counts those that could attach
attach() {
	gdb -nx -batch -p $host -ex 'info threads' -ex detach >"$dir/gdb" 2>&1 || true
	! grep -q 'Inferior 1 .* detached' "$dir/gdb" || by_gdb=$((by_gdb + 1))
	strace -q -f -p $host -o "$dir/strace" 2>"$dir/strace.log" & tracer=$!
	await 120 "strace attaches, or ends" traced $tracer
	! grep -q "^TracerPid:[^0-9]*$tracer\$" "/proc/$host/status" || by_strace=$((by_strace + 1))
	kill $tracer 2>/dev/null || true
	wait $tracer 2>/dev/null || true
	tries=$((tries + 1))
}
# A debugger can attach between two stops.  On a busy machine, or with sanitizers, it needs several attempts, because
# the helper holds a thread for more of the time.  The bound only keeps the test from hanging.
by_gdb=0 by_strace=0 tries=0
while [ $tries -lt $debuggers ] || [ $by_gdb = 0 ] || [ $by_strace = 0 ]; do
	[ $tries -lt 1000 ] ||
		fail "$tries attempts; gdb attached $by_gdb times, strace $by_strace times: $(cat "$dir/gdb" "$dir/strace.log")"
	attach
done
held_before=$(held)
kill -0 $host || fail "the program has ended"
kill -INT $helper
wait $helper || fail "vignetted: $(cat "$dir/log")"
none_held() { [ "$(held)" = 0 ]; }
await 120 "the threads run when the helper has ended" none_held
kill -0 $host || fail "the program has ended with the helper"
echo "$tries times gdb and strace; gdb attached $by_gdb times, strace $by_strace times"
echo "stopped threads before the helper's end: $held_before"
cat "$dir/log"
