#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Recordings and samples of one chosen thread.  The profile has this thread only.  The helper lists, reads and stops no
# other thread, and gives no other thread timers: strace shows it.  The recording ends with the thread.  A wrong thread
# is refused.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node strace python3
: "${VGCTL:?}"
program=$BUILDDIR/tests/recording/one_thread
capture=$(build_capture)
cd "$dir"

# run ARGUMENT...: starts the program with its input from descriptor 7.  Sets $host, and $chosen to the first id that
# the program prints; $line is the whole line.
run() {
	rm -f in
	mkfifo in
	: >out
	"$program" "$@" <in >out 7>&- & host=$!
	pids="$pids $host"
	exec 7>in
	await 120 "the program's line" grep -q . out
	read -r line <out
	chosen=${line%% *}
}

# slices TID: prints how many timeslices the thread of the program has had
slices() { awk '{ print $3 }' "/proc/$host/task/$1/schedstat"; }

# only PROFILE: fails unless the chosen thread is the only one in the profile, and has samples
only() {
	"$VGTOOL" dump "$1" >dump
	[ "$(sed -n 's/.*"kind":"thread",.*"tid":\([0-9]*\),.*/\1/p' dump)" = "$chosen" ] ||
		fail "$1 has other threads than $chosen: $("$VGTOOL" report --by thread "$1")"
	grep -q '"kind":"sample"' dump || fail "$1 has no samples"
}

