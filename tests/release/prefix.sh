#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The library is built without any other library.  After configure with another --prefix, make compiles anew what has a
# directory in it, and nothing else.  Without helper and tools `make check` fails and says why.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES TESTS CONFIG_SITE          # from the make that runs this script
[ -x "$SRCDIR/configure" ] || fail "no configure in $SRCDIR"
cd "$dir"

# configured OPTION...: runs configure in the folder `library`, where pkg-config finds no library
configured() {
	mkdir -p library nothing
	cd library
	exits 0 env PKG_CONFIG_LIBDIR="$dir/nothing" "$SRCDIR/configure" -q --cache-file="$dir/cache" \
		--disable-static CFLAGS=-O0 "$@"
	cd ..
}
# places NAME: fails unless the library has the directory $dir/NAME/libexec and no other libexec
places() {
	make -s -C "$dir/library" >"$dir/log" 2>&1 || fail "make: $(cat "$dir/log")"
	found=$(strings "$dir/library/libvgctl/.libs/libvgctl.so" | grep -o '/[a-z/.A-Z0-9]*/libexec' | sort -u)
	[ "$found" = "$dir/$1/libexec" ] || fail "the library after --prefix=$dir/$1: $found"
	make -s -C "$dir/library" install >"$dir/log" 2>&1 || fail "make install: $(cat "$dir/log")"
	[ -f "$dir/$1/lib/libvgctl.so" ] && [ ! -e "$dir/$1/sbin" ] && [ ! -e "$dir/$1/bin" ] ||
		fail "installed: $(find "$dir/$1")"
}
configured --without-helper --without-tools --prefix="$dir/old"
places old
configured --without-helper --without-tools --prefix="$dir/new"
places new
# make compares only the file `configured`.
make -C "$dir/library" >"$dir/log" 2>&1
! grep -E '^ +CC' "$dir/log" || fail "a second make compiles"
! make -C "$dir/library" check >"$dir/log" 2>&1 || fail "make check succeeds without tests"
grep -q 'the tests need the helper and the tools' "$dir/log" || fail "make check: $(cat "$dir/log")"
