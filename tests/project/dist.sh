#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The release's tarball holds every header that a source in it includes, and every file that a source, a script or
# Makefile.am names by its path.  (`make check-release` builds from the tarball.)
set -eu
. "${SRCDIR:?}/tests/lib.sh"
at_end() { chmod -R u+w "$dir"; }

# Not the make that runs this test, and none of its jobs.
(unset MAKEFLAGS MFLAGS MAKELEVEL; make -s -C "$BUILDDIR" distdir distdir="$dir/dist" am__remove_distdir=:) \
	>"$dir/log" 2>&1 || fail "make distdir: $(cat "$dir/log")"
cd "$SRCDIR"
folders="base profile libvgctl vignetted vgctl symbols vgtool tests examples bench"
find $folders -name '*.[ch]' | sort >"$dir/sources"
[ "$(wc -l <"$dir/sources")" -gt 300 ] || fail "only $(wc -l <"$dir/sources") sources"

# Headers are named from the top, from beside who includes them, or from libvgctl/, as programs do.
while read -r source; do
	sed -n 's/^[ \t]*# *include "\([^"]*\)".*/\1/p' "$source" | while read -r header; do
		for place in "$header" "${source%/*}/$header" "libvgctl/$header"; do
			[ ! -f "$place" ] || { echo "$place $source"; break; }
		done
	done
done <"$dir/sources" >"$dir/needed"
# In scripts and Makefile.am a file stands by its path.
grep -noHE "\b($(echo $folders man | tr ' ' '|'))/[A-Za-z0-9_./-]+\.[a-zA-Z]+\b" \
	bootstrap Makefile.am tests/*.sh tests/*.mjs tests/*/*.sh tests/*/*.mjs bench/*.sh examples/*.sh |
	awk -F: '{ print $3, $1 ":" $2 }' | while read -r file by; do
	[ ! -f "$file" ] || echo "$file $by"
done >>"$dir/needed"
[ "$(wc -l <"$dir/needed")" -gt 1000 ] || fail "only $(wc -l <"$dir/needed") files are named"
while read -r file by; do
	[ -f "$dir/dist/$file" ] || echo "$file ($by)"
done <"$dir/needed" | sort -u -t ' ' -k 1,1 >"$dir/missing"
[ ! -s "$dir/missing" ] || fail "not in the tarball: $(cat "$dir/missing")"
