#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Several recordings of one process at the same time, and vgctl(1).  Profiles are right, one stop serves all recordings,
# and remote recordings begin and end.  Other users, killed clients, invalid messages and the program's own death do no
# harm.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node /usr/bin/python3
: "${VGCTL:?}"
WIRE=$(wire_version)
export WIRE
chmod 755 "$dir"
top=$dir

# holders FILE: prints the pids of the processes that have the file open
holders() {
	find /proc/[0-9]*/fd -lname "$1" 2>/dev/null | cut -d / -f 3 | sort -u
}

vgctl() { timeout $life_s "$VGCTL" --directory "$run" "$@"; }

# The log ends with what the programs printed.
at_end() {
	cat "$top"/*/out
}

# answers LINE: waits until the program has printed that line
answers() {
	await 120 "the program prints $1: $(cat out)" grep -qx "$1" out
}

# removed FILE: whether the file does not exist
removed() { [ ! -e "$1" ]; }

# start STOP [NAP_MS]: starts a listening program; its commands are written to descriptor 7
start() {
	run=$dir/run
	rm -rf "$run" in ./*.vgp ./*.part
	mkfifo in
	: >out
	timeout $life_s "$BUILDDIR/tests/recording/sessions" "$run" "$1" own.vgp "${2-0}" <in >out 2>&1 7>&- &
	exec 7>in
	answers "listen ok"
	host=$(basename "$run"/*.sock .sock)
	pids=$host
	[ "$(stat -c %a "$run")" = 700 ] || fail "other users can enter the directory"
	[ "$(stat -c %a "$run/$host.sock")" = 600 ] || fail "other users can connect to the socket"
}

# between VALUE LEAST MOST WHAT: fails unless the value is between LEAST and MOST
between() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ] || fail "$4: $1 is not $2 to $3"; }

# right FILE HZ: fails unless the profile has the rate, its samples cover the time of both threads, and the two
# functions have the right shares
right() {
	"$VGTOOL" info --json "$1" >info 2>log || fail "$1 is no profile: $(cat log)"
	"$VGTOOL" resolve -s "$top/symbols" -o named.vgp "$1" 2>log || fail "$1: $(cat log)"
	"$VGTOOL" folded --weight samples named.vgp >folded
	"$VGTOOL" folded --weight wall named.vgp >folded.wall
	"$VGTOOL" folded --weight cpu named.vgp >folded.cpu
	eval "$(json info '"samples=" + it.samples + " complete=" + it.stacks_complete + " ms=" + (it.duration_ns / 1e6 | 0) +
		" hz=" + Math.round(1e9 / it.period_ns) + " stops=" + it.stops + " timers=" + it.timer_samples +
		" lost=" + Object.values(it.lost).reduce((sum, one) => sum + one, 0)')"
	[ "$hz" = "$2" ] || fail "$1: the rate is $hz, not $2"
	# A sample is due in each period of each thread.  A recording never takes more, whenever the helper runs.
	between "$samples" 1 $((2 * $2 * ms * 11 / 10000 + 8)) "$1: samples"
	between "$complete" $((samples * 95 / 100)) "$samples" "$1: complete stacks"
	# Late samples have more wall time.  Together all samples have the time of both threads.
	wall_ms=$(awk '{ sum += $NF } END { printf "%d", sum / 1e3 }' folded.wall)
	between "$wall_ms" $((2 * ms * 99 / 100 - 20)) $((2 * ms * 101 / 100 + 20)) "$1: milliseconds of wall time"
	running=$(awk '/spin_(long|short)/ { sum += $NF } END { print sum + 0 }' folded)
	# The program had one second of CPU time.  Timers take samples by CPU time.  Ticks that are skipped are counted.
	[ "$running" -gt 0 ] && [ $((running + lost)) -ge $(($2 / 2)) ] ||
		fail "$1: only $running of $samples samples are in the functions, $lost are lost; expected $(($2 / 2))"
	# The share of CPU time is random.  Its standard deviation is less than 49 / sqrt(samples) points, for one sample in
	# each period of CPU time.  6.1 standard deviations are exceeded with a probability of 1e-9.  The CPU time of a lost
	# sample belongs to one of the others, in either function.
	set -- "$1" "$2" $(awk -v n=$running -v hz="$2" -v lost=$lost 'BEGIN { sum["l"] = sum["s"] = 0 }
		/spin_long/ { sum["l"] += $NF } /spin_short/ { sum["s"] += $NF }
		END { printf "%d %d", 100 * sum["l"] / (sum["l"] + sum["s"]),
			2 + 300 / sqrt(n < hz ? n : hz) + 100 * lost / hz }' folded.cpu)
	between "$3" $((60 - $4)) $((60 + $4)) "$1: share of spin_long, $lost samples lost"
	rm named.vgp
}

libtool=$BUILDDIR/tests/recording/.libs/sessions
[ -x "$libtool" ] || libtool=$BUILDDIR/tests/recording/sessions
"$VGTOOL" symbols -o "$top/symbols" "$libtool" >"$top/log" 2>&1 || fail "$(cat "$top/log")"

# ---- recordings at the same time, with stops only, and with timers ----
# cpu_right FILE: fails unless the samples of this recording of CPU time are of the running thread, and have its CPU
# time
cpu_right() {
	[ "$(records "$1" 'new Set(it.filter((one) => one.kind === "sample").map((one) => one.thread)).size')" = 1 ] ||
		fail "$1: samples of the sleeping thread"
	"$VGTOOL" folded --weight cpu "$1" >folded.cpu
	cpu_ms=$(awk '{ sum += $NF } END { printf "%d", sum / 1e3 }' folded.cpu)
	[ "$cpu_ms" -ge 900 ] || fail "$1: $cpu_ms ms of CPU time in samples; expected one second"
	"$VGTOOL" info --json "$1" >info
	[ "$cpu_ms" -le $(($(info_value duration_ns) / 1000000 + 20)) ] || fail "$1: $cpu_ms ms of CPU time: $(cat info)"
}

# A starved helper may answer late.
listed_idle() { [ "$(vgctl list | grep -c "^$host  .*  0 recordings$")" = 1 ]; }
cpu_grown() {
	"$VGTOOL" report --json --weight cpu cpu.vgp.part >report 2>/dev/null &&
		[ "$(json report 'it.cpu_ns >= 900e6')" = true ]
}
two() {
	rounds="1 0"
	[ -z "${SANITIZE-}" ] || rounds=1
	for stop in $rounds; do
		start $stop
		await 120 "the program is listed" listed_idle
		echo begin >&7
		answers "begin ok"
		id=$(vgctl begin "$host" -o remote.vgp --rate 499)
		[ "$id" = 2 ] || fail "begin prints $id"
		[ -e remote.vgp.part ] || fail "remote.vgp.part does not exist"
		vgctl begin "$host" -o cpu.vgp --rate 99 --mode cpu >log
		used_before=$(used_ms "$host")
		await 200 "the program has one second of CPU time" worked "$host" $((used_before + 1000))
		# CPU time since the latest sample of a running thread is in no sample yet.
		await 120 "the samples have one second of CPU time" cpu_grown
		vgctl mark "$host" "half time"
		[ "$(vgctl status "$host" | wc -l)" = 4 ] || fail "status: $(vgctl status "$host")"
		! vgctl end "$host" 1 2>log || fail "vgctl ended the program's own session"
		vgctl end "$host" 2 >log
		vgctl end "$host" >log
		[ ! -e remote.vgp.part ] && [ ! -e cpu.vgp.part ] || fail "a .part is left"
		before=$(info own.vgp.part duration_ns)
		await 120 "the program's session continues" holds own.vgp.part "it.duration_ns > $before"
		vgctl status "$host" | grep -q '^  1  program' || fail "the program's session does not continue"
		echo end >&7
		answers "end ok"
		right own.vgp 199
		right remote.vgp 499
		cpu_right cpu.vgp
		for file in own remote; do
			[ "$(records $file.vgp 'JSON.stringify(it).includes("half time")')" = true ] || fail "$file: no mark"
		done
		# One thread runs: at most one stop a tick, and a few for the sleeping thread.  Two recordings that were not
		# served by the same stop would have 1.4 stops a tick.
		[ "$stops" -le $((samples / 2 + lost + 10)) ] || fail "$stops stops in $((samples / 2)) ticks, $lost samples lost"
		[ $stop = 0 ] || { [ "$stops" -gt 0 ] && [ "$timers" = 0 ]; } || fail "not only stops: $stops, $timers timer samples"
		exec 7>&-
		await 120 "the socket is removed" removed "$run/$host.sock"
		wait
	done
}

# ---- a second recording of a stopped process has the process's threads, too ----
idle() {
	start 0 50
	kill -STOP "$host"
	vgctl begin "$host" -o first.vgp >/dev/null
	await 120 "the first recording repeats its samples" holds first.vgp.part 'it.samples_repeated > 4'
	id=$(vgctl begin "$host" -o second.vgp)
	await 120 "the second recording has samples" holds second.vgp.part 'it.samples > 4'
	vgctl end "$host" "$id" >log
	[ "$(info second.vgp threads)" = "$(info first.vgp.part threads)" ] ||
		fail "the second recording has $(info second.vgp threads) threads"
	kill -CONT "$host"
	vgctl end "$host" >log
	exec 7>&-
	await 120 "the socket is removed" removed "$run/$host.sock"
	wait
}

# ---- at most four recordings; killed clients; invalid messages; other users ----
four() {
	start 0 50
	for i in 1 2 3 4; do
		vgctl begin "$host" -o "n$i.vgp" --rate 49 --thread-names >/dev/null
	done
	! vgctl begin "$host" -o n5.vgp 2>log || fail "a fifth session was begun"
	grep -q 'the most' log || fail "fifth session: $(cat log)"
	[ ! -e n5.vgp.part ] || fail "n5.vgp.part is left"
	! vgctl end "$host" 2>log || fail "vgctl ended one of four recordings without its number"
	grep -q 'several remote sessions: give the number of one$' log || fail "end of one of four: $(cat log)"
	vgctl end "$host" 3 >log
	[ -e n3.vgp ] || fail "n3.vgp does not exist"
	# Messages of other releases: longer, shorter, of a later and of an earlier version.  Invalid messages.  More silent
	# connections than there is room for.
	timeout $life_s /usr/bin/python3 - "$run/$host.sock" "$host" <<'END' || fail "invalid messages"
import os, random, socket, struct, sys
def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])          # without a timeout, so that it waits while the backlog is full
    s.settimeout(120)
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
assert closed(head(33)[:7]) == b""
assert struct.unpack("=IHHi", closed(head(33) + b"\1" * 1000)[:12])[2:] == (34, int(sys.argv[2]))
assert struct.unpack("=IHHi", closed(head(33))[:12])[2:] == (34, int(sys.argv[2]))
for version, sentence in (999, b"the helper vignetted is too old"), (1, b"libvgctl or vgctl is too old"):
    answer = closed(head(33, version) + bytes(300))
    assert struct.unpack("=HHi", answer[4:12]) == (int(os.environ["WIRE"]), 8, -71), answer
    assert answer[16:].startswith(sentence), answer
for kind in (1, 2, 3, 4, 6, 21, 30, 32, 99):
    assert closed(head(kind) + bytes(256)) == b"", kind
for i in range(200):
    closed(random.randbytes(random.randint(1, 600)))
    closed(head(random.randint(33, 39)) + random.randbytes(256))
    # Begin messages with descriptors that are no regular files, and with invalid options.
    null = os.open("/dev/null", os.O_RDWR)
    here = os.open(".", os.O_RDONLY)
    closed(head(35) + random.randbytes(256), (null, here))
    closed(head(35) + bytes(88) + b"../x" + bytes(164), (null,))
    os.close(null)
    os.close(here)
# Requests whose answers are not read, and silent connections.
for i in range(50):
    s = connect()
    s.send(head(33) + bytes(256))
    s.close()
silent = [connect() for i in range(40)]
for s in silent:
    s.close()
END
	await 120 "the helper still answers" vgctl status "$host"
	vgctl status "$host" >log
	grep -q ' remote ' log || fail "the recordings have ended: $(cat log)"
	# three_left: ends the recordings of killed clients; succeeds when only the three earlier ones are left
	three_left() {
		vgctl status "$host" >status || return 1
		for killed in $(awk '$2 == "remote" && $1 > 4 { print $1 }' status); do
			vgctl end "$host" "$killed" || true
			return 1
		done
		[ "$(grep -c remote status)" = 3 ]
	}
	# A client is killed before or after its recording has begun: each sleep tries another moment.
	for ms in 0 1 2 4 8 16; do
		"$VGCTL" --directory "$run" begin "$host" -o killed.vgp >/dev/null 2>&1 & client=$!
		sleep "0.0$(printf %02d $ms)"
		kill_own KILL $client
		wait $client 2>/dev/null || true
		await 120 "three recordings are left" three_left
	done
	# The directory keeps other users out.  If it is open, the helper refuses them.
	if [ "$(id -u)" = 0 ]; then
		as_other="setpriv --reuid 65534 --regid 65534 --clear-groups"
		cp "$VGCTL" vgctl.copy
		chmod 755 vgctl.copy
		! $as_other ./vgctl.copy --directory "$run" status "$host" 2>log || fail "another user can enter the directory"
		grep -q 'Permission denied' log || fail "another user: $(cat log)"
		chmod 755 "$run"
		chmod 777 "$run/$host.sock"
		! $as_other ./vgctl.copy --directory "$run" status "$host" 2>log || fail "the helper serves another user"
		grep -q 'another user' log || fail "another user: $(cat log)"
		cat >other.py <<'END'
import socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
s.settimeout(120)
try:
    s.send(struct.pack("=IHH", 0x77696776, int(sys.argv[2]), 33) + bytes(256))
    answer = s.recv(4096)
except (ConnectionResetError, BrokenPipeError):
    answer = b""
sys.exit(0 if answer == b"" else 1)
END
		chmod 644 other.py
		! /usr/bin/python3 other.py "$run/$host.sock" "$WIRE" || fail "the helper does not answer its own user"
		$as_other /usr/bin/python3 other.py "$run/$host.sock" "$WIRE" || fail "the helper answers another user"
		vgctl status "$host" >log || fail "after another user: $(cat log)"
		chmod 700 "$run"
	fi
	exec 7>&-
	wait
}

# ---- flight recorders: the program's and remote ones ----
flight() {
	start 0 50
	# refused MESSAGE DUMP_ARGUMENT...: vgctl dump fails with that message and leaves no file
	refused() {
		message=$1
		shift
		! vgctl dump "$@" 2>log || fail "dump $*: no error"
		grep -q "$message" log || fail "dump $*: $(cat log)"
		[ ! -e x.vgp ] && [ ! -e x.vgp.part ] || fail "dump $*: a file is left"
	}
	# dumped FILE [ID]: writes a dump; sets $took to the seconds that it took.  Fails if it has few samples.
	dumped() {
		took=$(date +%s)
		vgctl dump "$host" "$@" >log 2>&1 || return 1
		took=$(($(date +%s) - took + 1))
		[ "$(info "$1" samples)" -gt 20 ]
	}
	# kept FILE SECONDS: fails unless the dump is undamaged, was requested remotely, and is SECONDS long.  It is shorter
	# by the time that it took to request it.
	kept() {
		ended "$1" "requested by another process"
		[ "$(json info it.damaged_bytes)" = 0 ] || fail "$1 is damaged"
		window_ms=$("$VGTOOL" info "$1" | awk '$1 == "part" { printf "%d", ($5 - $2) * 1000 }')
		between "${window_ms:-0}" $((($2 - took) * 1000 - 100)) $(($2 * 1250 + took * 1000 + 100)) "$1: milliseconds"
		[ "$(stat -c %a "$1")" = 600 ] || fail "other users can read $1"
	}
	refused "has no flight recorder" "$host" x.vgp
	refused "no helper listens" 1 x.vgp
	vgctl --directory nowhere list >log 2>&1 && [ ! -s log ] || fail "list without a directory: $(cat log)"
	! vgctl --directory nowhere status 1 2>log || fail "status without a directory succeeds"
	grep -q 'nowhere: no such directory; no helper listens for process 1$' log ||
		fail "status without a directory: $(cat log)"
	! vgctl end "$host" 2>log || fail "end without a recording succeeds"
	grep -q 'has no remote session$' log || fail "end without a recording: $(cat log)"
	! vgctl begin "$host" -o x.vgp --flight-memory 2000000 2>log || fail "--flight-memory without --flight succeeds"
	grep -q 'flight-memory: needs --flight$' log || fail "--flight-memory without --flight: $(cat log)"
	echo flight >&7
	answers "flight ok"
	vgctl status "$host" | grep -q '^  1  program .* keeps 1 s$' || fail "status: $(vgctl status "$host")"
	id=$(vgctl begin "$host" -o remote.vgp --flight 2 --rate 999)
	[ "$(vgctl begin "$host" -o plain.vgp)" = 3 ] || fail "the third session is not number 3"
	! vgctl begin "$host" -o x.vgp --flight 3 --duration 5 2>log || fail "--flight with --duration succeeds"
	! vgctl begin "$host" -o x.vgp --flight 3 --flight-memory 9999999999 2>log || fail "too large --flight-memory succeeds"
	grep -q 'more than half' log || fail "too large --flight-memory: $(cat log)"
	# Longer than both windows: samples that are older than a window must not be in a dump.
	sleep 3
	refused "there are several" "$host" x.vgp
	refused "is no flight recorder" "$host" x.vgp 3
	refused "no session has that number" "$host" x.vgp 9
	refused "is not a regular file" "$host" /dev/full 1
	refused "nowhere" "$host" nowhere/x.vgp 1
	await 120 "a dump with samples" dumped one.vgp 1
	grep -qE '^the last [0-9]+\.[0-9] s: [0-9]+ samples of 2 threads, [0-9]+ bytes$' log || fail "dump prints $(cat log)"
	kept one.vgp 1
	await 120 "a dump with samples" dumped two.vgp "$id"
	kept two.vgp 2
	# Two dumps at a time; and clients that close the connection before the end of the dump.
	timeout $life_s /usr/bin/python3 - "$run/$host.sock" "$(helper_pid)" "$id" <<'END' || fail "two dumps at a time"
import os, signal, socket, struct, sys, time
head = lambda kind: struct.pack("=IHH", 0x77696776, int(os.environ["WIRE"]), kind)
def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    s.settimeout(120)
    s.send(head(33) + bytes(256))       # the answer shows that the helper has accepted the connection
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
# Marks: the same label again needs no room; with too many labels the helper answers that there is no room.
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
# A request without a file; and one with a file that is not regular, for which the helper might have to wait.
s = connect()
s.send(head(20) + bytes(256))
assert struct.unpack("=IHH", s.recv(4096)[:8])[2] == 8
null = os.open("/dev/null", os.O_RDWR)
socket.send_fds(s, [head(20) + struct.pack("=I", 1) + bytes(252)], [null])
assert struct.unpack("=IHH", s.recv(4096)[:8])[2] == 8
END
	await 120 "the end of the dump in progress" dumped two.vgp "$id"
	grep -q '^the last' log || fail "dump after the others: $(cat log)"
	kept two.vgp 2
	vgctl end "$host" "$id" >log
	ended remote.vgp "ended by another process"
	id=$(vgctl begin "$host" -o remote.vgp --flight 2)
	# sampled ID: whether that recording has samples
	sampled() { vgctl status "$host" | awk -v id="$1" '$1 == id && $0 !~ / 0 samples/ { found = 1 } END { exit !found }'; }
	await 120 "the recording has samples" sampled "$id"
	kill -9 "$host"
	exec 7>&-
	for file in remote.vgp own.vgp.part; do
		await 120 "$file of the killed program is complete" holds $file 'it.end_reason !== null'
		ended $file "the process ended"
	done
	wait
}

# ---- the program is killed ----
killed() {
	start 0 50
	for i in 1 2 4; do
		vgctl begin "$host" -o "n$i.vgp" --rate 49 --thread-names >/dev/null
	done
	echo begin >&7
	answers "begin ok"
	helper=$(helper_pid)
	[ -n "$helper" ] || fail "the helper was not found"
	kill -9 "$host"
	await 120 "the helper ends with the program" exited "$helper"
	pids=
	exec 7>&-
	for file in n1.vgp n2.vgp n4.vgp own.vgp.part; do
		await 120 "$file: the process ended" holds $file 'it.end_reason === "the process ended"'
	done
	await 120 "the socket is removed after the program's end" removed "$run/$host.sock"
}

# ---- the finisher removes the socket of a killed helper ----
helper_killed() {
	: >"$run/12.sock"
	start 0 50
	kill -9 "$(helper_pid)"
	await 120 "the killed helper's socket is removed" removed "$run/$host.sock"
	exec 7>&-
	wait
}

# ---- if the helper and its finisher are killed, the next helper removes the socket ----
both_killed() {
	start 0 50
	stale=$host
	helper=$(helper_pid)
	killed="$(cat "/proc/$helper/task/$helper/children") $helper"
	kill -9 $killed
	for process in $killed; do await 120 "process $process ends" exited "$process"; done
	[ -e "$run/$stale.sock" ] || fail "the killed helper's socket is already removed, so the test proves nothing"
	! vgctl status "$stale" 2>log || fail "vgctl status of a killed helper succeeds"
	exec 7>&-
	wait
	mkfifo in2
	: >out
	timeout $life_s "$BUILDDIR/tests/recording/sessions" "$run" 0 own.vgp 50 <in2 >out 2>&1 7>&- &
	exec 7>in2
	answers "listen ok"
	[ ! -e "$run/$stale.sock" ] || fail "the killed helper's socket is left"
	pids=
	exec 7>&-
	wait
}

# ---- a removed file; a killed vgctl; idle connections; a program that stops listening and continues its session ----
taken() {
	start 0 50
	vgctl begin "$host" -o away.vgp >/dev/null
	rm away.vgp.part
	vgctl end "$host" >log 2>&1 || fail "end of a recording whose file was removed: $(cat log)"
	"$VGTOOL" info --json away.vgp >log || fail "the removed file's data is lost"
	# The vgctl that would rename the file is killed: its recording ends, and makes room for the next one.
	vgctl begin "$host" -o orphan.vgp >/dev/null
	for pid in $(holders "$dir/orphan.vgp.part"); do
		[ "$(cat "/proc/$pid/comm")" != vgctl ] || kill -9 "$pid"
	done
	no_remote() { ! vgctl status "$host" | grep -q remote; }
	await 120 "a recording without its vgctl ends" no_remote
	holds orphan.vgp.part 'it.end_reason === "the vgctl that began it was killed"' ||
		fail "orphan.vgp: $(cat "$dir/holds")"
	[ ! -e orphan.vgp ] || fail "a killed vgctl renamed a file"
	vgctl begin "$host" -o others.vgp >/dev/null
	# More silent connections than there is room for block neither the program nor vgctl.
	started idle /usr/bin/python3 -c '
import signal, socket, sys, time
silent = []
for i in range(20):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    silent.append(s)
    time.sleep(0.01)                # so that the helper accepts each connection
print("connected", flush=True)
signal.pause()' "$run/$host.sock"
	echo begin >&7
	answers "begin ok"
	vgctl status "$host" | grep -q ' remote ' || fail "status beside idle connections: $(vgctl status "$host" 2>&1)"
	stopped $started
	# Sockets whose processes never answer do not hide the helpers.
	started idle /usr/bin/python3 -c '
import signal, socket, sys
silent = []
for i in range(20):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind(f"{sys.argv[1]}/{2000000000 + i}.sock")
    s.listen(i % 2)
    silent.append(s)
print("listening", flush=True)
signal.pause()' "$run"
	# A starved vgctl may leave some out.
	complete_list() {
		vgctl list >listed 2>log || fail "list beside silent sockets: $(cat log)"
		! grep -q 'left out' log
	}
	again "vgctl asks all sockets" complete_list
	[ "$(grep -c '^vgctl: process 20000000[0-9]*: no answer from the helper: ' log)" = 20 ] || fail "list: $(cat log)"
	# A starved helper may answer late.
	listed() { grep -q "^$host  " listed || { vgctl list >listed 2>log && return 1; }; }
	await 120 "list shows the helper beside silent sockets: $(cat listed log)" listed
	stopped $started
	rm -f "$run"/20000000*.sock
	echo unlisten >&7
	answers "unlisten ok"
	await 120 "the remote recording ends" test -e others.vgp
	holds others.vgp 'it.end_reason === "the program stopped listening"' || fail "others.vgp: $(cat "$dir/holds")"
	before=$(info own.vgp.part file_bytes)
	await 120 "the program's own session continues" holds own.vgp.part "it.file_bytes > $before"
	echo end >&7
	answers "end ok"
	"$VGTOOL" info own.vgp >/dev/null || fail "own.vgp cannot be read"
	pids=
	exec 7>&-
	wait
}

# ---- a directory that other users may enter, or that cannot be made ----
directories() {
	mkdir -m 755 open
	for bad in open /proc/nothing; do
		"$BUILDDIR/tests/recording/sessions" "$bad" 0 </dev/null >out 2>&1 && fail "vgctl_listen() in $bad succeeds"
		grep -q '^listen ' out || fail "no message for $bad"
	done
}

kills() {
	killed
	helper_killed
	both_killed
	taken
	directories
}
side_by_side two idle four flight kills
