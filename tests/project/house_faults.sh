#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Tests tests/project/house.sh.  A copy of the sources passes.  A copy with one planted violation of a rule fails with
# the rule's message, which names the planted file.
set -eu
. "${SRCDIR:?}/tests/lib.sh"

# Copies of the sources, and links to their objects, so that planted objects can be added.
folders='base profile libvgctl symbols vignetted vgctl vgtool'
mkdir "$dir/source" "$dir/build"
(cd "$SRCDIR" && find bootstrap $folders bench tests examples -name '*.[ch]' -o -name '*.sh' -o -name bootstrap) >"$dir/files"
(cd "$SRCDIR" && tar -cf - -T "$dir/files") | tar -xf - -C "$dir/source"
chmod -R u+w "$dir/source"
for folder in $folders; do cp -rs "$BUILDDIR/$folder" "$dir/build/"; done

house() {
	SRCDIR=$dir/source BUILDDIR=$dir/build sh "$SRCDIR/tests/project/house.sh" >"$dir/printed" 2>&1
}

# plant FILE: writes standard input to that file of the copy
plant() {
	mkdir -p "$dir/source/${1%/*}" "$dir/build/${1%/*}"
	cat >"$dir/source/$1"
	echo "$dir/source/$1" >>"$dir/planted"
}
# plant_unit FILE: does what plant() does, and compiles the file into an object of the copy
plant_unit() {
	plant "$1"
	$CC -c -o "$dir/build/${1%.c}.o" "$dir/source/$1"
	echo "$dir/build/${1%.c}.o" >>"$dir/planted"
}
# plant_library FLAGS: compiles standard input into the copy's libvgctl.so
plant_library() {
	rm "$library"
	$CC -shared -fPIC -x c -o "$library" - "$@"
}
library=$dir/build/libvgctl/.libs/libvgctl.so
: >"$dir/planted"

# expect MESSAGE TEXT: house.sh must fail and print both in one line.  Removes the planted files.
expect() {
	if house; then
		fail "passed with a violation of: $1"
	elif ! grep '^FAIL: ' "$dir/printed" | grep -F "$1" | grep -qF "$2"; then
		fail "no message with '$1' and '$2': $(cat "$dir/printed")"
	fi
	planted_remove
}
planted_remove() {
	xargs rm -f <"$dir/planted"
	: >"$dir/planted"
	ln -sf "$BUILDDIR/libvgctl/.libs/libvgctl.so" "$library"
}

# ---- no violation, also with objects of an earlier build whose sources do not exist ----
echo 'int vg_planted(void) { return 0; }' | plant_unit vgtool/planted.c
echo 'int vg_planted(void); int vg_below(void) { return vg_planted(); }' | plant_unit base/planted.c
rm "$dir/source/vgtool/planted.c" "$dir/source/base/planted.c"
house || fail "a copy without a violation fails: $(cat "$dir/printed")"
planted_remove

# ---- a build folder without objects ----
mv "$dir/build" "$dir/away"
mkdir -p "$dir/build/libvgctl/.libs"
expect 'only 0 uses of symbols were found: ' "$dir/build"
rm -r "$dir/build"
mv "$dir/away" "$dir/build"

# ---- which folder uses which ----
echo '#include "vgtool/commands/command.h"' | plant base/planted.c
expect 'the table of folders does not allow: ' 'base/planted uses vgtool/commands/command (includes)'

echo '#include "vignetted/session/session.h"' | plant vignetted/unwind/planted.h
expect 'the table of folders does not allow: ' 'vignetted/unwind/planted uses vignetted/session/session (includes)'

# libvgctl may use some units of base, but not this one.
echo '#include "base/infile.h"' | plant libvgctl/planted.c
expect 'the table of folders does not allow: ' 'libvgctl/planted uses base/infile (includes)'

echo 'int vg_planted(void) { return 0; }' | plant_unit vgtool/planted.c
echo 'int vg_planted(void); int vg_below(void) { return vg_planted(); }' | plant_unit profile/planted.c
expect 'the table of folders does not allow: ' 'profile/planted uses vgtool/planted (vg_planted)'

