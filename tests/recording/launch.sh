#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A command that vignetted launches is recorded from its start, even if the helper needs long to begin: here strace
# delays its filter by half a second.  The command does 0.3 s of CPU time in one piece and ends: without the hold it
# ends before the recording begins.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
for capture in stop auto; do
	strace -qq -o "$dir/trace" -e trace=seccomp -e inject=seccomp:delay_enter=500000 "$VIGNETTED" --capture $capture \
		--rate 499 -o "$dir/out.vgp" -- "$BUILDDIR/tests/recording/clocked" naps 0.3 300000 0 \
		>"$dir/truth" 2>"$dir/log" || fail "$capture: $(cat "$dir/log")"
	grep -q SECCOMP_SET_MODE_FILTER "$dir/trace" || fail "$capture: the helper was not delayed: $(cat "$dir/trace")"
	truth_ns=$(awk '$1 == "all" { print $3 }' "$dir/truth")
	"$VGTOOL" report --json "$dir/out.vgp" >"$dir/report"
	cpu_ns=$(($(json "$dir/report" it.cpu_ns) + $(info "$dir/out.vgp" cpu_unsampled_ns)))
	echo "$capture: the program used $truth_ns ns of CPU time; the profile has $cpu_ns ns"
	[ $((cpu_ns * 4)) -ge $((truth_ns * 3)) ] || fail "$capture: the begin of the command is missing"
done
