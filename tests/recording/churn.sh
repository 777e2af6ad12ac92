#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Programs that execute others, spawn, make threads and lose them, sampled at 1 kHz all the while:
# they come to their end, with the result they have alone, and no process or thread is left.  How
# long each takes is said beside what it takes alone.  SOAK: ten times as much, and once more with
# the program on one CPU, so that its helper has another: the programs keep two busy.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
capture=$(build_capture)
churn=$BUILDDIR/tests/recording/churn
more=1
[ -z "${SOAK-}" ] || more=10
# Looking for leaks needs ptrace, which a tracer with a dying tracee may find in use; other tests look.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

now_ms() { date +%s%3N; }

# once MODE COUNT: on all CPUs, or where $on says
on=
once() {
	begin=$(now_ms)
	timeout 100 $on "$churn" "$1" "$2" >/dev/null || fail "$1 fails alone"
	alone=$(($(now_ms) - begin))
	begin=$(now_ms)
	timeout -s KILL 300 "$VIGNETTED" --capture $capture --rate 1000 -o "$dir/$1.vgp" -- $on "$churn" "$1" "$2" \
		>"$dir/said" 2>"$dir/$1.log" ||
		fail "$1: exit status $?: $(cat "$dir/$1.log")"
	sampled=$(($(now_ms) - begin))
	grep -q done "$dir/said" || fail "$1 goes on without its helper"
	samples=$(info "$dir/$1.vgp" samples) || fail "$1: no profile"
	echo "$1 $2${on:+, on one CPU}: $alone ms alone, $sampled ms sampled, $samples samples"
}

# run MODE COUNT: sampled to its end.  A slow helper may take few samples of a program that ends soon, a helper that has lost
# the program takes no more however long it runs.
run() {
	for times in 1 2 4 8; do
		once $1 $(($2 * times))
		[ "$samples" -lt 100 ] || return 0
	done
	fail "$1: $samples samples"
}
# What a thread had open in the helper is closed when it has ended: timers, and files of /proc.
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
await 200 "fifty threads more" fifties 4
after=$(descriptors)
[ "$after" -le $((before + 20)) ] || fail "the helper has $after descriptors open, and had $before a hundred threads before"
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
