#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The disk is slow, full, read-only, or fails.  The recording ends with a reason, the written part of the profile stays
# readable, and the recorded program continues.  The helper syncs the file, but does not wait for the sync.
set -eu
. "${SRCDIR:?}/tests/namespace.sh"
. "${SRCDIR:?}/tests/lib.sh"
needs node strace prlimit
at_end() {
	cd /
	umount -l "$dir/full/small" "$dir/memory" 2>/dev/null
}
cd "$dir"

# The counts of the processes are in a file system in memory: on a disk that discards blocks, truncating a file can take
# seconds.
memory=$dir/memory
mkdir "$memory"
mount -t tmpfs none "$memory"

# busy NAME: starts a process that counts, and writes the count into a file.  $busy is its pid.
busy() {
	count=$memory/$1
	sh -c 'n=0; while :; do n=$((n + 1)); echo $n >"$0"; sleep 0.05; done' "$count" & busy=$!
	pids=$busy
}

# alive WHEN: fails unless the process still counts
alive() {
	before=$(cat "$count")
	await 120 "the process counts, $1" counts
}
counts() { [ "$(cat "$count")" != "$before" ]; }

# injected ERROR WHEN REASON: records, while writes to the profile fail with that error: the third, or "3+": the third and
# all later ones.  The profile must have that end reason, or null.  On a busy machine the first two writes may have no
# sample.
injected() { again "samples before $1" injected_once "$@"; }
injected_once() {
	rm -f p.vgp
	status=0
	strace -o trace -P "$dir/p.vgp.part" -e trace=write -e inject=write:error="$1":when="$2" \
		"$VIGNETTED" -p $busy -o p.vgp --rate 200 --duration 600 2>err || status=$?
	[ $status = 1 ] || fail "$1: status $status, not 1: $(cat err)"
	[ "$(wc -l <err)" = 1 ] || fail "$1: not one message: $(cat err)"
	grep -q 'p.vgp: the profile is incomplete' err || fail "$1: $(cat err)"
	readable p.vgp "$3"
	[ "$2" != 3 ] || "$VGTOOL" info p.vgp 2>&1 >/dev/null | grep -q 'chunks are missing' ||
		fail "$1: vgtool info does not say that chunks are missing: $("$VGTOOL" info p.vgp 2>&1 >/dev/null)"
	holds p.vgp 'it.samples > 0'
}

# readable FILE REASON...: fails unless the profile is undamaged, and has one of these end reasons
readable() {
	"$VGTOOL" info --json "$1" >info 2>err || fail "$1: the profile cannot be read: $(cat err)"
	[ "$(json info it.damaged_bytes)" = 0 ] || fail "$1: damaged: $(cat info)"
	reason=$(json info it.end_reason) file=$1
	shift
	for wanted in "$@"; do [ "$reason" != "$wanted" ] || return 0; done
	fail "$file: the end reason is '$reason', not '$*'"
}

no_space() {
	busy no_space
	injected ENOSPC 3+ null
	injected EDQUOT 3+ null
	# There is room again for the end of the profile.
	injected ENOSPC 3 'the disk is full'
	alive "after ENOSPC and EDQUOT"
}
failing() {
	busy failing
	injected EIO 3+ null
	injected EROFS 3+ null
	injected EFBIG 3 'the process may not write larger files'
	alive "after EIO, EROFS and EFBIG"
}

# An interrupted write is repeated.
interrupted() {
	strace -o trace -P "$dir/p.vgp.part" -e trace=write -e inject=write:error=EINTR:when=1+2 \
		"$VIGNETTED" -p $busy -o p.vgp --rate 200 --duration 2 2>err || { all_lost err && return 1; } ||
		fail "EINTR: $(cat err)"
	grep -q EINTR trace || fail "no write was interrupted: $(cat trace)"
	ended p.vgp 'the duration limit was reached'
	"$VGTOOL" dump p.vgp >/dev/null 2>err && [ ! -s err ] || fail "EINTR left damage: $(cat err)"
}

# begun NAME STRACE_OPTION...: begins a recording under strace.  $begun is the pid of strace.
begun() {
	name=$1; shift
	strace -o trace.$name "$@" "$VIGNETTED" -p $busy -o $name.vgp --duration 600 2>err.$name & begun=$!
	pids="$pids $begun"
}

# interrupted_ends NAME PID: ends the recording under the strace with that pid
interrupted_ends() {
	await 120 "$1: the helper handles signals" handles_signals "$2"
	kill_own TERM $helper
	await 120 "$1: the helper ends" exited "$2"
	wait "$2" || fail "$1: $(cat err.$1)"
}
# vignetted is the child of strace.  It reads SIGTERM, number 15, from a signalfd(2) when it has blocked it.  Then one
# is enough; another would be taken for an end that hangs.
handles_signals() {
	helper=$(cat "/proc/$1/task/$1/children")
	[ $((0x$(sed -n 's/^SigBlk:[[:space:]]*//p' "/proc/${helper% }/status") & 1 << 14)) != 0 ]
}

