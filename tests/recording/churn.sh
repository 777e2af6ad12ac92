#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Programs that execute themselves, spawn programs, or create many threads are sampled at 1 kHz.  They end with the same
# result as without sampling, and no process or thread is left.  Prints how long each takes alone and sampled.  SOAK:
# ten times as much, and then each program again on one CPU, so that the helper has the other CPU.  A program
# that may use two CPUs keeps both busy.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
capture=$(build_capture)
churn=$BUILDDIR/tests/recording/churn
more=1
[ -z "${SOAK-}" ] || more=10
# The leak check at a process's exit attaches with ptrace(2).  It fails if the helper is still attached.  Other tests
# check leaks.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

now_ms() { date +%s%3N; }

# once MODE COUNT: runs the program alone and sampled.  $on is a command that runs the program, or empty.
on=
once() {
	begin=$(now_ms)
	timeout 100 $on "$churn" "$1" "$2" >/dev/null || fail "$1 fails alone"
	alone=$(($(now_ms) - begin))
	begin=$(now_ms)
	timeout -s KILL 300 "$VIGNETTED" --capture $capture --rate 1000 -o "$dir/$1.vgp" -- $on "$churn" "$1" "$2" \
		>"$dir/printed" 2>"$dir/$1.log" ||
		fail "$1: exit status $?: $(cat "$dir/$1.log")"
	sampled=$(($(now_ms) - begin))
	grep -q done "$dir/printed" || fail "the helper of $1 ended, but $1 did not complete"
	samples=$(info "$dir/$1.vgp" samples) || fail "$1: no profile"
	echo "$1 $2${on:+, on one CPU}: $alone ms alone, $sampled ms sampled, $samples samples"
}

# run MODE COUNT: runs the program for longer and longer, until a run has at least 100 samples.  A helper that is
# only slow takes enough samples of a long run.  A helper that has lost the program never does.
run() {
	for times in 1 2 4 8; do
		once $1 $(($2 * times))
		[ "$samples" -lt 100 ] || return 0
	done
	fail "$1: $samples samples"
}

# The helper closes a thread's timer and its files of /proc when the thread exits.
cat >"$dir/workers.py" <<'END'
import threading, time
def work():
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
def workers(count):
    for i in range(count):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
while True:
    workers(50)
    print("fifty", flush=True)
END
/usr/bin/python3 "$dir/workers.py" >"$dir/fifties" & host=$!
"$VIGNETTED" --capture auto --pid $host --rate 999 -o "$dir/workers.vgp" 2>"$dir/log" & helper=$!
pids="$host $helper"
fifties() { [ "$(wc -l <"$dir/fifties")" -ge "$1" ]; }
descriptors() { ls "/proc/$helper/fd" | wc -l; }
await 200 "fifty threads" fifties 2
before=$(descriptors)
await 200 "100 more threads" fifties 4
after=$(descriptors)
[ "$after" -le $((before + 20)) ] || fail "the helper has $after open descriptors; 100 threads ago it had $before"
kill $host
wait $host 2>/dev/null || true
wait $helper || fail "vignetted: $(cat "$dir/log")"
pids=

run exec $((100 * more))
run spawn $((1000 * more))
run threads $((1000 * more))
[ -n "${SOAK-}" ] || exit 0
on="taskset -c 0"
run exec 1000
run spawn 10000
run threads 10000
