#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A program survives its helper, which is killed 20 times (SOAK: 1,000).
set -eu
. "${SRCDIR:?}/tests/lib.sh"
helper_with_pid
rounds=20
[ -z "${SOAK-}" ] || rounds=1000
VIGNETTED=$dir/helper "$BUILDDIR/tests/recording/kills" $rounds "$dir/kills.vgp" "$dir/pid"
