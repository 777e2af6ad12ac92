#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The flight recorder: windows of 1 s (SOAK: of 30 s, for 10 minutes), stalls, kills, full disks.  flight.c waits for
# conditions.
set -eu
. "${SRCDIR:?}/tests/namespace.sh"
. "${SRCDIR:?}/tests/lib.sh"
needs node
at_end() {
	cd /
	umount -l "$dir/killed_then_short/small" 2>/dev/null
}
seconds=2 window=1
[ -z "${SOAK-}" ] || { seconds=600 window=30; }

flight=$BUILDDIR/tests/recording/flight
binary=$flight
[ ! -x "$BUILDDIR/tests/recording/.libs/flight" ] || binary=$BUILDDIR/tests/recording/.libs/flight
"$VGTOOL" symbols -o "$dir/store" "$binary" 2>/dev/null || fail "no symbols of $binary"
store=$dir/store

# helper_make: makes VIGNETTED a helper that writes its pid into $dir/pid
helper_make() {
	[ "$VIGNETTED" = "$dir/helper" ] || helper_with_pid
	VIGNETTED=$dir/helper
}

# helper_exits WHAT: waits for the end of the helper
helper_exits() {
	await 120 "$1: the helper ends" exited "$(cat pid)"
}

# whole FILE REASON: fails unless the profile is undamaged, has samples, and ended for this reason
whole() {
	ended "$1" "$2"
	[ "$(json info it.damaged_bytes)" = 0 ] || fail "$1 is damaged"
}

# stalled FILE: fails unless the profile shows the stall: both threads' stacks with their system calls, and their
# intervals
stalled() {
	"$VGTOOL" resolve -s "$store" "$1" -o resolved.vgp 2>/dev/null ||
		fail "$1 cannot be resolved"
	"$VGTOOL" folded resolved.vgp >folded || fail "$1: no folded stacks"
	grep -q 'loop_run.*document_save.*futex' folded || fail "$1: the loop does not wait for the lock: $(cat folded)"
	grep -q 'documents_index' folded || fail "$1: no stack of the thread that has the lock: $(cat folded)"
	"$VGTOOL" summary "$1" >summary || fail "$1: no summary"
	grep -q ' index ' summary && grep -q ' save ' summary || fail "$1: intervals are missing: $(cat summary)"
	grep -q 'the heartbeat is late' summary || fail "$1 does not say that the heartbeat is late: $(cat summary)"
}

# run KIND ARGUMENT...: runs `flight KIND ARGUMENT...`
run() {
	helper_make
	timeout $life_s "$flight" "$@" >printed || fail "$1: $(cat printed)"
	cat printed
}

last() { run last $seconds $window; }

small() { run small; }

names() { run names; }

burst() { run burst; }

code() { run code; }

full() {
	mkdir small
	mount -t tmpfs -o size=16m small small
	run full small
}

# The program is killed: the helper writes the samples and events in its memory to the file.
killed() {
	helper_make
	"$flight" run >printed &
	pids=$!
	ready_or_written() { grep -q ready printed || [ -s killed.vgp.part ] || exited $pids; }
	await 120 "the program is ready" ready_or_written
	[ ! -s killed.vgp.part ] || fail "the recorder has written a file before a dump was requested"
	grep -q ready printed || fail "run: $(cat printed)"
	kill -9 $pids
	wait $pids 2>/dev/null || true
	helper_exits killed
	whole killed.vgp.part "the process ended"
	[ "$(json info it.threads)" = 9 ] || fail "not all threads of the killed program: $(cat info)"
	[ "$(json info it.samples)" -ge 1000 ] || fail "samples of the killed program are missing: expected 1000: $(cat info)"
}

# A stall that ends.
stall() {
	helper_make
	timeout $life_s "$flight" stall >printed || fail "stall: $(cat printed)"
	whole stall.vgp.2 "the heartbeat is back"
	stalled stall.vgp.2
}

both_folded() {
	"$VGTOOL" resolve -s "$store" wedged.vgp.1.part -o resolved.vgp 2>/dev/null &&
		"$VGTOOL" folded resolved.vgp >folded && grep -q 'document_save.*futex' folded &&
		grep -q 'documents_index.*nanosleep' folded
}
# A stall that does not end; then the program is killed.
wedged() {
	: >folded
	helper_make
	"$flight" wedged >printed &
	pids=$!
	stall_or_exited() { [ -s wedged.vgp.1.part ] || exited $pids; }
	await 120 "the recorder notices the stall" stall_or_exited
	[ -s wedged.vgp.1.part ] || fail "wedged: $(cat printed)"
	# The file can be read during the stall, and the recording continues.
	await 120 "the file of the stall can be read" holds wedged.vgp.1.part 'it.samples > 0'
	so_far=$(json holds it.duration_ns)
	await 120 "one more second of the stall is recorded" holds wedged.vgp.1.part "it.duration_ns >= $so_far + 1e9"
	await 120 "both threads are in the file: $(cat folded)" both_folded
	kill -9 $pids
	wait $pids 2>/dev/null || true
	helper_exits wedged
	# The dump of a stall ends after a minute.  On a busy machine the program may be killed later than that.
	reason="the process ended"
	"$VGTOOL" info --json wedged.vgp.1.part >info 2>err || fail "wedged: $(cat err)"
	[ "$(json info 'it.duration_ns < 60e9')" = true ] || reason=$(json info it.end_reason)
	case $reason in "the process ended" | "the heartbeat has stopped") ;; *) fail "wedged: $(cat info)" ;; esac
	whole wedged.vgp.1.part "$reason"
	stalled wedged.vgp.1.part
	grep -q 'documents_index.*nanosleep' folded || fail "the thread that has the lock does not sleep: $(cat folded)"
}

# These parts take about as long as stall() together.
wedged_then_code() {
	wedged
	names
	code
}
killed_then_short() {
	killed
	small
	burst
	full
}
side_by_side stall wedged_then_code killed_then_short last
