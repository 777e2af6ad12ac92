#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Every bound of the helper, reached: it goes on within it, and the profile counts what that cost.
set -eu
: "${VIGNETTED:?}" "${VGTOOL:?}" "${SRCDIR:?}" "${CC:?}"
SRCDIR=$(cd "$SRCDIR" && pwd)
dir=$(mktemp -d)
program=
programs=
trap 'kill $program $programs 2>/dev/null || true; rm -rf "$dir"' EXIT
cd "$dir"
failures=0

fail() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}

# start ARGUMENT...: the program, once it is ready
start() {
	: >said
	${fixture-./bounds} "$@" >said &
	program=$!
	while [ ! -s said ]; do
		kill -0 $program || { echo "FAIL: bounds $1 has ended"; exit 1; }
		sleep 0.1
	done
}

stop() {
	kill $program
	wait $program 2>/dev/null || true
	program=
}

# record OPTION...
record() {
	"$VIGNETTED" -p $program -o p.vgp "$@" 2>err || fail "$*: $(cat err)"
	"$VGTOOL" info --json p.vgp >info 2>err || fail "$*: the profile cannot be read: $(cat err)"
	[ ! -s err ] || fail "$*: $(cat err)"
}

# value NAME: a number of the profile
value() {
	found=$(grep -o "\"$1\":[0-9]*" info | head -n 1)
	[ -n "$found" ] || found=:0
	echo "${found#*:}"
}

# at_least NAME NUMBER; at_most NAME NUMBER
at_least() {
	[ "$(value "$1")" -ge "$2" ] || fail "$1 is $(value "$1"), less than $2"
}
at_most() {
	[ "$(value "$1")" -le "$2" ] || fail "$1 is $(value "$1"), more than $2"
}

$CC -O1 -fno-optimize-sibling-calls -o bounds "$SRCDIR/tests/fixtures/bounds.c" -lpthread -ldl
echo 'static volatile long sum; void run(void) { for (int i = 0; i < 2000; i++) sum++; }' >library.c
$CC -O1 -shared -fPIC -o library.so library.c

# Threads.  Where fifty end, fifty others are taken in.
start threads 5000
record --max-threads 100 --rate 20 --duration 5
stop
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
start libraries libraries/*
record --max-modules 64 --max-name 20 --rate 500 --duration 2
at_most modules 64
at_least modules 30
at_least modules_over_limit 236
at_least names_cut 30
at_least samples 100
"$VGTOOL" dump p.vgp | grep -q '"kind":"module".*"name":"a-library-with-a-lon"' || fail "no name was cut"
"$VGTOOL" dump p.vgp | grep -q '"kind":"stack".*"module":null' || fail "no frame without a module"
record --rate 500 --duration 2
at_least modules 100
at_most modules_over_limit 0
at_most names_cut 0
stop

# Frames.
start deep 300
record --max-frames 10 --duration 1
at_least "frame limit" 3
stop

# Memory: by the bound that it was told, then by one that takes it by surprise.
start stacks
"$VIGNETTED" -p $program -o p.vgp --max-memory 33554432 --rate 5000 --duration 5 2>err &
helper=$!
peak=0
while sleep 0.5 && now=$(sed -n 's/^VmPeak:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$helper/status 2>/dev/null) &&
	[ -n "$now" ]; do
	peak=$now
done
wait $helper || fail "memory: $(cat err)"
"$VGTOOL" info --json p.vgp >info
at_least stack_tables 2
at_least samples 200
at_most no_memory 0
# A sanitizer maps terabytes.
[ -n "${SANITIZE-}" ] || { [ "$peak" -gt 1000 ] && [ "$peak" -le 32768 ]; } || fail "memory: the peak is $peak KiB"

if [ -z "${SANITIZE-}" ]; then
	(ulimit -v 14000; exec "$VIGNETTED" -p $program -o p.vgp --rate 5000 --duration 4 2>err) ||
		fail "little memory: $(cat err)"
	"$VGTOOL" info --json p.vgp >info 2>err || fail "little memory: $(cat err)"
	at_least stack_tables 2
	at_least samples 200
fi
stop

# helpers_start OPTIONS KIND...: one program and one helper for each kind, side by side
helpers_start() {
	options=$1
	shift
	programs=
	for kind in "$@"; do
		start $kind ${threads-}
		programs="$programs $program"
		timeout -s KILL 100 "$VIGNETTED" -p $program -o $kind.vgp $options 2>err.$kind & eval "helper_$kind=$!"
	done
}

# helpers_wait SAMPLES KIND...: each has taken so many samples, with bad unwind information
helpers_wait() {
	samples=$1
	shift
	for kind in "$@"; do
		status=0
		eval "wait \$helper_$kind" || status=$?
		[ $status = 0 ] || fail "$fixture $kind: exit status $status: $(cat err.$kind)"
		"$VGTOOL" info --json $kind.vgp >info 2>err || fail "$fixture $kind: $(cat err)"
		at_least samples $samples
		at_least "unwind information led astray" 1
	done
	program=$programs
	stop
}

# Unwind information that takes for ever to read, or long: such a walk ends, and a signal ends the recording.
$CC -O1 -o endless "$SRCDIR/tests/fixtures/endless.c" -lpthread
fixture=./endless
endless() {
	helpers_start "--rate 20" "$@"
	for kind in "$@"; do
		eval "helper=\$helper_$kind"
		until [ -e $kind.vgp.part ]; do
			kill -0 $helper || break
			sleep 0.1
		done
	done
	sleep 1
	for kind in "$@"; do
		eval "kill \$helper_$kind" 2>/dev/null || true
	done
	helpers_wait 1 "$@"
}
endless skip bra deref count divide long program
threads=1000
endless threads
threads=
# The last were so many that a round of them has its own bound.
at_least out_of_time 1
# Unwind information that is not what was checked by the time that it is used: nothing of it reaches libunwind.  All at
# a time: each program has three threads that are busy.
$CC -O1 -o changing "$SRCDIR/tests/fixtures/changing.c" -lpthread
fixture=./changing
kinds="divide column stack register letters distance"
helpers_start "--rate 999 --duration 3" $kinds
helpers_wait 100 $kinds
[ $failures = 0 ]
