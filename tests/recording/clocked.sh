#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Programs that measure themselves are recorded by timers and by stops.  Sums of wall time and CPU time in the profile
# equal what the program measured, and shares are near to it: on a busy machine, waiting for a CPU shifts them.  TIMING:
# narrow bounds of the shares, and the numbers of samples.  `make truth` does this for more programs, and prints a
# table.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node
CHECK=1 node "$SRCDIR/tests/recording/clocked.mjs" "$BUILDDIR/tests/recording/clocked" ||
	fail "the profiles differ from the programs' own figures"
