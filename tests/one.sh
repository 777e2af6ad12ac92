#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# one.sh SCRIPT: runs a test script and reports it in TAP as one test.  Exit status 0 is a pass.  Exit status 77 is a
# skip, and the script's last line says why.  After a failure the last lines are the reason, and the command that runs
# this test alone.
echo 1..1
output=$(sh "$1" 2>&1)
status=$?
printf '%s\n' "$output" | sed 's/^/# /'
name=$(basename "$1" .sh)
script=tests/${1#*tests/}
if [ $status = 77 ]; then
	echo "ok 1 - $name # SKIP $(printf '%s\n' "$output" | tail -n 1)"
elif [ $status = 0 ]; then
	echo "ok 1 - $name"
else
	echo "not ok 1 - $name (exit status $status): $(printf '%s\n' "$output" | sed -n 's/^FAIL: //p' | tail -n 1)"
	echo "# alone: make -C ${BUILDDIR-build} check TESTS=$script"
fi
