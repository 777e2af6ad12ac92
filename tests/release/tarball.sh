#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The release's tarball, as its user has it: built in a minbase with the packages of bootstrap and without autotools,
# the demo, installed, used with the README's program, uninstalled.  No file may remain.  Directories that make install
# has made do: automake does not remove directories, which may be shared.
#
# Needs root, mmdebstrap and a mirror: tests/release/roots.sh.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
. "$SRCDIR/tests/release/roots.sh"
eval "$(sed -n '/^build_packages="/,/"$/p' "$SRCDIR/bootstrap")"
[ -n "$build_packages" ] || fail "no build_packages in bootstrap"
# A tarball has configure, so that its user does not need these.
for package in $build_packages; do
	case $package in autoconf | automake | libtool) ;; *) packages="${packages-}${packages:+,}$package" ;; esac
done

(unset MAKEFLAGS MFLAGS MAKELEVEL; make -s -C "$BUILDDIR" distdir dist-xz) >"$dir/log" 2>&1 ||
	fail "make dist: $(cat "$dir/log")"
root tarball "$this_suite" --include="$packages"
mkdir "$dir/tarball/tmp/build"
tar -C "$dir/tarball/tmp" -xf "$BUILDDIR"/vignette-*.tar.xz
awk '/^```/ { inside = 0 } inside; /^```c$/ { inside = 1 }' "$SRCDIR/README.md" >"$dir/tarball/tmp/slow.c"
chown -R 1000:1000 "$dir/tarball/tmp"

# state: prints every file of the system; /var/cache has ldconfig's
state() {
	(cd "$dir/tarball" && find . \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./var/cache \) -prune \
		-o ! -type d -print | sort)
}

inside tarball 1000:1000 <<'END'
	cd /tmp/build
	../vignette-*/configure -q
	make -s -j2
	make -s demo
	test -s demo/*.speedscope.json
END
state >"$dir/before"
inside tarball 0:0 <<'END'
	cd /tmp/build
	make -s install
	ldconfig
END
inside tarball 1000:1000 <<'END'
	cd /tmp
	export PATH=/usr/local/bin:/usr/local/sbin:$PATH
	cc -g slow.c -o slow $(pkg-config --cflags --libs vgctl)
	./slow
	vgtool report slow.vgp | grep "samples,.*thread"
	vgtool record -o two.vgp --duration 1 -- sh -c "while :; do :; done"
	XDG_RUNTIME_DIR=/tmp vgctl list
END
state >"$dir/installed"
installed=$(comm -13 "$dir/before" "$dir/installed" | wc -l)
[ "$installed" -gt 10 ] || fail "make install added $installed files"
inside tarball 0:0 <<'END'
	cd /tmp/build
	make -s uninstall
	ldconfig
END
state >"$dir/after"
diff "$dir/before" "$dir/after" >"$dir/log" || fail "make uninstall leaves or removes: $(cat "$dir/log")"
echo "the tarball builds, installs $installed files that work, and leaves none"