# The helper requests a sync every five seconds.  At the end it starts the write-back of the file, unless the disk is
# still busy with the latest sync.  The helper waits for neither.  Without asynchronous I/O there are no syncs, only the
# write-back.  A disk that never completes a sync does not delay the end for long.
syncs() {
	busy syncs
	begun synced -e trace=io_submit,io_getevents,sync_file_range,fdatasync,fsync; synced=$begun
	begun queueless -e trace=io_setup,sync_file_range -e inject=io_setup:error=ENOSYS; queueless=$begun
	begun dead -e trace=io_submit,io_getevents -e inject=io_getevents:retval=0; dead=$begun
	await 120 "a sync" grep -q 'IOCB_CMD_FDSYNC.*= 1$' trace.synced
	await 120 "a sync of a dead disk" grep -q 'IOCB_CMD_FDSYNC.*= 1$' trace.dead
	interrupted_ends synced $synced
	interrupted_ends queueless $queueless
	interrupted_ends dead $dead
	syncs=$(grep -c 'IOCB_CMD_FDSYNC.*= 1$' trace.synced) || true
	most=$(($(info synced.vgp duration_ns) / 5000000000))
	[ "$syncs" -le "$most" ] || fail "synced more often than every five seconds: $syncs, not at most $most: $(cat trace.synced)"
	# Before the end the helper asks whether the latest sync has finished.
	case $(grep '^io_getevents' trace.synced | tail -n 1) in
	*'= 1') write_backs=1 ;;
	*'= 0') write_backs=0 ;;
	*) fail "did not ask for the latest sync: $(cat trace.synced)" ;;
	esac
	[ "$(grep -c 'sync_file_range(.*SYNC_FILE_RANGE_WRITE) = 0' trace.synced)" = $write_backs ] ||
		fail "not written back $write_backs times, at the end: $(cat trace.synced)"
	! grep -qE '^(fdatasync|fsync)' trace.synced || fail "waited for the disk: $(cat trace.synced)"
	[ "$(info synced.vgp syncs_failed)" = 0 ] || fail "a sync failed"
	grep -q 'sync_file_range(.*SYNC_FILE_RANGE_WRITE) = 0' trace.queueless ||
		fail "no write-back without a queue: $(cat trace.queueless)"
	ended dead.vgp 'interrupted by a signal'
	alive "after the syncs"
}

# appended_samples: whether the profile in the file `appended` has samples
appended_samples() {
	tail -c +16 appended >p.vgp.new
	cmp -s p.vgp.new p.vgp || mv p.vgp.new p.vgp
	holds p.vgp 'it.samples > 0'
}

# A file system that becomes full, is full from the start, or is read-only; and a limit of the file size.
full() {
	busy full
	again "samples with interrupted writes" interrupted
	# The file system becomes full when the profile has the first samples.
	mkdir small
	mount -t tmpfs -o size=1m none small
	"$VIGNETTED" -p $busy -o small/p.vgp --rate 1000 --duration 600 2>err & helper=$!
	pids="$pids $helper"
	await 120 "the first samples" holds small/p.vgp.part 'it.samples > 0'
	head -c 2m /dev/zero >small/ballast 2>/dev/null || true
	await 120 "full: the helper ends" exited $helper
	status=0
	wait $helper || status=$?
	[ $status = 1 ] || fail "full: status $status"
	grep -q 'No space left' err || fail "full: $(cat err)"
	[ -f small/p.vgp ] && [ ! -e small/p.vgp.part ] || fail "full: $(ls small)"
	# There may be no room for the end of the profile.
	readable small/p.vgp 'the disk is full' null
	holds small/p.vgp 'it.samples > 0' || fail "full: no samples"
	alive "while the disk is full"

	# Full from the start
	rm small/p.vgp
	head -c 2m /dev/zero >small/ballast 2>/dev/null || true
	status=0
	"$VIGNETTED" -p $busy -o small/p.vgp 2>err || status=$?
	[ $status = 1 ] && [ "$(wc -l <err)" = 1 ] || fail "full from the start: status $status, $(cat err)"
	[ ! -e small/p.vgp.part ] || fail "full from the start: a .part is left"

	# Read-only.  The finisher ends just after the helper, and until then the file system is busy.
	await 240 "the file system is read-only" mount -o remount,ro small
	status=0
	"$VIGNETTED" -p $busy -o small/p.vgp 2>err || status=$?
	[ $status = 1 ] || fail "read-only: status $status"
	grep -q 'small/p.vgp.part: cannot create: Read-only file system' err || fail "read-only: $(cat err)"

	# vignetted keeps the earlier content of the file, even if it cannot write the whole profile.
	echo "written before" >appended
	"$VIGNETTED" -p $busy -o /dev/stdout --rate 1000 --duration 600 >>appended 2>err & helper=$!
	pids="$pids $helper"
	await 120 "appended: the first samples" appended_samples
	# A part of the next chunk fits.
	prlimit --pid $helper --fsize=$(($(stat -c %s appended) + 100))
	await 120 "appended: the helper ends" exited $helper
	status=0
	wait $helper || status=$?
	[ $status = 1 ] || fail "appended: status $status: $(cat err)"
	[ "$(head -n 1 appended)" = "written before" ] || fail "appended: the earlier content is lost"
	tail -c +16 appended >p.vgp
	readable p.vgp 'the process may not write larger files' null
	alive "at the end"
}

side_by_side syncs no_space failing full
