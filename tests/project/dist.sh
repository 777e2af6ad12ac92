#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The release's tarball has every header that its sources include, and every file that its sources, scripts, Makefile.am
# and local.mk name by path.  (`make check-release` builds from the tarball.)  Debian's packages have its version.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
at_end() { chmod -R u+w "$dir"; }

# A separate make, which is not a job of the make that runs this test.
(unset MAKEFLAGS MFLAGS MAKELEVEL; make -s -C "$BUILDDIR" distdir distdir="$dir/dist" am__remove_distdir=:) \
	>"$dir/log" 2>&1 || fail "make distdir: $(cat "$dir/log")"
cd "$SRCDIR"
version=$(sed -n 's/^AC_INIT(\[vignette\], \[\([^]]*\)\].*/\1/p' configure.ac)
head -n 1 debian/changelog | grep -qF "($version)" || fail "debian/changelog does not begin with version '$version'"
folders="base profile libvgctl vignetted vgctl symbols vgtool tests examples bench"
find $folders -name '*.[ch]' | sort >"$dir/sources"
[ "$(wc -l <"$dir/sources")" -gt 300 ] || fail "only $(wc -l <"$dir/sources") sources"

# An #include names a header from the top, from the folder of the source, or from libvgctl/ as applications do.
while read -r source; do
	sed -n 's/^[ \t]*# *include "\([^"]*\)".*/\1/p' "$source" | while read -r header; do
		for place in "$header" "${source%/*}/$header" "libvgctl/$header"; do
			[ ! -f "$place" ] || { echo "$place $source"; break; }
		done
	done
done <"$dir/sources" >"$dir/needed"
# Scripts, Makefile.am and local.mk name files by path.
grep -noHE "\b($(echo $folders man | tr ' ' '|'))/[A-Za-z0-9_./-]+\.[a-zA-Z]+\b" \
	bootstrap Makefile.am */local.mk tests/*.sh tests/*.mjs tests/*/*.sh tests/*/*.mjs bench/*.sh examples/*.sh |
	awk -F: '{ print $3, $1 ":" $2 }' | while read -r file by; do
	[ ! -f "$file" ] || echo "$file $by"
done >>"$dir/needed"
# A script that is in no list of tests/local.mk or bench/local.mk would never run.
find tests bench examples -name '*.sh' -o -name '*.mjs' | sed 's/$/ no list/' >>"$dir/needed"
[ "$(wc -l <"$dir/needed")" -gt 1000 ] || fail "only $(wc -l <"$dir/needed") files are named"
while read -r file by; do
	[ -f "$dir/dist/$file" ] || echo "$file ($by)"
done <"$dir/needed" | sort -u -t ' ' -k 1,1 >"$dir/missing"
[ ! -s "$dir/missing" ] || fail "not in the tarball: $(cat "$dir/missing")"
