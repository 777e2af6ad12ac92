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
	rm -f ./*.vgp
	strace -qq -ttt -o trace -e trace=seccomp,socketpair -e inject=seccomp,socketpair:delay_enter=300000 "$VIGNETTED" \
		--capture "$1" --rate 499 -- sh -c 'date +%s.%N; n=0; while [ $n -lt 300000 ]; do n=$((n + 1)); done' \
		>printed 2>log || fail "$1: $(cat log)"
	mv ./*.vgp out.vgp
	grep -q SECCOMP_SET_MODE_FILTER trace && grep -q socketpair trace || fail "$1: the helper was not delayed: $(cat trace)"
	# The time in a line of the trace is that before the delay of 0.3 s, or shortly after its begin.
	awk 'NR == FNR { if (/SECCOMP_SET_MODE_FILTER/) filter = $1; next } { exit !($1 >= filter + 0.15) }' trace printed ||
		fail "$1: the command ran too early, until $(cat printed): $(cat trace)"
	! all_lost log || return 1
	ended out.vgp 'the process ended'
	echo "$(json info it.samples) samples of $(json info it.program)"
}
stops() { again "samples of the command" held stop; }
timers() { again "samples of the command" held auto; }
# A set-user-ID command gets its privileges, although vignetted cannot record it: by its path, in $PATH, without $PATH,
# and as the interpreter of a script.  Needs root and a file system that allows this.
privileged() {
	[ "$(id -u)" = 0 ] || return 0
	cp "$(command -v id)" own_id
	chmod 4755 own_id
	cp "$(command -v touch)" own_touch
	chmod 4755 own_touch
	printf '#!%s\n' "$PWD/own_touch" >script
	chmod 755 script
	touch -d 2000-01-01 script
	chmod 777 . ..
	as_nobody="setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all"
	[ "$($as_nobody ./own_id -u)" = 0 ] || return 0
	for command in "./own_id -u" "own_id -u"; do
		printed=$(PATH=/nonexistent:$PWD:$PATH $as_nobody "$VIGNETTED" -o p.vgp -- $command 2>log) || true
		[ "$printed" = 0 ] || fail "$command: expected user 0, got: $printed $(cat log)"
	done
	$as_nobody "$VIGNETTED" -o p.vgp -- ./script 2>log || true
	await 60 "a script, by its interpreter as root, changes its own time: $(cat log)" test script -nt own_touch
	expected=$($as_nobody passwd -S)
	printed=$($as_nobody env -u PATH "$VIGNETTED" -o p.vgp -- passwd -S 2>log) || true
	[ "$printed" = "$expected" ] || fail "without PATH: expected $expected, got: $printed $(cat log)"
}
# With CAP_DAC_READ_SEARCH, as from setcap(8), a user executes nothing below a directory that this user may not search.
searched() {
	with_search="setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps +dac_read_search
		--ambient-caps +dac_read_search"
	[ "$(id -u)" = 0 ] && $with_search true || return 0 # a container may lack the capability
	chmod 777 . ..
	mkdir -m 700 private
	cp "$(command -v id)" private/program
	status=0
	$with_search "$VIGNETTED" -o p.vgp -- private/program 2>log || status=$?
	[ $status = 126 ] || fail "a private program: expected status 126, got $status: $(cat log)"
}
# Signals that come before the execve(2), while strace delays the helper: a stop and its end, and a signal that ends the
# command.  The helper does not hang.
signals() {
	for signals in "STOP CONT" "TSTP CONT" "STOP CONT STOP CONT" WINCH TERM; do
		strace -D -qq -o trace -e trace=write -e inject=write:delay_enter=500000:when=1 "$VIGNETTED" --quiet -o p.vgp -- sleep 0.1 \
			2>log & helper=$!
		pids=$helper
		await 60 "$signals: vignetted traces its child" seized_or_exited
		# On a busy machine the command may begin after the first signals.  It gets the others, too: it must not stay
		# stopped.
		for signal in $signals; do
			[ "$(parent ${child:-0})" != $helper ] || kill -s $signal $child 2>/dev/null || true
			sleep 0.05
		done
		await 60 "$signals: vignetted ends" exited $helper
		wait $helper || true
		grep -q DELAYED trace && [ -e p.vgp ] || fail "$signals: no delay, or no profile: $(cat log trace)"
	done
}
# seized: whether the helper traces its child; sets $child
seized() {
	for child in $(cat /proc/$helper/task/$helper/children 2>/dev/null); do
		! grep -q "^TracerPid:[^0-9]*$helper\$" /proc/$child/status 2>/dev/null || return 0
	done
	return 1
}
seized_or_exited() { seized || exited $helper; }
side_by_side stops timers privileged searched signals
