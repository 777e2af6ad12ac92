#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# suite.sh tests/unit/NAME.suite: runs the suite NAME of tests/unit/runner.  `others` is all suites of suites.h that
# are not in SUITES.
# With these variables people choose test cases (HACKING.md).  A suite must run whole here.
unset CK_RUN_CASE CK_RUN_SUITE CK_FORK
name=$(basename "$1" .suite)
if [ "$name" = others ]; then
	name=$(sed -n 's/^\teach(\([a-z0-9_]*\)).*/\1/p' "$SRCDIR/tests/unit/suites.h" | grep -vxF "$(echo "$SUITES" | tr ' ' '\n')")
fi
exec "$BUILDDIR/tests/unit/runner" $name
