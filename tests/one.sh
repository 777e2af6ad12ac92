#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# one.sh SCRIPT: runs a test script and reports it in TAP as one test.  Exit status 0 is a pass.  Exit status 77 with a
# line "SKIP: reason" is a skip.  After a failure the last lines are the reasons, and the command that runs this test
# alone.
echo 1..1
# A file and not a pipe: a process that the script leaves behind would keep a pipe open, and this script waiting.
output=$(mktemp)
trap 'rm -f "$output"' EXIT
sh "$1" >"$output" 2>&1
status=$?
sed 's/^/# /' "$output"
name=$(basename "$1" .sh)
case $1 in
*/tests/*) script=tests/${1##*/tests/} ;;
*) script=$1 ;;
esac
if [ $status = 77 ] && grep -q '^SKIP: ' "$output"; then
	echo "ok 1 - $name # SKIP $(sed -n 's/^SKIP: //p' "$output" | tail -n 1)"
elif [ $status = 0 ]; then
	echo "ok 1 - $name"
else
	reason=$(sed -n 's/^FAIL: //p' "$output" | tr '\n' ' ')
	[ -n "$reason" ] || reason="no message; the last line is: $(tail -n 1 "$output")"
	echo "not ok 1 - $name (exit status $status): $reason"
	echo "# alone: make -C ${BUILDDIR-build} check TESTS=$script${SOAK:+ SOAK=1}${TIMING:+ TIMING=1}"
fi
