#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What a disk can do to a profile: it is slow, full, read-only, or fails.  The recording ends with a
# reason, what was written stays readable, and the program that is recorded goes on.  And the file is
# synced, without waiting.
#
# Needs strace.
set -eu
. "${SRCDIR:?}/tests/namespace.sh"
. "${SRCDIR:?}/tests/lib.sh"
at_end() {
	cd /
	umount -l "$dir/small" "$dir/memory" 2>/dev/null
}
cd "$dir"

# Many stacks, so that the file grows; and a process that shows by its count that it lives.  The count is in memory:
# a disk that discards blocks holds up who truncates a file for seconds.
mkdir memory
mount -t tmpfs none memory
sh -c 'n=0; while :; do n=$((n + 1)); [ $((n % 1000)) = 0 ] && echo $n >'"$dir/memory/count"'; done' &
busy=$!
pids=$busy

# alive WHEN: the process still counts
alive() {
	before=$(cat memory/count)
	await 60 "the process counts, $1" counts
}
counts() { [ "$(cat memory/count)" != "$before" ]; }

# injected FAULT REASON: one that the kernel reports from the third chunk on
injected() {
	status=0
	strace -o trace -P "$dir/p.vgp.part" -e trace=write -e inject=write:error="$1":when=3+ \
		"$VIGNETTED" -p $busy -o p.vgp --rate 200 --duration 30 2>err || status=$?
	[ $status = 1 ] || fail "$1: status $status: $(cat err)"
	[ "$(wc -l <err)" = 1 ] || fail "$1: not one sentence: $(cat err)"
	grep -q 'p.vgp is not whole' err || fail "$1: $(cat err)"
	"$VGTOOL" info --json p.vgp >info 2>err || fail "$1: the profile cannot be read: $(cat err)"
	[ "$(json info it.damaged_bytes)" = 0 ] || fail "$1: the profile is damaged"
	[ "$(json info it.samples)" -gt 0 ] || fail "$1: the profile has no samples"
	rm -f p.vgp
}
injected ENOSPC
injected EDQUOT
injected EIO
injected EROFS

# Interrupted again and again, it writes all the same.
strace -o trace -P "$dir/p.vgp.part" -e trace=write -e inject=write:error=EINTR:when=1+2 \
	"$VIGNETTED" -p $busy -o p.vgp --rate 200 --duration 2 2>err || fail "EINTR: $(cat err)"
grep -q EINTR trace || fail "EINTR was never met: $(cat trace)"
ended p.vgp 'the duration limit was reached'
"$VGTOOL" dump p.vgp >/dev/null 2>err && [ ! -s err ] || fail "EINTR left damage: $(cat err)"

# A file system that is full.
mkdir small
mount -t tmpfs -o size=64k none small
head -c 48000 /dev/zero >small/ballast
status=0
"$VIGNETTED" -p $busy -o small/p.vgp --rate 5000 --duration 60 2>err || status=$?
[ $status = 1 ] || fail "full: status $status"
grep -q 'No space left' err || fail "full: $(cat err)"
[ -f small/p.vgp ] && [ ! -e small/p.vgp.part ] || fail "full: $(ls small)"
ended small/p.vgp 'the disk is full'
"$VGTOOL" info small/p.vgp 2>&1 >/dev/null | grep -q 'chunks are missing' || fail "full: nothing is said of what is missing"
alive full

# From the start.
rm small/p.vgp
head -c 100000 /dev/zero >small/ballast 2>/dev/null || true
status=0
"$VIGNETTED" -p $busy -o small/p.vgp 2>err || status=$?
[ $status = 1 ] && [ "$(wc -l <err)" = 1 ] || fail "full from the start: status $status, $(cat err)"
[ ! -e small/p.vgp.part ] || fail "full from the start: a .part is left"

# Read-only.
# The child that would have named the file ends just after its parent.
await 60 "the file system is read-only" mount -o remount,ro small
status=0
"$VIGNETTED" -p $busy -o small/p.vgp 2>err || status=$?
[ $status = 1 ] || fail "read-only: status $status"
grep -q 'cannot create small/p.vgp.part: Read-only file system' err || fail "read-only: $(cat err)"

# What stands in the file already is others', also when there is no room for ours.
echo "written before" >appended
status=0
(ulimit -f 40; exec "$VIGNETTED" -p $busy -o /dev/stdout --rate 5000 --duration 60 >>appended 2>err) || status=$?
[ $status = 1 ] || fail "appended: status $status: $(cat err)"
[ "$(head -n 1 appended)" = "written before" ] || fail "appended: what was there is gone"
tail -c +16 appended >p.vgp
ended p.vgp 'the process may not write larger files'

# begun NAME STRACE_OPTION...: such a recording of eight seconds, beside the others
begun() {
	name=$1; shift
	timeout -s KILL 120 strace -o trace.$name "$@" "$VIGNETTED" -p $busy -o $name.vgp --duration 8 2>err.$name &
}

# Synced every five seconds, and written at the end; asked of the kernel, and not waited for.  Where it has
# no queue, or none left, writing is begun.  A disk that answers to no sync holds nobody up for long.
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
	fail "the end: $(cat trace.synced)"
! grep -qE '^(fdatasync|fsync)' trace.synced || fail "waited for the disk: $(cat trace.synced)"
[ "$(info synced.vgp syncs_failed)" = 0 ] || fail "a sync failed"
grep -q 'sync_file_range(.*SYNC_FILE_RANGE_WRITE) = 0' trace.queueless ||
	fail "no sync without a queue: $(cat trace.queueless)"
ended dead.vgp 'the duration limit was reached'
alive "in the end"
