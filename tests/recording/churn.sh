#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Programs that execute others, spawn, make threads and lose them, sampled at 1 kHz all the while:
# they come to their end, with the result they have alone, and no process or thread is left.  How
# long each takes is said beside what it takes alone.  SOAK: ten times as much, and once more with
# the program on one CPU, so that its helper has another: the programs keep two busy.
set -eu
: "${BUILDDIR:?}" "${VIGNETTED:?}" "${VGTOOL:?}"
# Interrupts in the one build of the check, stops in the other.
capture=auto
[ -z "${SANITIZE-}" ] || capture=stop
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
churn=$BUILDDIR/tests/recording/churn
more=1
[ -z "${SOAK-}" ] || more=10
failures=0
# Looking for leaks needs ptrace, which a tracer with a dying tracee may find in use; other tests look.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

now_ms() { date +%s%3N; }

# run MODE COUNT: on all CPUs, or where $on says
on=
run() {
	begin=$(now_ms)
	timeout 100 $on "$churn" "$1" "$2" >/dev/null || { echo "FAIL: $1 fails alone"; failures=1; }
	alone=$(($(now_ms) - begin))
	begin=$(now_ms)
	status=0
	timeout -s KILL 300 "$VIGNETTED" --capture $capture --rate 1000 -o "$dir/$1.vgp" -- $on "$churn" "$1" "$2" \
		>"$dir/said" 2>"$dir/$1.log" ||
		status=$?
	sampled=$(($(now_ms) - begin))
	grep -q done "$dir/said" || { echo "FAIL: $1 goes on without its helper"; failures=1; }
	[ $status = 0 ] || { echo "FAIL: $1: exit status $status: $(cat "$dir/$1.log")"; failures=1; }
	"$VGTOOL" info --json "$dir/$1.vgp" >"$dir/info" || { echo "FAIL: $1: no profile"; failures=1; }
	samples=$(sed 's/.*"samples":\([0-9]*\),.*/\1/' "$dir/info")
	[ "$samples" -ge 100 ] || { echo "FAIL: $1: $samples samples"; failures=1; }
	echo "$1 $2${on:+, on one CPU}: $alone ms alone, $sampled ms sampled, $samples samples"
}
run exec $((100 * more))
run spawn $((1000 * more))
run threads $((1000 * more))
[ -z "${SOAK-}" ] || {
	on="taskset -c 0"
	run exec 1000
	run spawn 10000
	run threads 10000
}
[ $failures = 0 ]
