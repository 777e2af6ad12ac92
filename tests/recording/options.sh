#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# The command line of vignetted and vgctl on real processes: the default name of the profile, the program's name, units,
# wrong values, --check, and the progress line.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node /usr/bin/python3
cd "$dir"
# profile_of LOG: prints the name of the profile in the latest line of vignetted
profile_of() { sed -n 's/^vignetted: \(.*\): [0-9]* samples\{0,1\} of .*/\1/p' "$1" | tail -n 1; }

# ---- the default name: nothing is replaced ----
sleep 3600 &
pids="$pids $!" pid=$!
asleep() { grep -q '^State:[[:space:]]*S' "/proc/$pid/status" && executed $pid; }
await 120 "sleep sleeps" asleep
for name in "sleep.$pid.vgp" "sleep.$pid.1.vgp" "sleep.$pid.2.vgp"; do
	timeout $life_s "$VIGNETTED" --pid "$pid" --duration 100ms 2>log || fail "no -o: $(cat log)"
	[ "$(profile_of log)" = "$name" ] || fail "another name than $name: $(cat log)"
	[ ! -e "$name.part" ] && info "$name" program >/dev/null || fail "$name is no profile"
	cksum "$name" >>sums
done
cksum -- *.vgp | sort >now
sort sums | diff - now || fail "a profile was replaced"
# A command's profile has the command's pid.  If the command is a link, the file has the executable's name, and the
# profile has the command's.
ln -s /bin/sleep a-server
recorded -- ./a-server 0.1
name=$(profile_of log.recorded)
[ "$(echo "$name" | sed 's/[0-9][0-9]*/N/')" = sleep.N.vgp ] || fail "another name than the executable's: $(cat log.recorded)"
[ "$(info "$name" program)" = a-server ] || fail "the program is not a-server"
# The name of a program becomes no option, no hidden file, and no control of a terminal.
mkdir names
unsafe() {
	cp /bin/sleep "names/$1"
	(cd names && recorded -- "./$1" 0.1) || exit 1
	name=$(profile_of log.recorded)
	[ "$(echo "$name" | sed 's/\.[0-9]*\.vgp$//')" = "$2" ] && [ -f "names/$name" ] ||
		fail "$1: not $2.N.vgp: $(cat log.recorded)"
}
unsafe '--checkpoint-action=exec=id>PWNED #' _-checkpoint-action_exec_id_PWNED__
unsafe -oPWNED _oPWNED
unsafe .hidden _hidden
unsafe "$(printf 'a\033[31m\nb')" a__31m_b
unsafe "$(printf '%0250d' 0)" "$(printf '%0200d' 0)"
# A failure leaves no file.
ls >before
for fd in 3 4 5 6; do
	# No descriptor of vignetted's own is taken for a closed one.
	! (exec 3>&- 4>&- 5>&- 6>&-; exec "$VIGNETTED" --status-fd $fd -- sleep 1 2>log) ||
		fail "the closed descriptor $fd is accepted"
	grep -q "^vignetted: --status-fd $fd: must be an open descriptor" log || fail "descriptor $fd: $(cat log)"
done
! "$VIGNETTED" --pid 2147483647 2>log || fail "a process that does not exist is recorded"
grep -q '^vignetted: process 2147483647 does not exist$' log || fail "no process: $(cat log)"
! "$VIGNETTED" -- ./nothing 2>log || fail "a command that does not exist"
ls | diff before - || fail "a failure leaves a file"

# ---- a program that is executed during the recording ----
mkfifo go
cat >exec.sh <<'END'
read -r line <go
exec ./a-server 3600
END
sh exec.sh & server=$!
pids="$pids $server"
"$VIGNETTED" --pid $server -o exec.vgp 2>log & helper=$!
pids="$pids $helper"
await 120 "the recording begins: $(cat log)" holds exec.vgp.part 'it.program === "sh"'
echo >go
await 120 "the program in the profile is a-server, as executed" holds exec.vgp.part 'it.program === "a-server"'
kill -INT $helper
wait $helper || fail "exec: $(cat log)"
[ "$(info exec.vgp program)" = a-server ] || fail "the program is $(info exec.vgp program), expected a-server"

# ---- wrong values ----
# refuses MESSAGE COMMAND...: expects $status of the command, which prints the message
status=2
refuses() {
	refuses_message=$1 rc=0
	shift
	"$@" >out 2>log || rc=$?
	[ $rc = $status ] && [ "$(head -n 1 log)" = "$refuses_message" ] || fail "$*: status $rc, $(cat log)"
}
refuses 'vignetted: --rate 20000: must be 1 to 10000 samples per second' "$VIGNETTED" --rate 20000 -- true
refuses 'vignetted: --duration 5x: must be 0.001 to 1073741824 seconds, such as 10, 0.5, 500ms, 1m or 2h' \
	"$VIGNETTED" --duration 5x -- true
refuses 'vignetted: --pid 1,2: more than one process; use vgtool record' "$VIGNETTED" --pid 1,2
refuses 'vgctl: --max-size 1K: must be 64K or more bytes, such as 65536, 64M or 1G' "$VGCTL" begin 1 -o x --max-size 1K
refuses 'vgctl: --flight 0.5: must be 1 to 86400 seconds, such as 10, 0.5, 500ms, 1m or 2h' \
	"$VGCTL" begin 1 -o x --flight 0.5
