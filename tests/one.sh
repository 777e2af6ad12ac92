#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# one.sh SCRIPT: runs a test script and reports it in TAP as one test.  Exit status 0 is a pass.  Exit status 77 is a
# skip, and the script's last line says why.
echo 1..1
output=$(sh "$1" 2>&1)
status=$?
printf '%s\n' "$output" | sed 's/^/# /'
name=$(basename "$1" .sh)
if [ $status = 77 ]; then
	echo "ok 1 - $name # SKIP $(printf '%s\n' "$output" | tail -n 1)"
elif [ $status = 0 ]; then echo "ok 1 - $name"; else echo "not ok 1 - $name (exit status $status)"; fi
