#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Threads with short waits, in functions whose unwind information needs the frame pointer.  The kernel does not report
# the frame pointer of a waiting thread.  If a function's frame has a fixed size, a few stops find that size.  If the
# size varies, each sample needs a stop.  Every stack is right.  TIMING: few stops are needed.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
# A thread that runs while it is read is stopped instead.  How often that happens depends on the machine.
unstopped_percent=5
[ -z "${TIMING-}" ] || unstopped_percent=50

# sampled KIND CAPTURE: sets $waits to the number of samples of naps, and $unstopped to how many of them were read
# without a stop
sampled() {
	waits 'nanosleep\]' ";main;nap_$1;" 500 $2 "$BUILDDIR/tests/recording/naps" $1
	unstopped=$(info_value reads_without_stop)
	echo "$1, $2: $waits naps, $(info_value stops) stops, $unstopped read without"
}

for capture in auto stop; do
	sampled fixed $capture
	[ $((unstopped * 100)) -ge $((waits * unstopped_percent)) ] ||
		fail "fixed, $capture: only $unstopped of $waits were read without a stop"
	sampled varying $capture
	[ "$unstopped" -le $((waits / 10)) ] || fail "varying, $capture: $unstopped of $waits were read without a stop"
done
