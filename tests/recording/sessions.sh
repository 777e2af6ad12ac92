#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Several sessions of one process at a time, and vgctl(1): both profiles are right, one stop serves
# both, a session from outside comes and goes, and what a stranger, a client that dies, garbage and the
# program's own death do.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
: "${VGCTL:?}"
WIRE=$(wire_version)
export WIRE
chmod 755 "$dir"
cd "$dir"
run=$dir/run
vgctl() { timeout 60 "$VGCTL" --directory "$run" "$@"; }

# What the program said last is in the log.
at_end() {
	exec 7>&-
	cat out
}

# said LINE: the program has said so
said() {
	await 60 "the program says $1: $(cat out)" grep -qx "$1" out
}

# socket_gone FILE: for await
socket_gone() { [ ! -e "$1" ]; }

# start STOP: a program that listens, whose commands are written to descriptor 7
start() {
	rm -rf "$run" in ./*.vgp ./*.part
	mkfifo in
	: >out
	timeout 300 "$BUILDDIR/tests/recording/sessions" "$run" "$1" own.vgp <in >out 2>&1 7>&- &
	exec 7>in
	said "listen ok"
	host=$(basename "$run"/*.sock .sock)
	pids=$host
	[ "$(stat -c %a "$run")" = 700 ] || fail "the directory is open to others"
	[ "$(stat -c %a "$run/$host.sock")" = 600 ] || fail "the socket is open to others"
}

# helper_pid: of the program's helper, by its socket
helper_pid() {
	for fd in /proc/[0-9]*/fd/3; do
		pid=${fd#/proc/}; pid=${pid%%/*}
		[ "$(readlink "/proc/$pid/exe" 2>/dev/null)" = "$(readlink -f "$VIGNETTED")" ] || continue
		[ "$(cat "/proc/$pid/comm")" = vignetted ] || continue # not the finisher
		readlink "/proc/$pid/fd/"* 2>/dev/null | grep -qx "$run" && echo "$pid"
	done
	return 0
}

# used PID: its CPU time, in clock ticks
used() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }

# computed SECONDS: the program has had so much CPU time since $used_before, on however busy a machine
computed() { [ "$(used "$host")" -ge $((used_before + $1 * $(getconf CLK_TCK))) ]; }

# between VALUE LEAST MOST WHAT
between() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ] || fail "$4: $1 is not $2 to $3"; }

# right FILE HZ: whole; counts as its rate, its length and the program's CPU time say, less what it says it lost; shares
right() {
	"$VGTOOL" info "$1" >log 2>&1 || fail "$1 is no profile: $(cat log)"
	samples=$(info "$1" samples)
	ms=$(($(info "$1" duration_ns) / 1000000))
	lost=$(info "$1" 'lost.ticks_skipped ?? 0')
	due=$((2 * $2 * ms / 1000))
	# A thread that waits for a CPU on a busy machine is not sampled by interrupts meanwhile.
	between $((samples + 2 * lost)) $((due / 2)) $((due * 11 / 10 + 8)) "$1: samples and lost ones"
	between "$(info "$1" stacks_complete)" $((samples * 95 / 100)) "$samples" "$1: complete stacks"
	"$VGTOOL" resolve -s "$dir/symbols" -o named.vgp "$1" 2>log || fail "$1: $(cat log)"
	"$VGTOOL" folded --weight samples named.vgp >folded
	long=$(awk '/spin_long/ { sum += $NF } END { print sum + 0 }' folded)
	short=$(awk '/spin_short/ { sum += $NF } END { print sum + 0 }' folded)
	# The program computed for two seconds: half of those samples at least.
	[ $((long + short)) -gt 0 ] && [ $((long + short + lost)) -ge "$2" ] ||
		fail "$1: $long and $short of $samples: the functions are hardly in it"
	# Four standard deviations of so many samples, and what a busy machine adds.
	slack=$(awk -v n=$((long + short)) 'BEGIN { print 4 + int(196 / sqrt(n)) }')
	between $((100 * long / (long + short))) $((60 - slack)) $((60 + slack)) "$1: share of spin_long"
	rm named.vgp
}

libtool=$BUILDDIR/tests/recording/.libs/sessions
[ -x "$libtool" ] || libtool=$BUILDDIR/tests/recording/sessions
"$VGTOOL" symbols -o symbols "$libtool" >log 2>&1 || fail "$(cat log)"

