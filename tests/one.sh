#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# one.sh SCRIPT: runs a test script as one test, reported in TAP: it passes if it exits 0, and is skipped if it exits 77,
# having said why in its last line.
echo 1..1
output=$(sh "$1" 2>&1)
status=$?
printf '%s\n' "$output" | sed 's/^/# /'
name=$(basename "$1" .sh)
if [ $status = 77 ]; then
	echo "ok 1 - $name # SKIP $(printf '%s\n' "$output" | tail -n 1)"
elif [ $status = 0 ]; then echo "ok 1 - $name"; else echo "not ok 1 - $name (exit status $status)"; fi
