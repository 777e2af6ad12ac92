#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# libvgctl under ThreadSanitizer: many threads begin, sample and end sessions and read messages at the same time,
# without a data race.  Any report fails the test.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
: "${CC:?}"
libraries=$BUILDDIR/libvgctl/.libs
rounds=40
[ -z "${SOAK-}" ] || rounds=5000
cd "$SRCDIR"
flags="-std=gnu11 -D_GNU_SOURCE -O1 -g -fsanitize=thread -fPIE -I$SRCDIR -DVG_LIBEXECDIR=\"/nonexistent\""
mkdir "$dir/objects"
(cd "$dir/objects" && $CC $flags -c $(ls "$SRCDIR"/libvgctl/*.c "$SRCDIR"/base/*.c | grep -v "/floor.c$"))
$CC $flags -pie -o "$dir/threads" tests/recording/threads.c "$dir"/objects/*.o -lpthread
# The first sessions of a program, with two libraries: the one compiled above, and the build's own libvgctl, which is
# not compiled with ThreadSanitizer.
$CC $flags -pie -o "$dir/first" tests/recording/hosts_memory.c "$dir"/objects/*.o -lpthread
$CC $flags -pie -o "$dir/first_beside" tests/recording/hosts_memory.c -L"$libraries" -Wl,-rpath,"$libraries" -lvgctl -lpthread
# A program with a data race, which the sanitizer must report.
cat >"$dir/race.c" <<'END'
#include <pthread.h>
static int shared;
static void *touch(void *x) { for (int i = 0; i < 1000; i++) shared++; return x; }
int main(void)
{
	pthread_t a, b;
	pthread_create(&a, 0, touch, 0);
	pthread_create(&b, 0, touch, 0);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return 0;
}
END
$CC -fsanitize=thread -fPIE -pie -g -o "$dir/race" "$dir/race.c" -lpthread
cd "$dir"
# The sanitizer remembers only the latest accesses.
races() {
	for try in 1 2 3 4 5 6 7 8 9 10; do
		./race 2>log || return 0
	done
	return 1
}
races || fail "the sanitizer does not report a planted race"
status=0
TSAN_OPTIONS="halt_on_error=0 exitcode=66" ./threads p.vgp $rounds >out 2>log || status=$?
cat out
[ $status = 0 ] || fail "status $status: $(head -60 log)"
! grep -q 'WARNING: ThreadSanitizer' log || fail "$(head -60 log)"
"$VGTOOL" info p.vgp >/dev/null
for program in first first_beside; do
	status=0
	TSAN_OPTIONS="halt_on_error=0 exitcode=66" timeout -s KILL $life_s "./$program" first first.vgp >log 2>&1 ||
		status=$?
	[ $status = 0 ] || fail "$program: status $status: $(head -60 log)"
done
