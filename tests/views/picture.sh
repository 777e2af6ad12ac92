#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Takes a picture of the flame graph in the real Speedscope, for `make picture` and for a test.
#
#     tests/views/picture.sh FILE.json OUT.png
set -eu
. "${SRCDIR:?}/tests/lib.sh"
[ $# = 2 ] || fail "usage: picture.sh FILE.json OUT.png"
. "$SRCDIR/tests/views/browser.sh"
at_end() { tail -n 20 "$dir/chromium.log" 2>/dev/null; }

# drawn: takes the picture; fails unless it is a PNG file of 1800 x 800 pixels with the size of a flame graph.
# (Speedscope's page without a profile has 100 KB.)
drawn() {
	browse left-heavy 900,400 --force-device-scale-factor=2 --screenshot="$dir/out.png" &&
		[ "$(head -c 24 "$dir/out.png" | od -An -t x4 --endian=big -w24)" = "$header" ] &&
		bytes=$(stat -c %s "$dir/out.png") && [ "$bytes" -ge 20000 ] && [ "$bytes" -le 90000 ]
}
header=" 89504e47 0d0a1a0a 0000000d 49484452 00000708 00000320"

prepare "$1"
# On a busy machine the picture may be taken before the page is drawn.
await 300 "a picture of $1" drawn
cp "$dir/out.png" "$2"
at_end() { :; }