# ---- two at a time, by stops and by whatever is best here ----
for stop in 1 0; do
	start $stop
	[ "$(vgctl list | grep -c "^$host  .*  0 sessions$")" = 1 ] || fail "list: $(vgctl list)"
	echo begin >&7
	said "begin ok"
	id=$(vgctl begin "$host" -o outside.vgp --rate 499)
	[ "$id" = 2 ] || fail "begin says $id"
	[ -e outside.vgp.part ] || fail "there is no .part"
	used_before=$(used "$host")
	await 200 "the program computes for two seconds" computed 2
	vgctl mark "$host" "half time"
	[ "$(vgctl status "$host" | wc -l)" = 3 ] || fail "status: $(vgctl status "$host")"
	! vgctl end "$host" 1 2>log || fail "the program's own session was ended from outside"
	vgctl end "$host" >log
	[ ! -e outside.vgp.part ] || fail "the .part is left"
	before=$(info own.vgp.part duration_ns)
	await 60 "the program's session goes on" holds own.vgp.part "it.duration_ns > $before"
	vgctl status "$host" | grep -q '^  1  program' || fail "the program's session did not go on"
	echo end >&7
	said "end ok"
	right own.vgp 99
	right outside.vgp 499
	for file in own outside; do
		[ "$(records $file.vgp 'JSON.stringify(it).includes("half time")')" = true ] || fail "$file: no mark"
	done
	# One thread runs: a stop a tick, and a few for the one that sleeps.
	ticks=$(($(info outside.vgp samples) / 2))
	stops=$(info outside.vgp stops)
	[ "$stops" -le $((ticks + 10)) ] || fail "$stops stops in $ticks ticks"
	[ $stop = 0 ] || between "$stops" $((ticks / 2)) $((ticks + 10)) "stops"
	exec 7>&-
	await 60 "the socket goes" socket_gone "$run/$host.sock"
	wait
done

# ---- of a process that does nothing at all, a second recording knows the threads too ----
start 0
kill -STOP "$host"
vgctl begin "$host" -o first.vgp >/dev/null
await 60 "the first recording repeats its samples" holds first.vgp.part 'it.samples_repeated > 4'
id=$(vgctl begin "$host" -o second.vgp)
await 60 "the second recording has samples" holds second.vgp.part 'it.samples > 4'
vgctl end "$host" "$id" >log
[ "$(info second.vgp threads)" = "$(info first.vgp.part threads)" ] || fail "the second recording has $(info second.vgp threads) threads"
kill -CONT "$host"
vgctl end "$host" >log
exec 7>&-
await 60 "the socket goes" socket_gone "$run/$host.sock"
wait

# ---- four and no more; a client that dies; garbage; a stranger ----
start 0
for i in 1 2 3 4; do
	vgctl begin "$host" -o "n$i.vgp" --rate 49 --thread-names >/dev/null
done
! vgctl begin "$host" -o n5.vgp 2>log || fail "a fifth session was begun"
grep -q 'the most' log || fail "of the fifth: $(cat log)"
[ ! -e n5.vgp.part ] || fail "of the fifth a .part is left"
! vgctl end "$host" 2>log || fail "one of four was ended without saying which"
grep -q 'several sessions from outside: say which$' log || fail "of four: $(cat log)"
vgctl end "$host" 3 >log
[ -e n3.vgp ] || fail "n3.vgp has no name"
# What is no message, too short, too long, of another version; and silence, more than there is room for.
timeout 60 /usr/bin/python3 - "$run/$host.sock" <<'END' || fail "garbage"
import os, random, socket, struct, sys
def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])          # waits while the backlog is full, which it would not with a timeout
    s.settimeout(10)
    return s
def closed(data, fds=()):
    s = connect()
    socket.send_fds(s, [data], fds) if fds else s.send(data)
    try:
        answer = s.recv(4096)
    except ConnectionResetError:
        answer = b""
    s.close()
    return answer
head = lambda kind, version=int(os.environ["WIRE"]): struct.pack("=IHH", 0x77696776, version, kind)
random.seed(1)
assert closed(b"x") == b""
assert closed(bytes(264)) == b""
assert closed(head(33) + bytes(300)) == b""
assert closed(head(33, 9) + bytes(256)) == b""
for kind in (1, 2, 3, 4, 6, 21, 30, 32, 99):
    assert closed(head(kind) + bytes(256)) == b"", kind
for i in range(200):
    closed(random.randbytes(random.randint(1, 600)))
    closed(head(random.randint(33, 39)) + random.randbytes(256))
    # A begin with files that are none, and with a real one and nonsense.
    null = os.open("/dev/null", os.O_RDWR)
    here = os.open(".", os.O_RDONLY)
    closed(head(35) + random.randbytes(256), (null, here))
    closed(head(35) + bytes(88) + b"../x" + bytes(164), (null,))
    os.close(null)
    os.close(here)
