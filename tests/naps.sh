#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Threads that nap, in programs whose functions count from the frame pointer: the kernel does not tell
# what a waiting thread's is.  Where frames have one size, stops are to tell it a few times, no more;
# where they do not, each time.  And every stack is the true one.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
program=$BUILDDIR/tests/naps
"$VGTOOL" symbols -o "$dir/symbols" "$program" >"$dir/log"

# taken KIND CAPTURE: samples of naps, into $stops, $quiet and $dir/naps
taken() {
	"$program" $1 & pid=$!
	"$VIGNETTED" --pid $pid --capture $2 --rate 500 --duration 3 -o "$dir/out.vgp" 2>"$dir/log" ||
		fail "$1, $2: $(cat "$dir/log")"
	kill $pid
	wait $pid 2>/dev/null || true
	"$VGTOOL" info --json "$dir/out.vgp" >"$dir/info"
	stops=$(sed 's/.*"stops":\([0-9]*\),.*/\1/' "$dir/info")
	quiet=$(sed 's/.*"reads_without_stop":\([0-9]*\),.*/\1/' "$dir/info")
	"$VGTOOL" resolve -s "$dir/symbols" "$dir/out.vgp" -o "$dir/named.vgp" 2>"$dir/log"
	"$VGTOOL" folded --weight samples "$dir/named.vgp" | grep 'nanosleep\]' >"$dir/naps" || true
	naps=$(awk '{ naps += $NF } END { print naps + 0 }' "$dir/naps")
	wrong=$(grep -v ";main;nap_$1;" "$dir/naps" || true)
	echo "$1, $2: $naps naps, $stops stops, $quiet read without"
	[ -z "$wrong" ] || fail "$1, $2: stacks that never were: $wrong"
	[ "$naps" -ge 100 ] || fail "$1, $2: too few: $(cat "$dir/info")"
}

for capture in auto stop; do
	taken fixed $capture
	[ "$quiet" -ge $((naps / 2)) ] || fail "fixed, $capture: only $quiet of $naps were read without a stop"
	taken varying $capture
	[ "$quiet" -le $((naps / 10)) ] || fail "varying, $capture: $quiet of $naps were guessed"
done
