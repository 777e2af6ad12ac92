#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# The example sample_once takes one sample of its only thread.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node
cd "$dir"
# The sample is lost if the thread does not stop in time, before it waits for the answer: on a busy machine.
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	"$BUILDDIR/examples/sample_once"
	"$VGTOOL" info --json once.vgp >info
	grep -q '"not_stopped":' info || break
done
for key in samples threads stacks_complete; do
	[ "$(info_value $key)" = 1 ] || fail "$key: $(info_value $key); expected 1"
done
