#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A thread that waits in vfork(2) cannot be stopped until its child executes or exits, and its return address is in a
# register.  The thread is read without a stop, and every stack is right.  In functions with a frame pointer, the frame
# is found on the stack among the words of earlier calls.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node

for capture in auto stop; do
	for program in vforks vforks_framed; do
		# A stop shows the thread after its vfork(2).  So these 100 samples were taken without a stop.
		waits 'vfork\]' ';main;vfork_wait;[^;]*;\[vfork\]' 200 $capture "$BUILDDIR/tests/recording/$program"
		unstopped=$(info_value reads_without_stop) by_libunwind=$(info_value walks_by_libunwind)
		echo "$program, $capture: $waits waits, $unstopped read without a stop, $by_libunwind walks by libunwind"
		[ "$unstopped" -gt 0 ] || fail "$program, $capture: $waits waits, but none was read without a stop"
		# While the thread runs, a sample may need libunwind by chance.
		[ $((by_libunwind * 2)) -le "$unstopped" ] ||
			fail "$program, $capture: $by_libunwind walks by libunwind for $unstopped reads of waits"
	done
done