# A question without the answer being read; and connections that say nothing.
for i in range(50):
    s = connect()
    s.send(head(33) + bytes(256))
    s.close()
silent = [connect() for i in range(40)]
for s in silent:
    s.close()
END
await 60 "the helper answers still" vgctl status "$host"
vgctl status "$host" >log
grep -q ' outside ' log || fail "the sessions are gone: $(cat log)"
# three_left: ends the sessions of killed clients; those are left that were there before
three_left() {
	vgctl status "$host" >status || return 1
	for killed in $(awk '$2 == "outside" && $1 > 4 { print $1 }' status); do
		vgctl end "$host" "$killed" || true
		return 1
	done
	[ "$(grep -c outside status)" = 3 ]
}
# A client that is killed when its session has begun, or before.  Each sleep is a moment to be tried, not a wait.
for ms in 0 1 2 4 8 16; do
	"$VGCTL" --directory "$run" begin "$host" -o killed.vgp >/dev/null 2>&1 & client=$!
	sleep "0.0$(printf %02d $ms)"
	kill -9 $client 2>/dev/null || true
	wait $client 2>/dev/null || true
	await 60 "three sessions are left" three_left
done
# The directory keeps strangers out; were it open, the helper would.
if [ "$(id -u)" = 0 ]; then
	stranger="setpriv --reuid 65534 --regid 65534 --clear-groups"
	cp "$VGCTL" vgctl.copy
	chmod 755 vgctl.copy
	! $stranger ./vgctl.copy --directory "$run" status "$host" 2>log || fail "a stranger was let in"
	grep -q 'Permission denied' log || fail "of the stranger: $(cat log)"
	chmod 755 "$run"
	chmod 777 "$run/$host.sock"
	! $stranger ./vgctl.copy --directory "$run" status "$host" 2>log || fail "a stranger was served"
	grep -q 'another user' log || fail "of the stranger: $(cat log)"
	cat >stranger.py <<'END'
import socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
s.settimeout(10)
try:
    s.send(struct.pack("=IHH", 0x77696776, 2, 33) + bytes(256))
    answer = s.recv(4096)
except (ConnectionResetError, BrokenPipeError):
    answer = b""
sys.exit(0 if answer == b"" else 1)
END
	chmod 644 stranger.py
	$stranger /usr/bin/python3 stranger.py "$run/$host.sock" || fail "the helper answers a stranger"
	vgctl status "$host" >log || fail "and then nobody: $(cat log)"
	chmod 700 "$run"
fi

