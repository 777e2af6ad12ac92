#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Other projects' programs give the same results sampled at 999 Hz as alone: tests of CPython that sampling could
# disturb, stress-ng with --verify, sqlite3 with an integrity check, and the contents of redis after its benchmark.
# SOAK: longer runs and more tests.  TIMING: also the tests of CPython that allow a call only a certain time.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node /usr/bin/python3 /usr/lib/python3.11/test stress-ng sqlite3 redis-server redis-cli redis-benchmark
capture=$(build_capture)
failures=$dir/failures

# same NAME FILTER COMMAND...: runs the command alone and sampled.  Adds NAME to the failures unless both runs have the
# same exit status, and the same output after sed has applied FILTER.
same() {
	name=$1 filter=$2; shift 2
	timeout $life_s "$@" >"$dir/alone" 2>&1 && status=0 || status=$?
	timeout $life_s "$VIGNETTED" --capture $capture --rate 999 -o "$dir/$name.vgp" -- "$@" >"$dir/sampled" 2>&1 &&
		sampled=0 || sampled=$?
	for run in alone sampled; do grep -v "^vignetted: " "$dir/$run" | sed -n "$filter" | sort >"$dir/$run.kept"; done
	samples=$(info "$dir/$name.vgp" samples)
	echo "$name: exit status $status alone, $sampled sampled; $samples samples; $(wc -l <"$dir/alone.kept") lines compared"
	[ $status = $sampled ] && cmp -s "$dir/alone.kept" "$dir/sampled.kept" && [ "$samples" -ge 20 ] &&
		[ -s "$dir/alone.kept" ] || {
		echo $name >>"$failures"
		echo "$name differs"
		diff "$dir/alone.kept" "$dir/sampled.kept" | head -20
		tail -5 "$dir/sampled"
	}
}

# The filter keeps the result of each test, without its time and number.
cpython() {
	cpython='s/^test_[a-z_0-9]*\( .*\)* \(failed\|passed\|skipped\).*/&/p; s/^\(All [0-9]* tests OK\|[0-9]* tests* OK\|[0-9]* tests* failed\|Tests result: [A-Z]*\).*/\1/p'
	suites="test_select test_epoll test_fcntl test_threadsignals"
	[ -z "${SOAK-}" ] || suites="$suites test_signal test_selectors test_asyncio test_subprocess test_threading"
	# These fail on a busy machine: they allow a call 10 ms, a signal 2 s, or a thread 1 s until it has looked at a lock.
	ignored="-i test_control_and_wait -i test_unregister_closed -i test_interrupted_timed_acquire
		-i test_*lock_acquire_interruption -i test_*lock_acquire_retries_on_intr"
	[ -z "${TIMING-}" ] || ignored=
	set -f
	same cpython "$cpython" /usr/bin/python3 -m test $ignored $suites
	set +f
}

stressors() {
	# stress-ng's workers are processes of their own, and only the process that waits for them is sampled.
	# Stressors with threads also run in that process.
	# Each stressor ends after this many operations, however long they take.
	stress="--timeout 900"
	for stressor in futex:1000 poll:1000 sigq:1000 sigsegv:1000 pthread:100 timer:1000 eventfd:1000 epoll:1000 \
		nanosleep:100 pipe:1000 sockpair:1000; do
		stress="$stress --${stressor%:*} 1 --${stressor%:*}-ops ${stressor#*:}"
	done
	# mutex fails in some short runs: it can create no thread.
	[ -z "${SOAK-}" ] || stress="--timeout 20 $(echo "$stress" | sed 's/--[a-z]*-ops [0-9]*//g; s/--timeout 900//') --mutex 1"
	same stress-ng 's/.*\(passed: [0-9]*\).*/passed/p; s/.*\(failed: [0-9]*\).*/\1/p; s/.*\(successful run\).*/\1/p' \
		stress-ng --verify $stress
}

database() {
	rows=100000
	[ -z "${SOAK-}" ] || rows=3000000
	cat >"$dir/load.sql" <<END
PRAGMA journal_mode = WAL;
CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c INTEGER);
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $rows)
INSERT INTO t SELECT i, hex(i * 7919), i * 31 % 1009 FROM n;
CREATE INDEX u ON t (c, b);
UPDATE t SET c = c + 1 WHERE a % 3 = 0;
DELETE FROM t WHERE a % 7 = 0;
PRAGMA integrity_check;
SELECT count(*), sum(a), sum(c), max(b) FROM t;
END
	same sqlite3 p sh -c 'rm -f base base-*; exec sqlite3 base <load.sql'
}

# Fifty clients send commands.  The contents of redis do not depend on the order of these commands.  (lrange_100 also
# pushes.)
server() {
	rounds=8000 # a multiple of 16, for redis-benchmark -P 16
	[ -z "${SOAK-}" ] || rounds=1000000
	cat >"$dir/serve" <<'END'
call() { redis-cli -s "$PWD/socket" "$@"; }
(
	until [ "$(call ping 2>&1)" = PONG ]; do sleep 0.05; done
	for options in "-t set,incr,lpush,sadd,hset,zadd,mset" "-t incr,rpush,lrange_100 -P 16"; do
		redis-benchmark -s "$PWD/socket" -q -n "$ROUNDS" $options >/dev/null || echo "benchmark failed"
	done
	{ call get counter:__rand_int__; call llen mylist; call dbsize; call debug digest; } >answers
	call shutdown nosave
) &
exec redis-server --unixsocket "$PWD/socket" --port 0 --save '' --enable-debug-command yes --loglevel warning
END
	export ROUNDS=$rounds
	for run in alone sampled; do
		command="sh $dir/serve"
		[ $run = alone ] || command="$VIGNETTED --capture $capture --rate 999 -o $dir/redis.vgp -- sh $dir/serve"
		mkdir "$dir/redis-$run"
		(cd "$dir/redis-$run" && timeout $life_s $command >log 2>&1) ||
			{ echo redis-$run >>"$failures"; tail -5 "$dir/redis-$run/log"; }
	done
	samples=$(info "$dir/redis.vgp" samples)
	answers=$(tr '\n' ' ' <"$dir/redis-alone/answers")
	echo "redis: $samples samples; $answers"
	[ "$(head -n 2 "$dir/redis-alone/answers" | tr '\n' ' ')" = "$((2 * rounds)) $((3 * rounds)) " ] &&
		[ "$samples" -ge 20 ] && cmp "$dir/redis-alone/answers" "$dir/redis-sampled/answers" ||
		{ echo redis >>"$failures"; cat "$dir/redis-sampled/answers"; }
}

stressors_and_database() {
	stressors
	database
}
: >"$failures"
side_by_side cpython server stressors_and_database
[ ! -s "$failures" ] || fail "results differ from those without sampling:" $(cat "$failures")
