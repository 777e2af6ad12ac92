#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Signals, stops and debuggers while a program is sampled at 1 kHz.  SOAK: 100,000 signals, 1,000
# stops, 100 debuggers.
set -eu
: "${BUILDDIR:?}" "${VIGNETTED:?}" "${VGTOOL:?}"
dir=$(mktemp -d)
pids=
trap 'kill -9 $pids 2>/dev/null || true; rm -rf "$dir"' EXIT
signals=10000 stops=100 debuggers=5
[ -z "${SOAK-}" ] || signals=100000 stops=1000 debuggers=100

"$BUILDDIR/tests/recording/signals" "$VIGNETTED" "$dir/signals.vgp" $signals $stops
"$VGTOOL" info --json "$dir/signals.vgp" | grep -q '"end_reason":"the process ended"' || { echo "FAIL: no whole profile"; exit 1; }

# Debuggers come and go, whether they find the program held for a moment or not; it computes what it
# computes alone, and goes on when they are gone.
"$BUILDDIR/tests/recording/churn" threads 100000000 & host=$!
pids=$host
"$VIGNETTED" --rate 1000 --capture stop --pid $host -o "$dir/debugged.vgp" 2>"$dir/log" & helper=$!
pids="$host $helper"
# A debugger that is there first keeps it from beginning.
for tenth in $(seq 200); do
	[ ! -s "$dir/debugged.vgp.part" ] || break
	sleep 0.1
done
attached=0
i=0
while [ $i -lt $debuggers ]; do
	i=$((i + 1))
	gdb -nx -batch -p $host -ex 'info threads' -ex detach >"$dir/gdb" 2>&1 || true
	grep -q 'Inferior 1 .* detached' "$dir/gdb" && attached=$((attached + 1))
	timeout -s INT 0.1 strace -q -f -p $host -o "$dir/strace" 2>/dev/null || true
	[ ! -s "$dir/strace" ] || attached=$((attached + 1))
done
sleep 0.2
kill -0 $host || { echo "FAIL: the program is gone"; exit 1; }
stopped=$(cat /proc/$host/task/*/stat 2>/dev/null | sed 's/.*) //' | grep -c '^[tT]' || true)
sleep 0.2
again=$(cat /proc/$host/task/*/stat 2>/dev/null | sed 's/.*) //' | grep -c '^[tT]' || true)
kill -INT $helper
wait $helper || { echo "FAIL: $(cat "$dir/log")"; exit 1; }
left=$(cat /proc/$host/task/*/stat 2>/dev/null | sed 's/.*) //' | grep -c '^[tT]' || true)
echo "$debuggers times gdb and strace, $attached of them attached; threads held then: $stopped, $again; after: $left"
cat "$dir/log"
[ "$left" = 0 ] || { echo "FAIL: threads stand still"; exit 1; }
# A debugger gets in between two stops.  A helper with sanitizers holds a thread longer than it lets it go.
least=$debuggers
[ -z "${SANITIZE-}" ] || least=1
[ $attached -ge $least ] || { echo "FAIL: debuggers did not get in"; cat "$dir/gdb"; exit 1; }