# ---- what the helper does; the recording ends with the thread ----
run crowd 300
sleeper=${line##* }
before=$(slices "$sleeper")
strace -qq -o calls "$VIGNETTED" --pid "$host" --thread "$chosen" --rate 500 -o crowd.vgp 2>err & helper=$!
pids="$pids $helper"
await 600 "20 samples" holds crowd.vgp.part 'it.samples >= 20'
echo >&7
wait $helper || fail "the recording failed: $(cat err)"
grep -q '(the thread ended)$' err || fail "$(cat err)"
ended crowd.vgp "the thread ended"
only crowd.vgp
# When the thread has ended, the helper looks whether the process ends.  It notices the end when it opens or reads a
# file of the thread: the thread may still be a zombie.
sed "/\"$chosen\/stat\", .* = -1 ENOENT/q; /read.*\"$chosen ([^)]*) [ZX]/q; /^p*read.* = -1 ESRCH/q" calls >until_end
! cmp -s calls until_end || fail "strace does not show the end of the thread"
mv until_end calls
# Files of other threads, and the list of threads.
! grep -oE 'openat\([0-9]+, "[0-9]+/[a-z]+"' calls | grep -v "\"$chosen/" || fail "files of other threads were opened"
grep -q "openat([0-9]*, \"$chosen/" calls || fail "strace shows no file of the thread"
! grep 'getdents64([0-9]' calls || fail "threads were listed"
# Stops and timers.  The filter is checked with a PTRACE_DETACH of the helper itself.  If the thread ends before it
# stops, the helper asks whether the first thread is its tracee.
! grep -E '^ptrace\(' calls | grep -v "^ptrace(PTRACE_[A-Z_]*, $chosen[,)]\|^ptrace(PTRACE_[A-Z]*, .* = -1 ESRCH" ||
	fail "other threads were stopped"
! grep '^perf_event_open(' calls | grep -vE "\}, (0|$chosen), " || fail "other threads have timers"
# The kernel adds up the process's CPU time over all threads, so it is read at the begin only.
[ "$(grep -c '^clock_gettime(0x' calls)" -le 3 ] || fail "the process's CPU time was read at each tick"
[ "$(slices "$sleeper")" = "$before" ] || fail "a waiting thread was woken"
exec 7>&-
wait "$host"

# ---- the process ends; its first thread ends before ----
run crowd 3
"$VIGNETTED" --pid "$host" --thread "$chosen" -o process.vgp 2>err & helper=$!
pids="$pids $helper"
await 120 "a sample" holds process.vgp.part 'it.samples >= 1'
end "$host"
exec 7>&-
wait $helper || fail "the recording failed: $(cat err)"
# The thread's exit can be noticed before that of the process, on a busy machine long before.
grep -qE '\(the (process|thread) ended\)$' err || fail "$(cat err)"
only process.vgp
run leader
[ "$chosen" = "$host" ] || fail "the first thread is $chosen"
"$VIGNETTED" --pid "$host" --thread "$host" --capture "$capture" -o leader.vgp 2>err & helper=$!
pids="$pids $helper"
await 120 "a sample" holds leader.vgp.part 'it.samples >= 1'
echo >&7
wait $helper || fail "the recording failed: $(cat err)"
ended leader.vgp "the thread ended"
only leader.vgp
exits 1 "$VIGNETTED" --pid "$host" --thread "$host" -o none.vgp
has err "vignetted: process $host has no thread $host"
exec 7>&-
wait "$host"

# ---- threads that cannot be recorded ----
run crowd 1
exits 1 "$VIGNETTED" --pid "$host" --thread $$ -o none.vgp
has err "vignetted: process $host has no thread $$"
exits 2 "$VIGNETTED" --thread "$chosen" -o none.vgp
has err "nothing to record"
exits 2 "$VIGNETTED" --thread "$chosen" -o none.vgp -- true
has err "both --thread and a command"
[ -z "$(ls none.vgp* 2>/dev/null)" ] || fail "a refused recording left $(ls none.vgp*)"

# ---- vgtool record: an id is recorded; a name is reported ----
# On a busy machine a short recording may have no sample of the thread.
for seconds in 0.3 1 4 16 64; do
	reported "$VGTOOL" record --pid "$host" --thread "$chosen" --duration $seconds -o id.vgp || continue
	! grep -q chosen_work out || break
done
has out chosen_work
[ "$(grep -c '  function$' out)" = 1 ] || fail "a thread's table is there twice: $(cat out)"
only id.vgp
exits 0 "$VGTOOL" record --pid "$host" --thread one_thread --duration 0.3 -o name.vgp
[ "$(info name.vgp threads)" = 4 ] || fail "name.vgp has $(info name.vgp threads) threads"
exits 1 "$VGTOOL" record --pid "$host" --thread nobody --duration 0.1
has err "vgtool record: the recording: no thread nobody"
exits 1 "$VGTOOL" record --pid "$host" --thread $$ -o none.vgp
has err "process $host has no thread $$"
for others in "--pid $host,$$" "--pid $host --children" "-- true"; do
	exits 2 "$VGTOOL" record --thread "$chosen" $others
	has err "--thread $chosen: the id of a thread needs --pid with one process"
done
exec 7>&-
wait "$host"

# ---- the library: single samples, and sessions of one thread ----
# samples PROFILE FUNCTION: prints how many samples of the profile have the function
samples() {
	"$VGTOOL" resolve -s symbols "$1" -o named.vgp 2>log || fail "$1: $(cat log)"
	"$VGTOOL" folded --weight samples named.vgp |
		awk -v name="$2" 'index($0, name) { n += $NF } END { print n + 0 }'
}
libtool=$BUILDDIR/tests/recording/.libs/one_thread
[ -x "$libtool" ] || libtool=$program
"$VGTOOL" symbols -o symbols "$libtool" >log 2>&1 || fail "$(cat log)"
exits 0 "$program" sample sample.vgp
[ "$(samples sample.vgp wait_long)" = 7 ] || fail "sample.vgp: $(samples sample.vgp wait_long) samples of waits"
[ "$(samples sample.vgp sample_here)" = 1 ] || fail "sample.vgp: $(samples sample.vgp sample_here) samples of the call"
# A sample is lost if the thread must be stopped and does not stop in time.  On a busy machine this is possible even for
# a waiting thread.
for try in 1 2 3 4 5 6 7 8 9 10; do
	exits 0 "$program" rate rate.vgp
	[ "$(samples rate.vgp wait_long)" -lt 140 ] || break
done
[ "$(samples rate.vgp wait_long)" -ge 140 ] ||
	fail "rate.vgp: $(samples rate.vgp wait_long) samples of waits; expected at least 140"
exits 0 "$program" option option.vgp
ended option.vgp "the thread ended"
# intervals PROFILE: prints the labels of the profile's intervals, each once
intervals() {
	"$VGTOOL" summary --json "$1" >summary.json
	grep -o 'of the [a-z]* thread' summary.json | sort -u | tr '\n' ,
}
[ "$(intervals option.vgp)" = "of the chosen thread," ] || fail "option.vgp has the intervals $(intervals option.vgp)"
[ "$(intervals all.vgp)" = "of the busy thread,of the chosen thread," ] || fail "all.vgp: $(intervals all.vgp)"

# ---- a helper of the first release ----
cat >helper <<'END'
#!/usr/bin/python3
import socket, struct
s = socket.socket(fileno=3)
send = lambda kind, body: s.send(struct.pack("=IHH", 0x77696776, 4, kind) + body)
send(1, struct.pack("=HH", 4, 4) + bytes(252))
while True:
    got = s.recv(1000)
    if not got:
        break
    magic, version, kind = struct.unpack("=IHH", got[:8])
    assert version == 4
    send({2: 3, 4: 5, 6: 7}[kind], bytes(256))
END
chmod 755 helper
VIGNETTED=$dir/helper exits 0 "$program" old old.vgp

# ---- vgctl ----
run=$dir/sockets
mkdir -m 700 "$run"
vgctl() { timeout $life_s "$VGCTL" --directory "$run" "$@"; }
run listen "$run"
vgctl begin "$host" -o remote.vgp --rate 500 --thread "$chosen" >/dev/null
vgctl begin "$host" -o others.vgp --rate 500 >/dev/null
await 120 "20 samples" holds remote.vgp.part 'it.samples >= 20'
echo >&7
await 120 "intervals of both threads" grep -q steps out
vgctl mark "$host" moment
vgctl end "$host" 2 >log
vgctl end "$host" 1 >log
only remote.vgp
[ "$(intervals remote.vgp)" = "of the chosen thread," ] || fail "remote.vgp has the intervals $(intervals remote.vgp)"
[ "$(intervals others.vgp)" = "of the busy thread,of the chosen thread," ] || fail "others.vgp: $(intervals others.vgp)"
! vgctl begin "$host" -o none.vgp --thread $$ 2>err || fail "vgctl began a recording of another process's thread"
grep -q "has no thread $$" err || fail "$(cat err)"
exec 7>&-
wait "$host"