echo '#include "base/err.h"' | plant vgtool/folder/planted.c
expect 'the table of folders does not allow: ' 'vgtool/folder/planted is in a folder without a rule'

echo '#include "../vgtool/commands/command.h"' | plant base/planted.c
expect 'an include must have the form "folder/header.h": ' base/planted.c

# ---- vignetted/policy is pure ----
echo 'int clock_gettime(int, void *); int vg_planted(void *now) { return clock_gettime(0, now); }' |
	plant_unit vignetted/policy/planted.c
expect 'vignetted/policy needs more than its arguments: ' 'clock_gettime vignetted/policy/planted'

echo '#include "base/clock.h"' | plant vignetted/policy/planted.c
expect 'the table of folders does not allow: ' 'vignetted/policy/planted uses base/clock (includes)'

# ---- circles ----
echo 'int vg_second(void); int vg_first(void) { return vg_second(); }' | plant_unit base/planted_first.c
echo 'int vg_first(void); int vg_second(void) { return vg_first(); }' | plant_unit base/planted_second.c
expect 'units use each other in a circle: ' 'base/planted_first base/planted_second'

echo '#include "libvgctl/planted_second.h"' | plant libvgctl/planted_first.h
echo '#include "libvgctl/planted_first.h"' | plant libvgctl/planted_second.c
expect 'units use each other in a circle: ' 'libvgctl/planted_first libvgctl/planted_second'

# Benchmarks have no objects in the copy.
echo '#include "bench/planted_second.h"' | plant bench/planted_first.c
echo '#include "bench/planted_first.h"' | plant bench/planted_second.c
expect 'units use each other in a circle: ' 'bench/planted_first bench/planted_second'

echo '#include "tests/recording/litter.h"' | plant tests/unit/planted.c
expect 'a test uses another folder of tests: ' 'tests/unit/planted uses tests/recording/litter'

# ---- declarations ----
echo 'extern int vg_planted(void);' | plant profile/planted.c
expect 'extern in a .c file: ' profile/planted.c

echo '#define VG_PLANTED 1' | plant profile/planted_first.h
echo 'enum { VG_OTHER = 1, VG_PLANTED = 2 };' | plant vgtool/planted_second.h
expect 'defined in two headers: ' 'VG_PLANTED (profile/planted_first.h, vgtool/planted_second.h)'

# ---- what libvgctl exports and needs ----
echo 'int vgctl_begin(void) { return 0; } int vg_planted(void) { return 0; }' | plant_library
expect 'libvgctl.so exports ' vg_planted

echo 'int vgctl_planted(void) { return 0; }' | plant_library
expect 'libvgctl.so exports no ' vgctl_begin

echo 'int vgctl_begin(void) { return 0; }' | plant_library -Wl,--no-as-needed -lm
expect 'libvgctl.so needs ' libm.so

# ---- what prints and exits ----
echo 'void vg_planted(void) { printf("planted"); }' | plant symbols/elf/planted.c
expect 'libraries that print or exit: ' symbols/elf/planted.c

echo 'void vg_planted(FILE *file) { fputs("planted", stderr); }' | plant base/planted.c
expect 'libraries that print or exit: ' base/planted.c

echo 'void vg_planted(void) { exit(1); }' | plant libvgctl/planted.c
expect 'libraries that print or exit: ' libvgctl/planted.c

echo 'void vg_planted(void) { fprintf(stderr, "planted"); }' | plant vgtool/views/planted.c
expect 'printed without base/print.h: ' vgtool/views/planted.c

echo 'const char *vg_planted(void) { return strerrordesc_np(1); }' | plant vgctl/planted.c
expect 'use vg_errno_text() instead of strerrordesc_np: ' vgctl/planted.c

# ---- files ----
plant vgctl/utilities.c </dev/null
expect 'a file name that says nothing: ' vgctl/utilities.c

seq -f '/* %g */' 451 | plant vignetted/serve/planted.c
expect 'files too long: ' 'vignetted/serve/planted.c (451)'

seq -f '/* %g */' 451 | plant vgctl/planted.h
expect 'files too long: ' 'vgctl/planted.h (451)'

echo 'if true; then' | plant tests/planted.sh
expect 'sh cannot read ' tests/planted.sh

