#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# The example sample_once takes one sample of its only thread.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
cd "$dir"
"$BUILDDIR/examples/sample_once"
for key in samples threads stacks_complete; do
	[ "$(info once.vgp $key)" = 1 ] || fail "$key: $(info once.vgp $key)"
done
