#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A thread that waits in vfork(2) cannot be stopped until its child executes or exits, and its return address is in a
# register.  The thread is read without a stop, and every stack is right.  In functions with a frame pointer, the frame
# is found on the stack among the words of earlier calls.
set -eu
. "${SRCDIR:?}/tests/lib.sh"

for capture in auto stop; do
	for program in vforks vforks_framed; do
		waits 'vfork\]' ';main;vfork_wait;[^;]*;\[vfork\]' 200 $capture "$BUILDDIR/tests/recording/$program"
		stops=$(info_value stops) by_libunwind=$(info_value walks_by_libunwind)
		echo "$program, $capture: $waits waits, $stops stops, $by_libunwind walks by libunwind"
		# While the thread runs it may be stopped.  How often it runs depends on the machine.
		running=$(($(info_value samples) - waits))
		[ "$stops" -le $((running + waits / 2)) ] ||
			fail "$program, $capture: $stops stops for $waits waits and $running other samples"
		[ "$by_libunwind" = 0 ] || fail "$program, $capture: $by_libunwind walks by libunwind"
	done
done
