#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A command that vignetted launches is recorded from its start, even if the helper needs long to begin.  strace delays
# the helper by 0.3 s at each seccomp(2); with the last of them the helper loads its filter.  The command uses
# 0.3 s of CPU time and then prints the time.  If vignetted did not hold the command until the recording begins, the
# command would print a time before the end of these delays.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node strace
held() {
	strace -qq -ttt -o trace -e trace=seccomp -e inject=seccomp:delay_enter=300000 "$VIGNETTED" --capture "$1" \
		--rate 499 -o out.vgp -- sh -c 'n=0; while [ $n -lt 300000 ]; do n=$((n + 1)); done; exec date +%s.%N' \
		>printed 2>log || fail "$1: $(cat log)"
	grep -q SECCOMP_SET_MODE_FILTER trace || fail "$1: the helper was not delayed: $(cat trace)"
	# The time in a line of the trace is that before the delay.
	awk 'NR == FNR { if (/SECCOMP_SET_MODE_FILTER/) filter = $1; next } { exit !($1 >= filter + 0.299) }' trace printed ||
		fail "$1: the command ran too early, until $(cat printed): $(cat trace)"
	ended out.vgp 'the process ended'
	echo "$(json info it.samples) samples of $(json info it.program)"
}
stops() { held stop; }
timers() { held auto; }
side_by_side stops timers
