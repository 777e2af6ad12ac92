#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Every bound of the helper, reached: it goes on within it, and the profile counts what that cost.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
: "${CC:?}"
cd "$dir"

# record CONDITION OPTION...: records the program until the condition holds for the profile, which becomes p.vgp
record() {
	condition=$1
	shift
	record_start "$@"
	record_until "$condition"
}

record_start() {
	options=$*
	"$VIGNETTED" -p $started -o p.vgp --duration 600 "$@" 2>err & helper=$!
	pids="$started $helper"
}

# record_until CONDITION: it is one of what the profile has so far
record_until() {
	await 120 "$options: $1" recorded_or_gone p $helper "$1"
	peak=$(sed -n 's/^VmPeak:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$helper/status)
	kill $helper 2>/dev/null || true
	wait $helper || fail "$options: $(cat err)"
	pids=$started
	"$VGTOOL" info --json p.vgp >info 2>err || fail "$options: the profile cannot be read: $(cat err)"
	[ ! -s err ] || fail "$options: $(cat err)"
}

# recorded_or_gone NAME HELPER CONDITION
recorded_or_gone() {
	holds "$1.vgp.part" "$3" || gone "$2"
}

# value NAME: a number of the profile
value() {
	json info "it[\"$1\"] ?? it.lost[\"$1\"] ?? it.stack_ends[\"$1\"] ?? 0"
}

# at_least NAME NUMBER; at_most NAME NUMBER
at_least() {
	value=$(value "$1")
	[ "$value" -ge "$2" ] || fail "$1 is $value, less than $2"
}
at_most() {
	value=$(value "$1")
	[ "$value" -le "$2" ] || fail "$1 is $value, more than $2"
}

$CC -O1 -fno-optimize-sibling-calls -o bounds "$SRCDIR/tests/fixtures/bounds.c" -lpthread -ldl
echo 'static volatile long sum; void run(void) { for (int i = 0; i < 2000; i++) sum++; }' >library.c
$CC -O1 -shared -fPIC -o library.so library.c

# Threads.  Where fifty end, fifty others are taken in.
started said ./bounds threads 5000
record_start --max-threads 100 --rate 20
await 120 "a hundred threads" holds p.vgp.part 'it.threads >= 100 && it.samples >= 100'
kill -USR1 $started
record_until 'it.threads > 100'
stopped $started
at_least threads 101
at_most threads 200
at_least threads_over_limit 4850
at_most threads_over_limit 4901
at_least thread_limit 4850
at_least samples 100

# Modules.  A frame in one that was not taken in is still a frame.
mkdir libraries
number=0
while [ $number -lt 300 ]; do
	number=$((number + 1))
	cp library.so libraries/a-library-with-a-long-name-$number.so
done
started said ./bounds libraries libraries/*
record 'it.samples >= 1000' --max-modules 64 --max-name 20 --rate 500
at_most modules 64
at_least modules 30
at_least modules_over_limit 236
at_least names_cut 30
at_least samples 100
[ "$(records p.vgp 'it.some((one) => one.kind === "module" && one.name === "a-library-with-a-lon")')" = true ] ||
	fail "no name was cut"
[ "$(records p.vgp 'it.some((record) => record.kind === "stack" && record.module === null)')" = true ] ||
	fail "no frame without a module"
record 'it.samples >= 1000' --rate 500
at_least modules 100
at_most modules_over_limit 0
at_most names_cut 0
stopped $started

# Frames.
started said ./bounds deep 300
record 'it.samples >= 10' --max-frames 10
at_least "frame limit" 3
stopped $started

# Memory: by the bound that it was told, then by one that takes it by surprise.
started said ./bounds stacks
record 'it.samples >= 4000 && it.stack_tables >= 2' --max-memory 33554432 --rate 5000
at_least stack_tables 2
at_least samples 200
at_most no_memory 0
# A sanitizer maps terabytes.
[ -n "${SANITIZE-}" ] || { [ "$peak" -gt 1000 ] && [ "$peak" -le 32768 ]; } || fail "memory: the peak is $peak KiB"

if [ -z "${SANITIZE-}" ]; then
	unlimited=$VIGNETTED
	printf '#!/bin/sh\nulimit -v 14000\nexec "%s" "$@"\n' "$unlimited" >limited
	chmod 755 limited
	VIGNETTED=./limited
	record 'it.samples >= 4000 && it.stack_tables >= 2' --rate 5000
	VIGNETTED=$unlimited
	at_least stack_tables 2
	at_least samples 200
fi
stopped $started

# helpers OPTIONS CONDITION KIND...: one program and one helper for each kind, side by side; each takes $samples, with bad
# unwind information, until the condition holds, and ends at a signal
helpers() {
	options=$1 condition="it.samples >= $samples && it.stack_ends['unwind information led astray'] >= 1 && $2"
	shift 2
	programs=
	for kind in "$@"; do
		started said $fixture $kind ${threads-}
		programs="$programs $started"
		timeout -s KILL 300 "$VIGNETTED" -p $started -o $kind.vgp --duration 600 $options 2>err.$kind &
		eval "helper_$kind=$!"
	done
	for kind in "$@"; do
		eval "helper=\$helper_$kind"
		await 200 "$fixture $kind: $condition" recorded_or_gone $kind $helper "$condition"
	done
	for kind in "$@"; do
		eval "helper=\$helper_$kind"
		kill $helper 2>/dev/null || true
		status=0
		wait $helper || status=$?
		[ $status = 0 ] || fail "$fixture $kind: exit status $status: $(cat err.$kind)"
	done
	stopped $programs
	for kind in "$@"; do
		"$VGTOOL" info --json $kind.vgp >info 2>err || fail "$fixture $kind: $(cat err)"
		at_least samples $samples
		at_least "unwind information led astray" 1
	done
}

# Unwind information that takes for ever to read, or long: such a walk ends, and a signal ends the recording.
$CC -O1 -o endless "$SRCDIR/tests/fixtures/endless.c" -lpthread
fixture=./endless
samples=1
helpers "--rate 20" true skip bra deref count divide long program
threads=1000
# So many that a round of them has its own bound.
helpers "--rate 20" 'it.lost.out_of_time >= 1' threads
threads=
at_least out_of_time 1
# Unwind information that is not what was checked by the time that it is used: nothing of it reaches libunwind.  All at
# a time: each program has three threads that are busy.
$CC -O1 -o changing "$SRCDIR/tests/fixtures/changing.c" -lpthread
fixture=./changing
samples=100
helpers "--rate 999" true divide column stack register letters distance
