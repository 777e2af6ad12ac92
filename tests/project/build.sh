#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# configure and bootstrap.  After another --prefix, make compiles anew what has a directory in it.  configure names all
# missing libraries at once.  bootstrap works without apt-get and sudo.  release/prefix.sh builds with two prefixes.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES TESTS CONFIG_SITE          # from the make that runs this script
[ -x "$SRCDIR/configure" ] || fail "no configure in $SRCDIR"

# In this build, every source that has a directory in it is compiled anew after a change, and so is the helper's link.
sources() {
	# With -n, make supposes that config.h is new: -o says that it is not.  The make that `all` starts would not have
	# -o and -W, so the target is all-am.
	make -n -C "$BUILDDIR" -o config.h -W configured all-am >"$dir/anew" 2>&1
	compiled=$(grep -c -e ' -c -o ' "$dir/anew" || true)
	[ "$compiled" -le 20 ] || fail "expected a few compiles, got $compiled"
	for source in $(cd "$SRCDIR" && grep -lE 'VG_LIBEXECDIR' libvgctl/*.c vignetted/*/*.c vgtool/*/*.c vgctl/*.c); do
		case $source in
		libvgctl/*) object=libvgctl/libvgctl_la-$(basename "$source" .c).lo ;;
		*) object=${source%.c}.o ;;
		esac
		grep -qF "$object" "$dir/anew" || fail "$source is not compiled anew"
	done
	grep -q -e '-o vignetted/vignetted' "$dir/anew" || fail "vignetted is not linked anew"
}

# refused OPTION...: runs configure where pkg-config finds no library.  It must fail.
refused() {
	mkdir -p refused nothing
	cd refused
	exits 1 env PKG_CONFIG_LIBDIR="$dir/nothing" "$SRCDIR/configure" -q --cache-file="$dir/cache" CFLAGS=-O0 "$@"
	cd ..
}
refusals() {
	refused --without-tools
	! grep -q libdw "$dir/err" || fail "libdw is wanted for the helper: $(cat "$dir/err")"
	refused ac_cv_lib_Zydis_ZydisDecoderDecodeInstruction=no
	for name in libunwind libzydis libseccomp zlib1g libmsgpack libdw liblzma libzstd libdeflate libprotobuf-c; do
		has err "$name-dev"
	done
	exits 1 "$SRCDIR/configure" -q --host=riscv64-linux-gnu
	has err "--without-helper builds the tools"
}

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
side_by_side refusals sources bootstrap
