#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A remote recording has the program's events, and the same ones as a session of the program.  After the last recording
# has ended, however it ended, the program records no events.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node /usr/bin/python3
: "${VGCTL:?}"

# holders FILE: prints the pids of the processes that have the file open
holders() {
	find /proc/[0-9]*/fd -lname "$1" 2>/dev/null | cut -d / -f 3 | sort -u
}

vgctl() { timeout $life_s "$VGCTL" --directory "$run" "$@"; }

# start [OVERWRITE]: starts the program; say() writes its commands
start() {
	run=$dir/run
	rm -rf "$run" in
	mkfifo in
	: >out
	asked=1
	timeout $life_s "$BUILDDIR/tests/recording/remote_events" "$run" own.vgp "${1:-0}" <in >out 2>&1 7>&- &
	exec 7>in
	await 120 "the program listens: $(cat out)" grep -qx 'listen ok' out
	host=$(basename "$run"/*.sock .sock)
	pids="$pids $host"
}

stop() {
	exec 7>&-
	wait
}

answered() { [ "$(wc -l <out)" -ge "$asked" ]; }

# ask COMMAND: has the program execute the command, and sets $answer to its answer
ask() {
	echo "$1" >&7
	asked=$((asked + 1))
	await 120 "the program answers '$1': $(cat out)" answered
	answer=$(tail -n 1 out)
}

# say COMMAND [ANSWER]: the same; fails unless the program answers ANSWER or "ok"
say() {
	ask "$1"
	[ "$answer" = "${2-ok}" ] || fail "$1: the program prints $answer"
}

# off: whether the program records no events
off() {
	ask gate
	[ "$answer" = 0 ]
}

# events FILE: prints the profile's events without times: number of the thread, type, label, value, and the numbers of the
# interval and of its parent.  Writes the number of dropped events into the file "dropped".
events() {
	"$VGTOOL" dump "$1" >dump || fail "$1: no profile"
	node -e 'const records = require("fs").readFileSync("dump", "utf8").trim().split("\n").map(JSON.parse);
		const labels = new Map(), numbers = new Map([[undefined, "-"]]), threads = new Map();
		let dropped = 0;
		const number = (token) => numbers.has(token) ? numbers.get(token) : "unknown";
		for (const it of records) {
			if (it.kind === "label") labels.set(it.id, it.text);
			if (it.kind === "lost") dropped = it.counts.events_dropped ?? 0;
			if (it.kind !== "event") continue;
			if (it.type === 1 || it.type === 3) numbers.set(it.token, numbers.size);
			if (!threads.has(it.thread)) threads.set(it.thread, threads.size);
			console.log(threads.get(it.thread), it.type, labels.get(it.label) ?? "-", it.value, number(it.token),
				number(it.parent));
		}
		require("fs").writeFileSync("dropped", String(dropped));'
}

# has FILE LABELS: fails unless the intervals that begin in the profile have these labels, in this order, each end has
# a begin, and no events were dropped
has() {
	events "$1" >events
	labels=$(awk '$2 == 1 { printf "%s%s", sep, $3; sep = " " }' events)
	[ "$labels" = "$2" ] || fail "$1: the intervals are '$labels', not '$2'"
	! grep -q unknown events || fail "$1: an end or a parent has no begin: $(cat events)"
	[ "$(cat dropped)" = 0 ] || fail "$1: $(cat dropped) events were dropped, not 0"
}

# the same events as in a session of the program, from two threads; twice one after the other
same() {
	start "$1"
	say "all before"
	say begin
	say gate 1
	say "all one"
	say "thread two"
	say end
	events own.vgp >own
	for file in first.vgp second.vgp; do
		say gate 0
		vgctl begin "$host" -o $file >/dev/null
		say gate 1
		say fork 0
		say "all one"
		say "thread two"
		vgctl end "$host" >log
		say gate 0
		say "all after"
		has $file "one two"
		events $file >remote
		cmp own remote || fail "$file: the events of the session and of the remote recording: $(cat own remote)"
	done
	stop
}
plain() { same 0; }
overwrite() { same 1; }

# a recording begins and ends in the middle of intervals, also of intervals that an earlier recording has
middle() {
	start
	say "open early"
	vgctl begin "$host" -o one.vgp >/dev/null
	say "open first"
	say "all in"
	vgctl end "$host" >log
	vgctl begin "$host" -o two.vgp >/dev/null
	say "all within"
	say "open second"
	say close
	say close
	say close
	say "all last"
	vgctl end "$host" >log
	stop
	has one.vgp "first in"
	"$VGTOOL" summary --json one.vgp >summary || fail "one.vgp: $(cat summary)"
	[ "$(json summary 'it.intervals.filter(i => i.label === "first")[0].open')" = 1 ] || fail "first: $(cat summary)"
	has two.vgp "within second last"
	! awk '$2 == 1 && $6 != "-" && $3 != "within"' events | grep . ||
		fail "two.vgp: an interval has a parent: $(cat events)"
}

# two remote recordings at the same time
two() {
	start
	id=$(vgctl begin "$host" -o first.vgp)
	say "all a"
	vgctl begin "$host" -o second.vgp >/dev/null
	say "all b"
	vgctl end "$host" "$id" >log
	say "all c"
	vgctl end "$host" >log
	say gate 0
	stop
	has first.vgp "a b"
	has second.vgp "b c"
}

# sessions of the program at the same time, which begin and end before and after remote recordings
beside() {
	start
	vgctl begin "$host" -o around.vgp >/dev/null
	say "open a"
	say begin
	say "all b"
	say close
	say end
	cp own.vgp inside.vgp
	say "all c"
	say begin
	say "all d"
	vgctl end "$host" >log
	say gate 1
	say "all e"
	vgctl begin "$host" -o late.vgp >/dev/null
	say "all f"
	vgctl end "$host" >log
	say "all g"
	say end
	say gate 0
	has around.vgp "a b c d"
	has inside.vgp b
	has own.vgp "d e f g"
	has late.vgp f
	vgctl begin "$host" -o unlistened.vgp >/dev/null
	say begin
	say "all h"
	say unlisten
	await 120 "the remote recording ends" test -e unlistened.vgp
	say "all i"
	say end
	say gate 0
	has unlistened.vgp h
	has own.vgp "h i"
	again "the helper ends in time" unlistened
	has again.vgp j
	stop
}
# vgctl_unlisten() kills a helper that does not complete its recordings in 5 s.
unlistened() {
	rm -f again.vgp*
	say listen
	vgctl begin "$host" -o again.vgp >/dev/null
	say "all j"
	ask unlisten
	ended=$answer
	say gate 0
	[ "$ended" = ok ] || return 1
	await 120 "the remote recording ends" test -e again.vgp
}

# the recorder ends first: at its limit, because it was killed, or because its helper was ended or killed
first() {
	start
	# On a slow machine the events may come after the limit: then the limit is longer.
	for seconds in 1 2 4 8 16 32 64; do
		rm -f limited.vgp
		vgctl begin "$host" -o limited.vgp --duration $seconds >/dev/null
		say "all a"
		await 120 "the recording ends" test -e limited.vgp
		await 120 "no events are recorded after the limit" off
		events limited.vgp >events
		[ "$(grep -c ' a ' events)" -lt 4 ] || break
	done
	has limited.vgp a
	# Events that were recorded while the program's own session goes on are in that session.
	vgctl begin "$host" -o orphan.vgp >/dev/null
	say "all b"
	for pid in $(holders "$dir/orphan.vgp.part"); do
		[ "$(cat "/proc/$pid/comm")" != vgctl ] || kill -9 "$pid"
	done
	await 120 "no events are recorded after vgctl was killed" off
	has orphan.vgp.part b
	for signal in TERM KILL; do
		vgctl begin "$host" -o $signal.vgp >/dev/null
		say "all c"
		kill -s $signal "$(helper_pid)"
		# The program notices a killed helper when it uses the helper.  Until then it fills the ring.
		[ $signal = TERM ] || say "flood lost"
		[ $signal = KILL ] || await 120 "no events are recorded after the helper got SIG$signal" off
		[ $signal = KILL ] || say unlisten
		say begin
		say "all d"
		say end
		has own.vgp d
		say gate 0
		say listen
	done
	await 120 "TERM.vgp" test -e TERM.vgp
	has TERM.vgp c
	# The helper is killed during a remote recording and a session of the program.
	vgctl begin "$host" -o both.vgp >/dev/null
	say begin
	kill -s KILL "$(helper_pid)"
	say end "the helper vignetted died; what it had written is kept"
	say gate 0
	say unlisten
	say listen
	# The program ends.
	vgctl begin "$host" -o end.vgp >/dev/null
	say "all e"
	stop
	await 120 "end.vgp" test -e end.vgp
	has end.vgp e
}

# a helper that does not end; a program that closes the descriptor of its profile
stuck() {
	start
	say begin
	say lose
	say end "this program has closed the session's descriptors; what was written is kept"
	vgctl begin "$host" -o lost.vgp >/dev/null
	say "all a"
	vgctl end "$host" >log
	has lost.vgp a
	say gate 0
	helper=$(helper_pid)
	kill -s STOP "$helper"
	say unlisten late
	await 120 "the helper is killed" exited "$helper"
	say listen
	vgctl begin "$host" -o after.vgp >/dev/null
	say "all b"
	vgctl end "$host" >log
	has after.vgp b
	stop
}

# a flight recorder; a program that closes the library's descriptors; a library that is unloaded
rest() {
	start
	vgctl begin "$host" -o flight.vgp --flight 60 >/dev/null
	say "all a"
	vgctl dump "$host" dumped.vgp >log 2>&1 || fail "dump: $(cat log)"
	has dumped.vgp a
	say closefrom
	await 120 "the flight recorder ends" test -e flight.vgp
	await 120 "no events are recorded after the flight recorder ended" off
	has flight.vgp a
	stop
	preload=
	[ -z "${SANITIZE-}" ] || preload=$("${CC:-gcc}" -print-file-name=libasan.so)
	LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 timeout $life_s /usr/bin/python3 - \
		"$BUILDDIR/libvgctl/.libs/libvgctl.so" "$VGCTL" "$run" <<'END' || fail "the library is unloaded"
import _ctypes, ctypes, os, signal, subprocess, sys, time
library, vgctl, run = sys.argv[1:]
class Interval(ctypes.Structure):
    _fields_ = ("token", ctypes.c_uint64), ("session", ctypes.c_uint32), ("detached", ctypes.c_uint32)
def listens(pid):
    try:
        return open("/proc/%s/comm" % pid).read() == "vignetted\n" and \
            any(os.readlink("/proc/%s/fd/%s" % (pid, fd)) == run for fd in os.listdir("/proc/%s/fd" % pid))
    except OSError:
        return False
for i in range(3):
    loaded = ctypes.CDLL(library)
    assert loaded.vgctl_listen(run.encode(), None) == 0
    loaded.vgctl_interval_begin.restype = Interval
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    subprocess.run([vgctl, "--directory", run, "begin", str(os.getpid()), "-o", "unloaded%d.vgp" % i],
                   check=True, env=environment, stdout=subprocess.DEVNULL)
    assert loaded.vgctl_interval_begin(0, 0, ctypes.c_uint64(0)).token != 0
    helper = next(int(pid) for pid in os.listdir("/proc") if pid.isdigit() and listens(pid))
    os.kill(helper, signal.SIGSTOP)
    _ctypes.dlclose(loaded._handle)
    assert listens(helper), "the library has ended the helper that it should not wait for"
    os.kill(helper, signal.SIGCONT)
    while os.listdir(run):
        time.sleep(0.01)
END
	await 120 "unloaded2.vgp" test -e unloaded2.vgp
}
side_by_side plain overwrite middle two beside first stuck rest
