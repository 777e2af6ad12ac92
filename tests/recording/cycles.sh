#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# 200 sessions of one program, and 50 programs killed in a session; fewer with sanitizers.  SOAK: 10,000 and 1,000.
# TIMING: the helpers of killed programs end within a second.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
helper_with_pid
# A sanitizer keeps freed memory in its quarantine, which the test would take for growth.
export ASAN_OPTIONS="quarantine_size_mb=0:thread_local_quarantine_size_kb=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
sessions=200 deaths=50
# A helper with sanitizers needs many times the CPU time to start.
[ -z "${SANITIZE-}" ] || sessions=50 deaths=20
[ -z "${SOAK-}" ] || sessions=10000 deaths=1000
"$BUILDDIR/tests/recording/cycles" begin $sessions "$dir/begin.vgp"
VIGNETTED=$dir/helper "$BUILDDIR/tests/recording/cycles" die $deaths "$dir/die.vgp" "$dir/pid"
