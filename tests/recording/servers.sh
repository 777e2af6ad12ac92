#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Debian's python3 and redis-server, which are stripped and not linked with libvgctl, are sampled under load.  Their
# stacks are complete, their libraries have symbols, and both work as without sampling.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node /usr/bin/python3 redis-server redis-cli redis-benchmark
wanted=1000

# record NAME PID [COMMAND]: records until there are enough stacks, runs the command, and records 100 stacks more.
# Resolves the profile and checks it.
record() {
	"$VIGNETTED" --pid "$2" --rate 499 -o "$dir/$1.vgp" & recorder=$!
	pids="$pids $recorder"
	await 120 "$wanted stacks of $1" holds "$dir/$1.vgp.part" "it.stacks >= $wanted"
	${3-:}
	so_far=$(json "$dir/holds" it.stacks)
	await 120 "100 more stacks of $1" holds "$dir/$1.vgp.part" "it.stacks >= $so_far + 100"
	kill -INT "$recorder"
	wait "$recorder" || fail "$1: vignetted failed"
	stacks=$(info "$dir/$1.vgp" stacks)
	complete=$(info "$dir/$1.vgp" stacks_complete)
	echo "$1: $complete of $stacks stacks complete"
	[ $(((complete + 1) * 1000)) -gt $((stacks * 999)) ] || fail "$1: incomplete stacks"
	awk '$NF ~ /^\// && $2 ~ /x/ { print $NF }' "/proc/$2/maps" | sort -u >"$dir/$1.files"
	"$VGTOOL" symbols -o "$dir/symbols" $(cat "$dir/$1.files") >"$dir/$1.symbols"
	"$VGTOOL" resolve -s "$dir/symbols" "$dir/$1.vgp" -o "$dir/$1.resolved.vgp" 2>"$dir/$1.missing"
	! grep 'no symbols' "$dir/$1.missing" | grep -v 'vdso' || fail "$1: modules without symbols"
	"$VGTOOL" report --weight wall "$dir/$1.resolved.vgp" >"$dir/$1.report"
	head -20 "$dir/$1.report"
}

top=$dir
cat >"$top/busy.py" <<'EOF'
import json, sys, threading
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
done = threading.Event()
def other():
    while not done.is_set(): json.loads(json.dumps(list(range(2000))))
threading.Thread(target=other).start()
print("busy", flush=True)
total = 0
while not done.is_set():
    total += fib(15)
    if open(sys.argv[1]).read(): done.set()
print("sane" if total % 610 == 0 else "insane")
EOF
python() {
	: >"$dir/stop"
	/usr/bin/python3 "$top/busy.py" "$dir/stop" >"$dir/python.out" 2>&1 &
	python=$!
	pids=$python
	await 120 "python3 is busy" grep -qx busy "$dir/python.out"
	record python "$python"
	grep -q '_PyEval_EvalFrameDefault' "$dir/python.report" || fail "python3: no symbol of the interpreter's loop"
	echo stop >"$dir/stop"
	wait "$python" || fail "python3 failed"
	grep -qx sane "$dir/python.out" || fail "python3: $(cat "$dir/python.out")"
}

redis() {
	# A socket and not a port, which another program might take.
	redis-server --port 0 --unixsocket "$dir/redis" --save '' --appendonly no --daemonize no >"$dir/redis.log" &
	redis=$!
	pids=$redis
	await 120 "redis-server answers" redis-cli -s "$dir/redis" ping
	redis-benchmark -s "$dir/redis" -n 100000000 -t incr -q >/dev/null 2>&1 &
	load=$!
	pids="$redis $load"
	# Without its load redis-server waits in epoll_wait.
	unload() { stopped "$load"; }
	record redis "$redis" unload
	grep -q 'epoll_wait' "$dir/redis.report" || fail "redis-server: no epoll_wait of libc"
	[ "$(redis-cli -s "$dir/redis" ping)" = PONG ] || fail "redis-server does not answer"
	redis-cli -s "$dir/redis" shutdown nosave >/dev/null 2>&1 || true
	wait "$redis" || fail "redis-server failed"
	pids=
	! grep -qi 'error\|assert\|crash' "$dir/redis.log" || fail "redis-server: $(tail -n 3 "$dir/redis.log")"
}

side_by_side python redis
