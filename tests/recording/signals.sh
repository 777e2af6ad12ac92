#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Signals, stops and debuggers of a program that is sampled at 1 kHz.  SOAK: 100,000 signals, 1,000 stops, 100
# debuggers.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
signals=10000 stops=100 debuggers=5
[ -z "${SOAK-}" ] || signals=100000 stops=1000 debuggers=100

"$BUILDDIR/tests/recording/signals" "$VIGNETTED" "$dir/signals.vgp" $signals $stops
[ "$(info "$dir/signals.vgp" end_reason)" = "the process ended" ] || fail "the profile does not end with the process"

# Debuggers attach and detach, or fail to attach because the helper holds a thread.  The program continues.
"$BUILDDIR/tests/recording/churn" threads 100000000 & host=$!
pids=$host
"$VIGNETTED" --rate 1000 --capture stop --pid $host -o "$dir/debugged.vgp" 2>"$dir/log" & helper=$!
pids="$host $helper"
# vignetted cannot begin while a debugger is attached.
await 20 "vignetted begins" test -s "$dir/debugged.vgp.part"

# held: prints the number of stopped threads
held() {
	cat /proc/$host/task/*/stat 2>/dev/null | sed 's/.*) //' | grep -c '^[tT]' || true
}

# attach: runs gdb and strace on the program; counts those that could attach
attach() {
	gdb -nx -batch -p $host -ex 'info threads' -ex detach >"$dir/gdb" 2>&1 || true
	! grep -q 'Inferior 1 .* detached' "$dir/gdb" || attached=$((attached + 1))
	timeout -s INT 0.1 strace -q -f -p $host -o "$dir/strace" 2>/dev/null || true
	[ ! -s "$dir/strace" ] || attached=$((attached + 1))
	tries=$((tries + 1))
}
attached=0 tries=0
while [ $tries -lt $debuggers ]; do attach; done
# A debugger can attach between two stops.  A sanitized helper holds a thread for most of the time, and on a slow
# machine a debugger needs several attempts.
least=$debuggers
[ -z "${SANITIZE-}" ] || least=1
while [ $attached -lt $least ] && [ $tries -lt $((debuggers * 10)) ]; do attach; done
held_before=$(held)
kill -0 $host || fail "the program has ended"
kill -INT $helper
wait $helper || fail "vignetted: $(cat "$dir/log")"
none_held() { [ "$(held)" = 0 ]; }
await 20 "the threads run when the helper has ended" none_held
kill -0 $host || fail "the program has ended with the helper"
echo "$tries times gdb and strace, $attached of them attached; stopped threads before the helper's end: $held_before"
cat "$dir/log"
[ $attached -ge $least ] || fail "too few debuggers could attach: $(cat "$dir/gdb")"
