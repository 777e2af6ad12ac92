#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The program's own events: a million from four threads (SOAK: ten million), kills, a hostile ring.
set -eu
: "${BUILDDIR:?}" "${VIGNETTED:?}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
count=1000000 kills=5 seconds=2
[ -z "${SOAK-}" ] || { count=10000000 kills=200 seconds=60; }
for test in "storm $count" "overwrite $count" "killed $kills" "hostile $seconds"; do
	timeout 600 "$BUILDDIR/tests/events" $test "$dir/events.vgp" ||
		{ echo "FAIL: events $test"; exit 1; }
	rm -f "$dir"/*
done