# ---- flight recorders: the program's, others', which one ----
exec 7>&-
wait
start 0
# refused SENTENCE DUMP-ARGUMENT ...: and nothing is left behind
refused() {
	sentence=$1
	shift
	! vgctl dump "$@" 2>log || fail "dump $*: no error"
	grep -q "$sentence" log || fail "dump $*: $(cat log)"
	[ ! -e x.vgp ] && [ ! -e x.vgp.part ] || fail "dump $*: a file is left"
}
# dumped FILE [ID]: from here, and how long that took
dumped() {
	took=$(date +%s)
	vgctl dump "$host" "$@" >log 2>&1 || return 1
	took=$(($(date +%s) - took))
}
# kept FILE SECONDS: whole, asked for from here, of so many seconds and no more but for its writing
kept() {
	ended "$1" "it was asked for from outside"
	[ "$(info "$1" damaged_bytes)" = 0 ] || fail "$1 is damaged"
	span=$("$VGTOOL" info "$1" | sed -n 's/^kept *the last \([0-9]*\).*/\1/p')
	between "${span:-0}" $(($2 - 1)) $(($2 + took)) "$1: seconds"
	[ "$(info "$1" samples)" -gt 20 ] || fail "$1 has hardly a sample"
	[ "$(stat -c %a "$1")" = 600 ] || fail "$1 is open to others"
}
refused "has no flight recorder" "$host" x.vgp
refused "no helper listens" 1 x.vgp
vgctl --directory nowhere list >log 2>&1 && [ ! -s log ] || fail "list of nowhere: $(cat log)"
! vgctl --directory nowhere status 1 2>log || fail "status in no directory"
grep -q 'no helper listens for process 1 (there is no nowhere)$' log || fail "in no directory: $(cat log)"
! vgctl end "$host" 2>log || fail "what is there to end"
grep -q 'has no session from outside$' log || fail "of none: $(cat log)"
! vgctl begin "$host" -o x.vgp --flight-memory 2000000 2>log || fail "memory for no flight recorder"
grep -q 'there is no --flight$' log || fail "of no flight recorder: $(cat log)"
echo flight >&7
said "flight ok"
vgctl status "$host" | grep -q '^  1  program .* keeps 2 s$' || fail "status: $(vgctl status "$host")"
id=$(vgctl begin "$host" -o outside.vgp --flight 3 --rate 4999)
[ "$(vgctl begin "$host" -o plain.vgp)" = 3 ] || fail "the third session is not number 3"
! vgctl begin "$host" -o x.vgp --flight 3 --duration 5 2>log || fail "a flight recorder with a duration"
! vgctl begin "$host" -o x.vgp --flight 3 --flight-memory 9999999999 2>log || fail "too much memory"
grep -q 'more than half' log || fail "of too much memory: $(cat log)"
# More than both windows: what is older than a window is not in a dump.
sleep 4
refused "there are several" "$host" x.vgp
refused "is no flight recorder" "$host" x.vgp 3
refused "no session has that number" "$host" x.vgp 9
refused "no regular file" "$host" /dev/full 1
refused "nowhere" "$host" nowhere/x.vgp 1
dumped one.vgp 1 || fail "dump: $(cat log)"
grep -qE '^the last [0-9]+\.[0-9] s: [0-9]+ samples of 2 threads, [0-9]+ bytes$' log || fail "dump says $(cat log)"
kept one.vgp 2
dumped two.vgp "$id" || fail "dump: $(cat log)"
kept two.vgp 3
# Two at a time; and who hangs up and does not wait for the end.
timeout 60 /usr/bin/python3 - "$run/$host.sock" "$(helper_pid)" "$id" <<'END' || fail "two dumps at a time"
import os, signal, socket, struct, sys, time
head = lambda kind: struct.pack("=IHH", 0x77696776, int(os.environ["WIRE"]), kind)
def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    s.settimeout(20)
    s.send(head(33) + bytes(256))       # it is served now
    s.recv(4096)
    return s
def dump(s, name):
    fd = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
    socket.send_fds(s, [head(20) + struct.pack("=I", int(sys.argv[3])) + bytes(252)], [fd])
    os.close(fd)
pair = [connect(), connect()]
os.kill(int(sys.argv[2]), signal.SIGSTOP)
dump(pair[0], "a")
dump(pair[1], "b")
os.kill(int(sys.argv[2]), signal.SIGCONT)
answers = [s.recv(4096) for s in pair]
kinds = sorted(struct.unpack("=IHH", a[:8])[2] for a in answers)
assert kinds == [8, 21], kinds
assert b"in progress" in answers[0] + answers[1]
# Marks: one label for ever is one label; of many the helper says when there is no room.
s = connect()
def mark(text):
    s.send(head(38) + text.ljust(256, b"\0"))
    return struct.unpack("=IHH", s.recv(4096)[:8])[2]
assert all(mark(b"again") == 39 for i in range(5000))
assert mark(b"another") == 39
assert [mark(b"%d" % i) for i in range(5000)].count(8) > 800
assert mark(b"again") == 39
for i in range(10):
    s = connect()
    dump(s, "a")
    s.close()
    connect().close()
# Without a file; with one that could make the helper wait.
s = connect()
s.send(head(20) + bytes(256))
assert struct.unpack("=IHH", s.recv(4096)[:8])[2] == 8
null = os.open("/dev/null", os.O_RDWR)
socket.send_fds(s, [head(20) + struct.pack("=I", 1) + bytes(252)], [null])
assert struct.unpack("=IHH", s.recv(4096)[:8])[2] == 8
END
# dump_ready: a dump is no more in progress, whether it is one or the sentence why there is none
dump_ready() { dumped two.vgp "$id" || ! grep -q 'in progress' log; }
await 60 "the dump is in progress no more" dump_ready
[ -e two.vgp ] && grep -q '^the last' log || fail "after those: $(cat log)"
kept two.vgp 3
vgctl end "$host" "$id" >log
ended outside.vgp "it was ended from outside"
id=$(vgctl begin "$host" -o outside.vgp --flight 2)
# sampled ID: that session has samples
sampled() { vgctl status "$host" | awk -v id="$1" '$1 == id && $0 !~ / 0 samples/ { found = 1 } END { exit !found }'; }
await 60 "the session has samples" sampled "$id"
kill -9 "$host"
exec 7>&-
for file in outside.vgp own.vgp.part; do
	await 60 "$file of the dead program is whole" holds $file 'it.end_reason !== null'
	ended $file "the process ended"
