#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# The example sample_once takes one sample of its only thread.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node
cd "$dir"
"$BUILDDIR/examples/sample_once"
"$VGTOOL" info --json once.vgp >info
for key in samples threads stacks_complete; do
	[ "$(info_value $key)" = 1 ] || fail "$key: $(info_value $key); expected 1"
done