refuses 'vgtool report: --limit 0: must be 1 or more rows' "$VGTOOL" report --limit 0 exec.vgp
for program in "$VIGNETTED" "$VGCTL" "$VGTOOL"; do
	"$program" --help | awk 'length > 79 { print; bad = 1 } END { exit bad }' ||
		fail "--help of $program is too wide"
done
for command in $("$VGTOOL" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
	"$VGTOOL" "$command" --help >out || fail "vgtool $command --help: status $?"
	awk 'length > 79 { print; bad = 1 } END { exit bad }' out || fail "vgtool $command --help is too wide"
	grep -q '^  -h, --help  *print this text$' out || fail "vgtool $command --help does not describe the options"
	[ "$command" = diff ] && status=4 || status=2
	refuses "vgtool $command: --nothing: no such option, or an abbreviation of several options" \
		"$VGTOOL" "$command" --nothing
done
status=2
refuses 'vgtool folded: --weight all: must be wall, cpu or samples' "$VGTOOL" folded --weight all exec.vgp

# ---- --check ----
"$VIGNETTED" --check >out || fail "a command cannot be recorded: $(cat out)"
grep -q '^trace a command that vignetted starts: yes$' out || fail "--check: $(cat out)"
"$VIGNETTED" --check "$pid" >out || fail "the process cannot be recorded: $(cat out)"
grep -q '^trace the process: yes$' out && grep -q '^sample threads by stops: yes$' out || fail "--check: $(cat out)"
! "$VIGNETTED" --check 2147483647 2>log || fail "--check of no process"
if [ "$(id -u)" = 0 ]; then
	# Another user's process: --check prints the message of a refused recording, which names a command that helps.
	install -d -m 777 other
	! setpriv --reuid 65534 --regid 65534 --clear-groups "$VIGNETTED" --check "$pid" >out ||
		fail "nobody may trace root"
	sed -n 's/^trace the process: no: //p' out >sentence
	grep -q "^process $pid belongs to another user (uid 0); .*setcap cap_sys_ptrace,cap_perfmon,cap_dac_read_search+ep /" sentence ||
		fail "--check: $(cat out)"
	! (cd other && setpriv --reuid 65534 --regid 65534 --clear-groups "$VIGNETTED" --pid "$pid") 2>log ||
		fail "nobody records root"
	[ "$(sed 's/^vignetted: //' log)" = "$(cat sentence)" ] || fail "another sentence: $(cat log)"
	[ -z "$(ls other)" ] || fail "a refused recording leaves $(ls other)"
fi

# ---- progress: only on a terminal ----
# terminal.py LINES COMMAND...: runs the command in a terminal, and sends it SIGINT after that many lines of progress
cat >terminal.py <<'END'
import os, pty, signal, sys
lines = int(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
data = b""
while True:
    try:
        piece = os.read(fd, 4096)
    except OSError:
        break
    if not piece:
        break
    data += piece
    if lines > 0 and data.count(b"% of one CPU") >= lines:
        os.kill(pid, signal.SIGINT)
        lines = 0
sys.stdout.buffer.write(data)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
timeout $life_s /usr/bin/python3 terminal.py 2 "$VIGNETTED" --pid "$pid" -o shown.vgp >out ||
	fail "on a terminal: status $?: $(cat out)"
tr '\r' '\n' <out | sed -n -E 's/^vignetted: ([0-9]+) s, [0-9]+ samples?, [0-9]+\.[0-9] % of one CPU.*/\1/p' >progress
# At most one line a second.
[ "$(wc -l <progress)" -ge 2 ] && sort -n -u progress | diff - progress ||
	fail "expected lines of progress at different seconds: $(cat out)"
tr '\r' '\n' <out | grep -q 'vignetted: shown.vgp: [0-9]* samples' || fail "no summary: $(cat out)"
timeout $life_s /usr/bin/python3 terminal.py 0 "$VIGNETTED" --quiet --pid "$pid" -o quiet.vgp --duration 1.5 >out &
quiet=$!
timeout $life_s "$VIGNETTED" --pid "$server" -o file.vgp --duration 1.5 2>log || fail "to a file: $(cat log)"
wait $quiet || fail "--quiet: $(cat out)"
! grep -q 'one CPU' out || fail "--quiet shows progress: $(cat out)"
[ "$(wc -l <log)" = 1 ] && ! grep -q 'one CPU' log || fail "progress in a file: $(cat log)"

# ---- the summary counts what the profile has: samples of a thread that waits while ticks are several periods apart, too ----
cat >two.py <<'END'
import threading, time
def busy():
    end = time.thread_time() + 0.7
    while time.thread_time() < end:
        pass
thread = threading.Thread(target=busy)
thread.start()
thread.join()
END
# On a busy machine the helper may get no CPU while the thread lives.
two_threads() {
	some_recorded --rate 997 -o two.vgp -- /usr/bin/python3 two.py || return 1
	[ "$(info two.vgp threads)" = 2 ]
}
again "a recording of two threads" two_threads
samples=$(info two.vgp samples)
grep -q "two.vgp: $samples samples of 2 threads" "$dir/log.recorded" ||
	fail "two.vgp has $samples samples, but: $(cat "$dir/log.recorded")"
