#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A thousand waiting threads: their samples name the system call, their stacks are complete, and the threads are not
# stopped any more once their stacks are known.  The same is true of a second recording, after stops have made the
# kernel restart the calls, and of one in which stops come late.  TIMING: all stops are in the first second, and at most
# nine of ten ticks are skipped.  SOAK: a longer run.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node strace
threads=1000 seconds=
[ -z "${TIMING-}" ] || seconds=5
[ -z "${SOAK-}" ] || seconds=60
started "$dir/ready" "$BUILDDIR/tests/recording/blocked" $threads
pid=$started

# statistics PROFILE: prints the statistics "stops" and "samples_repeated" at each checkpoint that has statistics
statistics() {
	"$VGTOOL" dump "$1" 2>"$dir/log.dump" | grep '"kind":"stats"' |
		sed 's/.*"stops":\([0-9]*\).*"samples_repeated":\([0-9]*\).*/\1 \2/' >"$dir/statistics"
}

# settled PROFILE: whether no thread was stopped between the two latest checkpoints with statistics, although each
# thread was sampled at least twice
settled() {
	size=$(stat -c %s "$1")
	[ "$size" != "${settled_size-}" ] || return 1
	settled_size=$size
	statistics "$1"
	tail -n 2 "$dir/statistics" | awk -v least=$((2 * threads)) '
		NR == 2 { quiet = $1 == stops && $2 >= repeated + least }
		{ stops = $1; repeated = $2 }
		END { exit !quiet }'
}

# A thread that does not get a CPU does not stop, and until it stops no other thread can be stopped.  So on a busy
# machine, samples are lost before the frame sizes are known.
lost="Object.values(it.lost ?? {}).reduce((sum, count) => sum + count, 0)"

# record NAME: records for $seconds, or until no thread is stopped any more
record() {
	"$VIGNETTED" --pid $pid -o "$dir/$1.vgp" --rate 99 ${seconds:+--duration $seconds} 2>"$dir/log" & helper=$!
	pids=$helper
	if [ -z "$seconds" ]; then
		await 240 "sleeping threads are not stopped any more" settled "$dir/$1.vgp.part"
		await 240 "less than one sample in 20 is lost" holds "$dir/$1.vgp.part" "$lost * 20 < it.samples"
		kill -INT $helper
	fi
	wait $helper || fail "vignetted: $(cat "$dir/log")"
	cat "$dir/log"
	"$VGTOOL" info --json "$dir/$1.vgp" >"$dir/info"
	samples=$(info_value samples)
}

# calls FILE: fails unless each of five system calls has about a fifth of the samples, if the lost samples are its own.
# The bound is 10/51, because the main thread waits in pause(2), which is none of the five.
calls() {
	lost_here=$(json "$dir/info" "$lost")
	"$VGTOOL" report --json "$1" >"$dir/report"
	node "$SRCDIR/tests/functions.mjs" "$dir/report" >"$dir/functions"
	for call in futex poll epoll_wait read clock_nanosleep; do
		self=$(awk -v name="[$call]" '$5 == name { print $1 }' "$dir/functions")
		echo "[$call]: ${self:-none}"
		[ $(((${self:-0} + lost_here) * 51)) -ge $((samples * 10)) ] ||
			fail "[$call] has ${self:-no} samples of $samples, and $lost_here are lost; expected a fifth"
	done
}

record blocked
stops=$(info_value stops) complete=$(info_value stacks_complete)
echo "$samples samples, $complete complete, $stops stops"
[ "$samples" = "$complete" ] || fail "incomplete stacks: $(cat "$dir/info")"
# A few stops are needed to learn the frame sizes of functions.  All threads that wait in one system call have the same
# functions.
[ "$stops" -le $((threads / 4)) ] || fail "sleeping threads were stopped: $stops stops"
if [ -n "${TIMING-}" ]; then
	[ "$samples" -ge $((threads * 10 * seconds)) ] || fail "too few samples: $(cat "$dir/info")"
	# The later checkpoints with statistics are farther apart.
	statistics "$dir/blocked.vgp"
	cut -d ' ' -f 1 "$dir/statistics" >"$dir/stops"
	[ "$(wc -l <"$dir/stops")" -ge 4 ] || fail "too few checkpoints: $(cat "$dir/stops")"
	later=$(($(tail -1 "$dir/stops") - $(sed -n 2p "$dir/stops")))
	echo "stops in the first second: $(sed -n 2p "$dir/stops"), later: $later"
	[ $later = 0 ] || fail "sleeping threads were stopped: $(cat "$dir/stops")"
fi
calls "$dir/blocked.vgp"
[ -z "$seconds" ] || seconds=1
record again
calls "$dir/again.vgp"

# The helper's own stops seem not to come: strace hides the first answers of wait4(2), except one at the start.  A thread
# that stopped meanwhile is sampled later, and not without a frame pointer, as if another tracer held it.
stopped $pid
started "$dir/ready" "$BUILDDIR/tests/recording/blocked" 5
pid=$started
strace -o "$dir/trace" -e trace=wait4 -e inject=wait4:retval=0:when=2..200 sh -c 'echo $$ >"$0/pid"; exec "$@"' "$dir" \
	"$VIGNETTED" --pid $pid -o "$dir/late.vgp" --rate 99 2>"$dir/log" & tracing=$!
pids=$tracing
await 240 "samples after the late stops" holds "$dir/late.vgp.part" 'it.samples > 100'
kill -INT "$(cat "$dir/pid")"
wait $tracing || fail "vignetted: $(cat "$dir/log")"
[ "$(grep -c INJECTED "$dir/trace")" -gt 100 ] || fail "no late stops: $(cat "$dir/trace")"
"$VGTOOL" info --json "$dir/late.vgp" >"$dir/info"
[ "$(info_value samples)" = "$(info_value stacks_complete)" ] || fail "late stops: incomplete stacks: $(cat "$dir/info")"
