#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Programs that measure themselves are recorded by timers and by stops.  Shares and sums of wall time and CPU time in
# the profile equal what the program measured.  `make truth` does this for more programs, and prints a table.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
CHECK=1 node "$SRCDIR/tests/recording/clocked.mjs" "$BUILDDIR/tests/recording/clocked" || fail "the profiles differ from the programs' own figures"
