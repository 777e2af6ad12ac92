#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Threads that nap, in programs whose functions count from the frame pointer: the kernel does not tell
# what a waiting thread's is.  Where frames have one size, stops are to tell it a few times, no more;
# where they do not, each time.  And every stack is the true one.
set -eu
. "${SRCDIR:?}/tests/lib.sh"

# taken KIND CAPTURE: samples of naps, into $waits and $quiet
taken() {
	waits 'nanosleep\]' ";main;nap_$1;" 500 $2 "$BUILDDIR/tests/recording/naps" $1
	quiet=$(told reads_without_stop)
	echo "$1, $2: $waits naps, $(told stops) stops, $quiet read without"
}

for capture in auto stop; do
	taken fixed $capture
	[ "$quiet" -ge $((waits / 2)) ] || fail "fixed, $capture: only $quiet of $waits were read without a stop"
	taken varying $capture
	[ "$quiet" -le $((waits / 10)) ] || fail "varying, $capture: $quiet of $waits were guessed"
done
