#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The application's events: three million from four threads (SOAK: ten million), kills, a ring with random bytes, short
# intervals.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs python3 g++
count=3000000 kills=5 seconds=2
[ -z "${SOAK-}" ] || { count=10000000 kills=200 seconds=60; }
# The header and its macro can be used in C and C++.
for language in "c -std=c99" "c -std=gnu11" "c++ -std=c++11" "c++ -std=c++20"; do
	printf '#include "libvgctl/vgctl.h"\nint main(void) { VGCTL_SCOPE(vgctl_intern("a"), 0); { VGCTL_SCOPE(0, 0); } vgctl_counter(0, -1); return 0; }\n' |
		"${CC:-gcc}" -I"$SRCDIR" -x $language -Wall -Wextra -Werror -pedantic -Wno-variadic-macros -fsyntax-only - ||
		fail "vgctl.h does not compile as $language"
done
# An application can load the library with dlopen(3).
preload=
[ -z "${SANITIZE-}" ] || preload=$("${CC:-gcc}" -print-file-name=libasan.so)
LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 python3 -c 'import ctypes, sys; l = ctypes.CDLL(sys.argv[1]); assert l.vgctl_intern(b"a") == 1' \
	"$BUILDDIR/libvgctl/.libs/libvgctl.so" || fail "dlopen"
for test in "storm $count" "overwrite $count" "killed $kills" "hostile $seconds" "within 100000"; do
	timeout $life_s "$BUILDDIR/tests/recording/events" $test "$dir/events.vgp" ||
		fail "events $test failed"
	rm -f "$dir"/*
done
