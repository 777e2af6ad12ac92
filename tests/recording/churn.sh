#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Programs that execute themselves, spawn programs, or create many threads are sampled at 1 kHz.  They end with the same
# result as without sampling, and no process or thread is left.  SOAK: more of them, and then each program again on
# one CPU, so that the helper has the other CPU.  A program that may use two CPUs keeps both busy.  Prints how long each
# takes alone and sampled.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node /usr/bin/python3
capture=$(build_capture)
churn=$BUILDDIR/tests/recording/churn
programs=100 spawned=500 threads=1000
# A program with sanitizers needs many times the CPU time to start.
[ -z "${SANITIZE-}" ] || { programs=40 spawned=200 threads=400; }
[ -z "${SOAK-}" ] || { programs=1000 spawned=10000 threads=10000; }
# The leak check at a process's exit attaches with ptrace(2).  It fails if the helper is still attached.  Other tests
# check leaks.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

now_ms() { date +%s%3N; }

# once MODE COUNT: runs the program sampled, and with SOAK also alone.  $on is a command that runs the program, or
# empty.
on=
once() {
	alone=
	if [ -n "${SOAK-}" ]; then
		begin=$(now_ms)
		timeout $life_s $on "$churn" "$1" "$2" >/dev/null || fail "$1 fails alone"
		alone="$(($(now_ms) - begin)) ms alone, "
	fi
	begin=$(now_ms)
	timeout -s KILL $life_s "$VIGNETTED" --capture $capture --rate 1000 -o "$dir/$1.vgp" -- $on "$churn" "$1" "$2" \
		>"$dir/printed" 2>"$dir/$1.log" ||
		fail "$1: exit status $?: $(cat "$dir/$1.log")"
	sampled=$(($(now_ms) - begin))
	grep -q done "$dir/printed" || fail "the helper of $1 ended, but $1 did not complete"
	samples=$(info "$dir/$1.vgp" samples) || fail "$1: no profile"
	echo "$1 $2${on:+, on one CPU}: $alone$sampled ms sampled, $samples samples"
}

# run MODE COUNT: runs the program for longer and longer, until a run has at least 100 samples.  A helper that is
# only slow takes enough samples of a long run.  A helper that has lost the program never does.
run() {
	lengthen "1 2 4 8 16" enough $1 $2 || fail "$1: $samples samples of $(($2 * long)) rounds; expected 100"
}
enough() {
	once $1 $(($2 * long))
	[ "$samples" -ge 100 ]
}

# The helper closes a thread's timer and its files of /proc when the thread exits.  Each thread lives until it has used
# 5 ms of CPU time, and the helper has seen as many threads as its profile contains.  On one CPU a thread has one timer.
cat >"$dir/workers.py" <<'END'
import threading, time
def work():
    end = time.thread_time() + 0.005
    while time.thread_time() < end:
        pass
while True:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
END
runs_python() { readlink "/proc/$host/exe" | grep -q python; }
cpu=$(taskset -cp $$ | sed 's/.*[ :]\([0-9]*\).*/\1/')
taskset -c $cpu /usr/bin/python3 "$dir/workers.py" & host=$!
pids=$host
await 240 "python3 is executed" runs_python
"$VIGNETTED" --capture auto --pid $host --rate 999 -o "$dir/workers.vgp" 2>"$dir/log" & helper=$!
pids="$host $helper"
descriptors() { ls "/proc/$helper/fd" | wc -l; }
await 200 "20 threads in the profile: $(cat "$dir/log")" holds "$dir/workers.vgp.part" 'it.threads >= 20'
before=$(descriptors)
await 200 "120 threads in the profile" holds "$dir/workers.vgp.part" 'it.threads >= 120'
after=$(descriptors)
[ "$after" -le $((before + 20)) ] ||
	fail "the helper has $after open descriptors; 100 threads ago it had $before; expected at most 20 more"
echo "the helper has $after open descriptors; 100 threads ago it had $before"
kill $host
wait $host 2>/dev/null || true
wait $helper || fail "vignetted: $(cat "$dir/log")"
pids=

run exec $programs
run spawn $spawned
run threads $threads
[ -n "${SOAK-}" ] || exit 0
on="taskset -c 0"
run exec $programs
run spawn $spawned
run threads $threads
