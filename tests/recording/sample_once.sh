#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# The smallest program of the examples takes one sample of its one thread.
set -eu
: "${BUILDDIR:?}" "${VGTOOL:?}" "${VIGNETTED:?}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
"$BUILDDIR/examples/sample_once"
"$VGTOOL" info --json once.vgp >info.json
cat info.json
grep -q '"samples":1,"threads":1,' info.json
grep -q '"stacks_complete":1,' info.json
