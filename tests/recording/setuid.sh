#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A set-user-ID program, or one with file capabilities, that profiles itself: its user does not choose
# the helper, which runs with its rights.  The user 65534 tries to, with another `vignetted`, which leaves a note.
set -eu
# Not in /tmp, which is nosuid on some machines.
export TMPDIR="${BUILDDIR:?}/tests"
. "${SRCDIR:?}/tests/lib.sh"
: "${CC:?}"
[ "$(id -u)" = 0 ] || skip "not root: no set-user-ID program can be made"
unset VIGNETTED TMPDIR
library=$BUILDDIR/libvgctl/.libs

# The host, three times: with the archive, with the archive and not position-independent, and not
# position-independent with the library, which stands in a directory of its own.
mkdir "$dir/bin" "$dir/lib" "$dir/theirs"
cp "$library"/libvgctl.so* "$dir/lib"
host="$SRCDIR/tests/fixtures/setuid_host.c -I$SRCDIR/libvgctl -D_GNU_SOURCE"
$CC -o "$dir/bin/archive" $host "$library/libvgctl.a"
$CC -no-pie -fno-pie -o "$dir/bin/fixed" $host "$library/libvgctl.a"
$CC -no-pie -fno-pie -o "$dir/bin/shared" $host -L"$dir/lib" -lvgctl -Wl,-rpath,"$dir/lib"
$CC -static -D_GNU_SOURCE -o "$dir/theirs/vignetted" "$SRCDIR/tests/fixtures/setuid_helper.c"
cp "$dir/bin/archive" "$dir/plain"
cp "$dir/bin/shared" "$dir/plain_shared"
chmod 755 "$dir" "$dir/bin" "$dir/lib"
chown 65534 "$dir/theirs"
cd "$dir/theirs"

# user COMMAND...: as the other user, in that user's directory; what the host says goes into `said`
user() {
	rm -f ran
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@" >../said 2>&1 ||
		fail "$*: $(cat ../said)"
}

# never WHAT: the other user's `vignetted` was not run, by a host with the rights that it should have
never() {
	grep -q "$rights" ../said || fail "$host, $1: not privileged: $(cat ../said)"
	[ ! -e ran ] || fail "$host, $1: ran $(cat ran)"
}

# attack HOST: all that the other user can do to its name, its place and its environment
attack() {
	host=$(basename "$1")
	user ../plain as "$dir/theirs/x" "$1" begin
	never "argv[0]"
	user ../plain as ./x "$1" begin
	never "relative argv[0]"
	user ../plain as x "$1" begin
	never "argv[0] without a directory"
	user env VIGNETTED="$dir/theirs/vignetted" "$1" begin
	never "VIGNETTED"
	user env PATH="$dir/theirs" "$1" begin
	never "PATH"
	# The system may forbid the user to make this one.
	ln "$1" linked
	user ./linked begin
	never "hard link"
	user ../plain as "$dir/theirs/x" ./linked begin
	never "hard link and argv[0]"
	rm linked
	user "$1" begin vignetted
	never "helper_path relative to the user's directory"
	grep -q 'the path must be absolute' ../said || fail "$host, relative helper_path: $(cat ../said)"
}

chmod 4755 "$dir"/bin/*
user ../bin/archive begin
grep -q 'euid 0:' ../said || fail "$BUILDDIR is on a file system where set-user-ID has no effect (nosuid)"
rights='uid 65534 euid 0:'
for name in archive fixed shared; do
	attack ../bin/$name
done

# The program's own choice counts, and what the user put into the environment does not reach it.
user env LD_LIBRARY_PATH="$dir/theirs" ASAN_OPTIONS=log_path=x UBSAN_OPTIONS=x LSAN_OPTIONS=x TSAN_OPTIONS=x \
	../bin/archive begin "$dir/theirs/vignetted"
[ "$(cat ran)" = "vignetted: uid 65534 euid 0, environment:" ] ||
	fail "helper_path: $(cat ../said); $(cat ran)"
# So does one that only the program's own user may read.
mkdir -m 700 ../private
cp vignetted ../private
user ../bin/archive begin "$dir/private/vignetted"
grep -qs 'euid 0,' ran || fail "a helper_path that only root may read: $(cat ../said)"

chmod 755 "$dir"/bin/*
for name in archive fixed shared; do
	../plain grant ../bin/$name || fail "the file system of $BUILDDIR keeps no capabilities"
done
rights='uid 65534 euid 65534:'
for name in archive fixed shared; do
	attack ../bin/$name
done
../plain grant ../bin/archive
user ../bin/archive begin "$dir/theirs/vignetted"
[ "$(cat ran)" = "vignetted: uid 65534 euid 65534, environment:" ] ||
	fail "helper_path with capabilities: $(cat ../said); $(cat ran)"

# Without rights of its own: beside the program, beside the library, $VIGNETTED, and not by argv[0].
rm -rf ../private
mkdir ../empty
chown 65534 ../empty
theirs=$dir/theirs
cd ../empty
user ../plain as "$theirs/x" ../plain begin
[ ! -e ran ] || fail "argv[0] of an ordinary program: $(cat ran)"
user env VIGNETTED="$theirs/vignetted" ../plain begin
[ -e ran ] || fail "VIGNETTED of an ordinary program: $(cat ../said)"
cp ../theirs/vignetted ../vignetted
user ../plain begin
[ -e ran ] || fail "beside an ordinary program: $(cat ../said)"
mv ../vignetted ../lib
user ../plain_shared begin
[ -e ran ] || fail "beside the library: $(cat ../said)"
