#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A set-user-ID program, or one with file capabilities, profiles itself.  The user who starts the program cannot choose
# the helper, because the helper runs with the program's rights.  The user 65534 tries to make the program run another
# `vignetted`, which would write the file `ran`.
set -eu
# /tmp is nosuid on some machines.
export TMPDIR="${BUILDDIR:?}/tests"
. "${SRCDIR:?}/tests/lib.sh"
: "${CC:?}"
[ "$(id -u)" = 0 ] || skip "not root: no set-user-ID program can be made"
unset VIGNETTED TMPDIR
library=$BUILDDIR/libvgctl/.libs

# Three hosts: with the archive, position-independent and not; and with the library, which is in another directory.
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

# user COMMAND...: runs the command as the other user, in that user's directory, with the output in `printed`
user() {
	rm -f ran
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@" >../printed 2>&1 ||
		fail "$*: $(cat ../printed)"
}

# never WHAT: fails if the other user's `vignetted` was run, or if the host ran without its privileges
never() {
	grep -q "$rights" ../printed || fail "$host, $1: not privileged: $(cat ../printed)"
	[ ! -e ran ] || fail "$host, $1: the wrong helper ran: $(cat ran)"
}

# attack HOST: does all that the other user can do with the host's name, place and environment
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
	# Root makes the link, because fs.protected_hardlinks may forbid it to the user.
	ln "$1" linked
	user ./linked begin
	never "hard link"
	user ../plain as "$dir/theirs/x" ./linked begin
	never "hard link and argv[0]"
	rm linked
	user "$1" begin vignetted
	never "helper_path relative to the user's directory"
	grep -q 'a privileged program needs an absolute path' ../printed || fail "$host, relative helper_path: $(cat ../printed)"
}

chmod 4755 "$dir"/bin/*
user ../bin/archive begin
grep -q 'euid 0:' ../printed || fail "$BUILDDIR is on a file system where set-user-ID has no effect (nosuid)"
rights='uid 65534 euid 0:'
for name in archive fixed shared; do
	attack ../bin/$name
done

# The helper that the program chooses is run, without the user's environment.
user env LD_LIBRARY_PATH="$dir/theirs" ASAN_OPTIONS=log_path=x UBSAN_OPTIONS=x LSAN_OPTIONS=x TSAN_OPTIONS=x \
	../bin/archive begin "$dir/theirs/vignetted"
[ "$(cat ran)" = "vignetted: uid 65534 euid 0, environment:" ] ||
	fail "helper_path: $(cat ../printed); $(cat ran)"
# That helper is also run if only the program's effective user may read it.
mkdir -m 700 ../private
cp vignetted ../private
user ../bin/archive begin "$dir/private/vignetted"
grep -qs 'euid 0,' ran || fail "a helper_path that only root may read: $(cat ../printed)"

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
	fail "helper_path with capabilities: $(cat ../printed); $(cat ran)"

# An ordinary program finds its helper beside the program, beside the library or by $VIGNETTED, and not by argv[0].
rm -rf ../private
mkdir ../empty
chown 65534 ../empty
theirs=$dir/theirs
cd ../empty
user ../plain as "$theirs/x" ../plain begin
[ ! -e ran ] || fail "argv[0] of an ordinary program: $(cat ran)"
user env VIGNETTED="$theirs/vignetted" ../plain begin
[ -e ran ] || fail "VIGNETTED of an ordinary program: $(cat ../printed)"
cp ../theirs/vignetted ../vignetted
user ../plain begin
[ -e ran ] || fail "beside an ordinary program: $(cat ../printed)"
mv ../vignetted ../lib
user ../plain_shared begin
[ -e ran ] || fail "beside the library: $(cat ../printed)"
