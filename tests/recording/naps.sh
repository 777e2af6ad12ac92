#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Threads with short waits, in functions whose unwind information needs the frame pointer.  The kernel does not report
# the frame pointer of a waiting thread.  If a function's frame has a fixed size, a few stops find that size.  If the
# size varies, each sample needs a stop.  Every stack is right.  TIMING: few stops are needed.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node

# sampled KIND CAPTURE: sets $waits to the number of samples of naps, $stops to the number of stops, and $unstopped to
# the number of naps that were read without a stop
sampled() {
	waits 'nanosleep\]' ";main;nap_$1;" 500 $2 "$BUILDDIR/tests/recording/naps" $1
	stops=$(info_value stops) unstopped=$(info_value reads_without_stop)
	echo "$1, $2: $waits naps, $stops stops, $unstopped read without"
}

capture=$(build_capture)
# A thread that runs while it is read is stopped instead.  How often that happens depends on the machine.  So the
# program is recorded until enough naps were read without a stop.  If the helper does not find the size, every nap
# needs a stop.
unstopped_sum=0
for try in 1 2 3 4 5 6 7 8; do
	sampled fixed $capture
	[ -z "${TIMING-}" ] || [ $unstopped -ge $stops ] ||
		fail "fixed, $capture: $stops stops, but only $unstopped of $waits were read without a stop"
	unstopped_sum=$((unstopped_sum + unstopped))
	[ $unstopped_sum -lt 50 ] || break
done
[ $unstopped_sum -ge 50 ] || fail "fixed, $capture: only $unstopped_sum were read without a stop, expected 50"
sampled varying $capture
[ $((unstopped * 10)) -le $stops ] || fail "varying, $capture: $stops stops, but $unstopped of $waits were read without"
