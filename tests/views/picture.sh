#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Takes a picture of the flame graph in the real Speedscope, for `make picture`.
#
#     tests/views/picture.sh FILE.json OUT.png
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs chromium
[ $# = 2 ] || fail "usage: picture.sh FILE.json OUT.png"
. "$SRCDIR/tests/views/browser.sh"
speedscope picture "$release" "$dir" "$1" "$dir/out.png"
header=$(head -c 24 "$dir/out.png" | od -An -t x4 --endian=big -w24)
[ "$header" = " 89504e47 0d0a1a0a 0000000d 49484452 00000708 00000320" ] ||
	fail "not a PNG file of 1800 x 800 pixels: $header"
cp "$dir/out.png" "$2"
