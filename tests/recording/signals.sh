#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Signals, stops and debuggers while a program is sampled at 1 kHz.  SOAK: 100,000 signals, 1,000
# stops, 100 debuggers.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
signals=10000 stops=100 debuggers=5
[ -z "${SOAK-}" ] || signals=100000 stops=1000 debuggers=100

"$BUILDDIR/tests/recording/signals" "$VIGNETTED" "$dir/signals.vgp" $signals $stops
[ "$(info "$dir/signals.vgp" end_reason)" = "the process ended" ] || fail "no whole profile"

# Debuggers come and go, whether they find the program held for a moment or not; it computes what it
# computes alone, and goes on when they are gone.
"$BUILDDIR/tests/recording/churn" threads 100000000 & host=$!
pids=$host
"$VIGNETTED" --rate 1000 --capture stop --pid $host -o "$dir/debugged.vgp" 2>"$dir/log" & helper=$!
pids="$host $helper"
# A debugger that is there first keeps it from beginning.
await 20 "vignetted begins" test -s "$dir/debugged.vgp.part"

# held: the number of threads that are stopped
held() {
	cat /proc/$host/task/*/stat 2>/dev/null | sed 's/.*) //' | grep -c '^[tT]' || true
}

# attach: a debugger of each kind; counts those that got in
attach() {
	gdb -nx -batch -p $host -ex 'info threads' -ex detach >"$dir/gdb" 2>&1 || true
	! grep -q 'Inferior 1 .* detached' "$dir/gdb" || attached=$((attached + 1))
	timeout -s INT 0.1 strace -q -f -p $host -o "$dir/strace" 2>/dev/null || true
	[ ! -s "$dir/strace" ] || attached=$((attached + 1))
	tries=$((tries + 1))
}
attached=0 tries=0
while [ $tries -lt $debuggers ]; do attach; done
# A debugger gets in between two stops.  A helper with sanitizers holds a thread longer than it lets it go, and a debugger
# on a slow machine needs several attempts.
least=$debuggers
[ -z "${SANITIZE-}" ] || least=1
while [ $attached -lt $least ] && [ $tries -lt $((debuggers * 10)) ]; do attach; done
then=$(held)
kill -0 $host || fail "the program is gone"
kill -INT $helper
wait $helper || fail "vignetted: $(cat "$dir/log")"
still() { [ "$(held)" = 0 ]; }
await 20 "the threads go on when the helper is gone" still
kill -0 $host || fail "the program is gone with the helper"
echo "$tries times gdb and strace, $attached of them attached; threads held then: $then"
cat "$dir/log"
[ $attached -ge $least ] || fail "debuggers did not get in: $(cat "$dir/gdb")"
