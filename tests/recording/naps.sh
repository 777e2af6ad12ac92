#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Threads that nap, in programs whose functions count from the frame pointer: the kernel does not tell the frame
# pointer of a waiting thread.  Where frames have one size, a few stops tell it; where they have not, each sample takes a
# stop.  Every stack is the true one.  TIMING: few stops are needed.
#
# And samples of naps have no CPU time.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
# A thread that runs while it is read is stopped instead.  How often it does depends on the machine.
quiet_percent=5
[ -z "${TIMING-}" ] || quiet_percent=50

# taken KIND CAPTURE: samples of naps, into $waits and $quiet
taken() {
	waits 'nanosleep\]' ";main;nap_$1;" 500 $2 "$BUILDDIR/tests/recording/naps" $1
	quiet=$(told reads_without_stop)
	echo "$1, $2: $waits naps, $(told stops) stops, $quiet read without"
	# Timers sample threads on their way into a call, too.
	[ $2 != stop ] || waits_have_no_cpu_time $1
}

# CPU time belongs to samples that found the thread running: policy/weights.h.
waits_have_no_cpu_time() {
	cpu_ns=$("$VGTOOL" folded --weight cpu "$dir/named.vgp" | awk '/nanosleep\] [0-9]+$/ { sum += $NF } END { print sum + 0 }')
	[ "$cpu_ns" = 0 ] || fail "$1: samples of naps have $cpu_ns ns of CPU time"
}

for capture in auto stop; do
	taken fixed $capture
	[ $((quiet * 100)) -ge $((waits * quiet_percent)) ] ||
		fail "fixed, $capture: only $quiet of $waits were read without a stop"
	taken varying $capture
	[ "$quiet" -le $((waits / 10)) ] || fail "varying, $capture: $quiet of $waits were guessed"
done