done
wait

# ---- the program is killed ----
start 0
for i in 1 2 4; do
	vgctl begin "$host" -o "n$i.vgp" --rate 49 --thread-names >/dev/null
done
echo begin >&7
said "begin ok"
helper=$(helper_pid)
[ -n "$helper" ] || fail "no helper is found"
kill -9 "$host"
await 60 "the helper ends with the program" gone "$helper"
pids=
exec 7>&-
for file in n1.vgp n2.vgp n4.vgp own.vgp.part; do
	holds $file 'it.end_reason === "the process ended"' || fail "$file: $(cat "$dir/holds" "$dir/log.holds")"
done
[ -z "$(ls "$run")" ] || fail "the socket outlived the program"

# ---- a helper that is killed has its socket removed by its finisher ----
: >"$run/12.sock"
start 0
kill -9 "$(helper_pid)"
await 60 "the killed helper's socket goes" socket_gone "$run/$host.sock"
exec 7>&-
wait

# ---- where both are killed, the next helper removes it ----
start 0
stale=$host
helper=$(helper_pid)
killed="$(cat "/proc/$helper/task/$helper/children") $helper"
kill -9 $killed
for process in $killed; do await 60 "process $process ends" gone "$process"; done
[ -e "$run/$stale.sock" ] || fail "the killed helper's socket is gone: nothing is tried here"
! vgctl status "$stale" 2>log || fail "nobody answers"
exec 7>&-
wait
mkfifo in2
: >out
timeout 300 "$BUILDDIR/tests/recording/sessions" "$run" 0 own.vgp <in2 >out 2>&1 7>&- &
exec 7>in2
said "listen ok"
[ ! -e "$run/$stale.sock" ] || fail "the dead helper's socket is left"
pids=
exec 7>&-
wait

# ---- a file that somebody takes away; and a program that listens no more, and records on ----
start 0
vgctl begin "$host" -o away.vgp >/dev/null
rm away.vgp.part
vgctl end "$host" >log 2>&1 || fail "taken away: $(cat log)"
"$VGTOOL" info --json away.vgp >log || fail "what was recorded is not kept"
# The vgctl that is to rename the file is killed: the recording ends there, and the next one has its place.
vgctl begin "$host" -o orphan.vgp >/dev/null
for fd in /proc/[0-9]*/fd/*; do
	[ "$(readlink "$fd" 2>/dev/null)" = "$dir/orphan.vgp.part" ] || continue
	pid=${fd#/proc/}; pid=${pid%%/*}
	[ "$(cat "/proc/$pid/comm")" != vgctl ] || kill -9 "$pid"
done
no_outside() { ! vgctl status "$host" | grep -q outside; }
await 60 "a recording without its vgctl ends" no_outside
holds orphan.vgp.part 'it.end_reason === "the vgctl that began it was killed"' || fail "orphan.vgp: $(cat "$dir/holds")"
[ ! -e orphan.vgp ] || fail "a killed vgctl renamed a file"
vgctl begin "$host" -o others.vgp >/dev/null
# Connections that say nothing, more than there are places, keep out neither the program nor vgctl.
/usr/bin/python3 - "$run/$host.sock" <<'END' >idle 2>&1 &
import signal, socket, sys, time
silent = []
for i in range(20):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    silent.append(s)
    time.sleep(0.01)                # so that the helper takes each
print("connected", flush=True)
signal.pause()
END
idle=$!
pids="$pids $idle"
await 60 "the idle connections: $(cat idle)" grep -q connected idle
echo begin >&7
said "begin ok"
vgctl status "$host" | grep -q ' outside ' || fail "status beside idle connections: $(vgctl status "$host" 2>&1)"
stopped $idle
echo unlisten >&7
said "unlisten ok"
await 60 "others.vgp, which nobody is left to end, is ended" test -e others.vgp
holds others.vgp 'it.end_reason === "the program listens no more"' || fail "others.vgp: $(cat "$dir/holds")"
before=$(info own.vgp.part file_bytes)
await 60 "the program's own session goes on" holds own.vgp.part "it.file_bytes > $before"
echo end >&7
said "end ok"
"$VGTOOL" info own.vgp >/dev/null || fail "own.vgp"
pids=
exec 7>&-
wait

# ---- a directory that others may enter, or that cannot be ----
mkdir -m 755 open
for bad in open /proc/nothing; do
	"$BUILDDIR/tests/recording/sessions" "$bad" 0 </dev/null >out 2>&1 && fail "$bad is listened in"
	grep -q '^listen ' out || fail "no sentence for $bad"
done
