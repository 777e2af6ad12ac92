#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A command that vignetted launches is recorded from its first instruction, even if the helper needs long to begin.
# strace delays the helper by 0.3 s when it makes the profile's file, after the launch, and at each seccomp(2); with the
# last of them the helper loads its filter.  The command prints the time first.  If vignetted did not hold it until the
# recording begins, this time would be before the end of the delays.  Then the command uses CPU time, to be sampled.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node strace
held() {
	strace -qq -ttt -o trace -e trace=seccomp,socketpair -e inject=seccomp,socketpair:delay_enter=300000 "$VIGNETTED" \
		--capture "$1" --rate 499 -- sh -c 'date +%s.%N; n=0; while [ $n -lt 300000 ]; do n=$((n + 1)); done' \
		>printed 2>log || fail "$1: $(cat log)"
	mv ./*.vgp out.vgp
	grep -q SECCOMP_SET_MODE_FILTER trace && grep -q socketpair trace || fail "$1: the helper was not delayed: $(cat trace)"
	# The time in a line of the trace is that before the delay.
	awk 'NR == FNR { if (/SECCOMP_SET_MODE_FILTER/) filter = $1; next } { exit !($1 >= filter + 0.299) }' trace printed ||
		fail "$1: the command ran too early, until $(cat printed): $(cat trace)"
	ended out.vgp 'the process ended'
	echo "$(json info it.samples) samples of $(json info it.program)"
}
stops() { held stop; }
timers() { held auto; }
# A set-user-ID command gets its privileges, although vignetted cannot record it.  Needs root and a file system that
# allows this.
privileged() {
	[ "$(id -u)" = 0 ] || return 0
	cp "$(command -v id)" own_id
	chmod 4755 own_id
	chmod 777 . ..
	as_nobody="setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all"
	[ "$($as_nobody ./own_id -u)" = 0 ] || return 0
	for command in ./own_id own_id; do
		printed=$(PATH=/nonexistent:$PWD:$PATH $as_nobody "$VIGNETTED" -o p.vgp -- $command -u 2>log) || true
		[ "$printed" = 0 ] || fail "$command: expected user 0, got: $printed $(cat log)"
	done
}
side_by_side stops timers privileged
