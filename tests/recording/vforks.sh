#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A thread that waits in vfork(2) cannot be stopped before its child lets it go, and its return address is in
# a register: it is read without a stop, every stack is the true one, and nobody waits for it.  Where functions
# count from the frame pointer it is looked for on the stack, among what earlier calls left there.
set -eu
. "${SRCDIR:?}/tests/lib.sh"

for capture in auto stop; do
	for program in vforks vforks_framed; do
		waits 'vfork\]' ';main;vfork_wait;[^;]*;\[vfork\]' 200 $capture "$BUILDDIR/tests/recording/$program"
		stops=$(told stops) by_libunwind=$(told walks_by_libunwind)
		echo "$program, $capture: $waits waits, $stops stops, $by_libunwind walks by libunwind"
		# Where it runs it may be stopped, and how often it does depends on the machine.
		running=$(($(told samples) - waits))
		[ "$stops" -le $((running + waits / 2)) ] ||
			fail "$program, $capture: $stops stops for $waits waits and $running other samples"
		[ "$by_libunwind" = 0 ] || fail "$program, $capture: $by_libunwind walks by libunwind"
	done
done
