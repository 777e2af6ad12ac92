#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The disk is slow, full, read-only, or fails.  The recording ends with a reason, the written part of the profile stays
# readable, and the recorded program continues.  The helper syncs the file, but does not wait for the sync.  Needs
# strace.
set -eu
. "${SRCDIR:?}/tests/namespace.sh"
. "${SRCDIR:?}/tests/lib.sh"
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

# busy NAME: starts a process that counts, and writes the count into a file.  The process has many stacks, so that the
# profile grows.  $busy is its pid.
busy() {
	count=$memory/$1
	sh -c 'n=0; while :; do n=$((n + 1)); [ $((n % 1000)) = 0 ] && echo $n >"$0"; done' "$count" & busy=$!
	pids=$busy
}

# alive WHEN: fails unless the process still counts
alive() {
	before=$(cat "$count")
	await 60 "the process counts, $1" counts
}
counts() { [ "$(cat "$count")" != "$before" ]; }

# injected ERROR: records, while the third and all later writes to the profile fail with that error
injected() {
	status=0
	strace -o trace -P "$dir/p.vgp.part" -e trace=write -e inject=write:error="$1":when=3+ \
		"$VIGNETTED" -p $busy -o p.vgp --rate 200 --duration 30 2>err || status=$?
	[ $status = 1 ] || fail "$1: status $status: $(cat err)"
	[ "$(wc -l <err)" = 1 ] || fail "$1: not one message: $(cat err)"
	grep -q 'p.vgp: the profile is incomplete' err || fail "$1: $(cat err)"
	"$VGTOOL" info --json p.vgp >info 2>err || fail "$1: the profile cannot be read: $(cat err)"
	[ "$(json info it.damaged_bytes)" = 0 ] || fail "$1: the profile is damaged"
	[ "$(json info it.samples)" -gt 0 ] || fail "$1: the profile has no samples"
	rm -f p.vgp
}
no_space() {
	busy no_space
	injected ENOSPC
	injected EDQUOT
	alive "after ENOSPC and EDQUOT"
}
failing() {
	busy failing
	injected EIO
	injected EROFS
	alive "after EIO and EROFS"
}

# An interrupted write is repeated.
interrupted() {
	strace -o trace -P "$dir/p.vgp.part" -e trace=write -e inject=write:error=EINTR:when=1+2 \
		"$VIGNETTED" -p $busy -o p.vgp --rate 200 --duration 2 2>err || fail "EINTR: $(cat err)"
	grep -q EINTR trace || fail "no write was interrupted: $(cat trace)"
	ended p.vgp 'the duration limit was reached'
	"$VGTOOL" dump p.vgp >/dev/null 2>err && [ ! -s err ] || fail "EINTR left damage: $(cat err)"
}

# begun NAME STRACE_OPTION...: begins a recording of eight seconds under strace
begun() {
	name=$1; shift
	timeout -s KILL 120 strace -o trace.$name "$@" "$VIGNETTED" -p $busy -o $name.vgp --duration 8 2>err.$name &
}

# The helper requests a sync every five seconds.  At the end it starts the write-back of the file.  The helper waits for
# neither.  Without asynchronous I/O there are no syncs, only the write-back.  A disk that never completes a sync does
# not delay the end for long.
syncs() {
	busy syncs
	begun synced -e trace=io_submit,sync_file_range,fdatasync,fsync; synced=$!
	begun queueless -e trace=io_setup,sync_file_range -e inject=io_setup:error=ENOSYS; queueless=$!
	begun dead -e trace=io_getevents -e inject=io_getevents:retval=0; dead=$!
	wait $synced || fail "sync: $(cat err.synced)"
	wait $queueless || fail "sync without a queue: $(cat err.queueless)"
	wait $dead || fail "a dead disk: $(cat err.dead)"
	syncs=$(grep -c 'IOCB_CMD_FDSYNC.*= 1$' trace.synced) || true
	[ "$syncs" = $(($(info synced.vgp duration_ns) / 5000000000)) ] ||
		fail "not synced every five seconds: $(cat trace.synced)"
	[ "$(grep -c 'sync_file_range(.*SYNC_FILE_RANGE_WRITE) = 0' trace.synced)" = 1 ] ||
		fail "not written back once, at the end: $(cat trace.synced)"
	! grep -qE '^(fdatasync|fsync)' trace.synced || fail "waited for the disk: $(cat trace.synced)"
	[ "$(info synced.vgp syncs_failed)" = 0 ] || fail "a sync failed"
	grep -q 'sync_file_range(.*SYNC_FILE_RANGE_WRITE) = 0' trace.queueless ||
		fail "no write-back without a queue: $(cat trace.queueless)"
	ended dead.vgp 'the duration limit was reached'
	alive "after the syncs"
}

# A file system that becomes full, is full from the start, or is read-only; and a limit of the file size.
full() {
	busy full
	interrupted
	# A file system that is full.
	mkdir small
	mount -t tmpfs -o size=64k none small
	# The first second of samples fits, and the second does not.
	head -c 16000 /dev/zero >small/ballast
	status=0
	"$VIGNETTED" -p $busy -o small/p.vgp --rate 1500 --duration 600 2>err || status=$?
	[ $status = 1 ] || fail "full: status $status"
	grep -q 'No space left' err || fail "full: $(cat err)"
	[ -f small/p.vgp ] && [ ! -e small/p.vgp.part ] || fail "full: $(ls small)"
	ended small/p.vgp 'the disk is full'
	"$VGTOOL" info small/p.vgp 2>&1 >/dev/null | grep -q 'chunks are missing' || fail "full: vgtool info does not say that chunks are missing"
	alive "while the disk is full"

	# Full from the start
	rm small/p.vgp
	head -c 100000 /dev/zero >small/ballast 2>/dev/null || true
	status=0
	"$VIGNETTED" -p $busy -o small/p.vgp 2>err || status=$?
	[ $status = 1 ] && [ "$(wc -l <err)" = 1 ] || fail "full from the start: status $status, $(cat err)"
	[ ! -e small/p.vgp.part ] || fail "full from the start: a .part is left"

	# Read-only.  The finisher ends just after the helper, and until then the file system is busy.
	await 60 "the file system is read-only" mount -o remount,ro small
	status=0
	"$VIGNETTED" -p $busy -o small/p.vgp 2>err || status=$?
	[ $status = 1 ] || fail "read-only: status $status"
	grep -q 'small/p.vgp.part: cannot create: Read-only file system' err || fail "read-only: $(cat err)"

	# vignetted keeps the earlier content of the file, even if it cannot write the whole profile.
	echo "written before" >appended
	status=0
	(ulimit -f 80; exec "$VIGNETTED" -p $busy -o /dev/stdout --rate 1500 --duration 600 >>appended 2>err) || status=$?
	[ $status = 1 ] || fail "appended: status $status: $(cat err)"
	[ "$(head -n 1 appended)" = "written before" ] || fail "appended: the earlier content is lost"
	tail -c +16 appended >p.vgp
	ended p.vgp 'the process may not write larger files'
	alive "at the end"
}

side_by_side syncs no_space failing full
