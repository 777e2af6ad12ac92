#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# configure and bootstrap.  The library is built without any other library.  After another --prefix, make compiles anew
# what has a directory in it.  configure names all missing libraries at once.  bootstrap works without apt-get and sudo.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES TESTS CONFIG_SITE          # from the make that runs this script
[ -x "$SRCDIR/configure" ] || fail "no configure in $SRCDIR"

# configured STATUS OPTION...: runs configure in the folder `library`, where pkg-config finds no library
configured() {
	configured_status=$1
	shift
	mkdir -p library nothing
	cd library
	exits $configured_status env PKG_CONFIG_LIBDIR="$dir/nothing" "$SRCDIR/configure" -q --cache-file="$dir/cache" \
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
prefixes() {
	configured 0 --without-helper --without-tools --prefix="$dir/old"
	places old
	configured 0 --without-helper --without-tools --prefix="$dir/new"
	places new
	# make compares only the file `configured`.
	make -C "$dir/library" >"$dir/log" 2>&1
	! grep -E '^ +CC' "$dir/log" || fail "a second make compiles"
	! make -C "$dir/library" check >"$dir/log" 2>&1 || fail "make check succeeds without tests"
	grep -q 'the tests need the helper and the tools' "$dir/log" || fail "make check: $(cat "$dir/log")"
}

# In this build, every source that has a directory in it is compiled anew after a change, and so is the helper's link.
sources() {
	make -n -C "$BUILDDIR" -W configured all >"$dir/anew" 2>&1
	for source in $(cd "$SRCDIR" && grep -lE 'VG_LIBEXECDIR' libvgctl/*.c vignetted/*/*.c vgtool/*/*.c vgctl/*.c); do
		case $source in
		libvgctl/*) object=libvgctl/libvgctl_la-$(basename "$source" .c).lo ;;
		*) object=${source%.c}.lo ;;
		esac
		grep -qF "$object" "$dir/anew" || fail "$source is not compiled anew"
	done
	grep -q -e '-o vignetted/vignetted' "$dir/anew" || fail "vignetted is not linked anew"
}

refusals() {
	configured 1 --without-tools
	! grep -q libdw "$dir/err" || fail "libdw is wanted for the helper: $(cat "$dir/err")"
	configured 1 ac_cv_lib_Zydis_ZydisDecoderDecodeInstruction=no
	for name in libunwind libzydis libseccomp zlib1g libmsgpack libdw liblzma libzstd libdeflate libprotobuf-c; do
		has err "$name-dev"
	done
	exits 1 "$SRCDIR/configure" -q --host=riscv64-linux-gnu
	has err "--without-helper builds the tools"
}
configures() { prefixes; refusals; }

# bootstrap with stubs of autoconf and configure, in a PATH without apt-get, dpkg-query, sudo and npm
bootstrap() {
	mkdir "$dir/tree" "$dir/bin"
	cp "$SRCDIR/bootstrap" "$dir/tree/"
	for name in sh dirname nproc id mkdir rm cat tail make cc pkg-config sed grep; do
		ln -s "$(command -v $name)" "$dir/bin/"
	done
	for name in autoreconf aclocal; do
		printf '#!%s/bin/sh\nprintf "#!%s/bin/sh\\necho all: >Makefile\\n" >configure; chmod +x configure\n' \
			"$dir" "$dir" >"$dir/bin/$name"
	done
	ln -s "$(command -v chmod)" "$dir/bin/"
	chmod +x "$dir"/bin/a*
	touch "$dir/tree/configure.ac" "$dir/tree/Makefile.am"
	exits 1 env PATH="$dir/bin" "$dir/tree/bootstrap"
	has err "these commands are missing: libtoolize (Debian: libtool)"
	ln -s autoreconf "$dir/bin/libtoolize"
	exits 0 env PATH="$dir/bin" "$dir/tree/bootstrap"
	has err "there is no apt-get, and uses what is there. Wanted, by Debian's names: gcc make autoconf"
	[ -f "$dir/tree/build/Makefile" ] || fail "bootstrap did not go on"
	# With apt-get, for a user who may not install packages.
	printf '#!%s/bin/sh\nexit 100\n' "$dir" >"$dir/bin/apt-get"
	chmod +x "$dir/bin/apt-get"
	cp "$dir/bin/apt-get" "$dir/bin/sudo"
	rm -r "$dir/tree/build"
	exits 0 env PATH="$dir/bin" "$dir/tree/bootstrap"
	has err "because apt-get failed, and uses what is there. Wanted"
	[ -f "$dir/tree/build/Makefile" ] || fail "bootstrap did not go on"
}
side_by_side configures sources bootstrap
