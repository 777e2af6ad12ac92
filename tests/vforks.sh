#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A thread that waits in vfork(2) cannot be stopped before its child lets it go, and its return address is in
# a register: it is read without a stop, every stack is the true one, and nobody waits for it.  Where functions
# count from the frame pointer it is looked for on the stack, among what earlier calls left there.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
# taken PROGRAM CAPTURE
taken() {
	program=$BUILDDIR/tests/$1 capture=$2
	"$VGTOOL" symbols -o "$dir/symbols" "$program" >"$dir/log"
	"$program" & pid=$!
	"$VIGNETTED" --pid $pid --capture $capture --rate 200 --duration 3 -o "$dir/out.vgp" 2>"$dir/log" ||
		fail "$1, $capture: $(cat "$dir/log")"
	kill $pid
	wait $pid 2>/dev/null || true
	"$VGTOOL" info --json "$dir/out.vgp" >"$dir/info"
	stops=$(sed 's/.*"stops":\([0-9]*\),.*/\1/' "$dir/info")
	by_libunwind=$(sed 's/.*"walks_by_libunwind":\([0-9]*\),.*/\1/' "$dir/info")
	"$VGTOOL" resolve -s "$dir/symbols" "$dir/out.vgp" -o "$dir/named.vgp" 2>"$dir/log"
	"$VGTOOL" folded --weight samples "$dir/named.vgp" | grep 'vfork\]' >"$dir/waits" || true
	waits=$(awk '{ waits += $NF } END { print waits + 0 }' "$dir/waits")
	wrong=$(grep -v ';main;vfork_wait;[^;]*;\[vfork\]' "$dir/waits" || true)
	echo "$1, $capture: $waits waits, $stops stops, $by_libunwind walks by libunwind"
	[ -z "$wrong" ] || fail "$1, $capture: stacks that never were: $wrong"
	[ "$waits" -ge 100 ] || fail "$1, $capture: too few: $(cat "$dir/info")"
	[ "$stops" -le $((waits / 2)) ] || fail "$1, $capture: $stops stops for $waits waits"
	[ "$by_libunwind" = 0 ] || fail "$1, $capture: $by_libunwind walks by libunwind"
}

for capture in auto stop; do
	taken vforks $capture
	taken vforks_framed $capture
done
