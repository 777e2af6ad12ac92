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
}
# plant_unit FILE: does what plant() does, and compiles the file into an object of the copy
plant_unit() {
	plant "$1"
	$CC -c -o "$dir/build/${1%.c}.o" "$dir/source/$1"
}

# expect MESSAGE TEXT: at the end, house.sh must print both in one line
: >"$dir/expected"
expect() { printf '%s\t%s\n' "$1" "$2" >>"$dir/expected"; }

# ---- no violation, also with objects of an earlier build whose sources do not exist ----
echo 'int vg_planted(void) { return 0; }' | plant_unit vgtool/planted.c
echo 'int vg_planted(void); int vg_below(void) { return vg_planted(); }' | plant_unit base/planted.c
rm "$dir/source/vgtool/planted.c" "$dir/source/base/planted.c"
house || fail "a copy without a violation fails: $(cat "$dir/printed")"

# ---- a build folder without objects ----
mv "$dir/build" "$dir/away"
mkdir -p "$dir/build/libvgctl/.libs"
! house || fail "passed without objects"
grep -qF "FAIL: only 0 uses of symbols were found: is $dir/build built?" "$dir/printed" || fail "$(cat "$dir/printed")"
rm -r "$dir/build"
mv "$dir/away" "$dir/build"

# All violations are planted at once, because house.sh prints each one.  Their functions have different names.

# ---- which folder uses which ----
echo '#include "vgtool/commands/command.h"' | plant base/upward.c
expect 'the table of folders does not allow: ' 'base/upward uses vgtool/commands/command (includes)'

echo '#include "vignetted/session/session.h"' | plant vignetted/unwind/upward.h
expect 'the table of folders does not allow: ' 'vignetted/unwind/upward uses vignetted/session/session (includes)'

# libvgctl may use some units of base, but not this one.
echo '#include "base/infile.h"' | plant libvgctl/sideways.c
expect 'the table of folders does not allow: ' 'libvgctl/sideways uses base/infile (includes)'

echo 'int vg_above(void) { return 0; }' | plant_unit vgtool/above.c
echo 'int vg_above(void); int vg_below(void) { return vg_above(); }' | plant_unit profile/below.c
expect 'the table of folders does not allow: ' 'profile/below uses vgtool/above (vg_above)'

echo '#include "base/err.h"' | plant vgtool/folder/unknown.c
expect 'the table of folders does not allow: ' 'vgtool/folder/unknown is in a folder without a rule'

echo '#include "../vgtool/commands/command.h"' | plant base/form.c
expect 'an include must have the form "folder/header.h": ' base/form.c

# ---- vignetted/policy is pure ----
echo 'int clock_gettime(int, void *); int vg_impure(void *now) { return clock_gettime(0, now); }' |
	plant_unit vignetted/policy/impure.c
expect 'vignetted/policy needs more than its arguments: ' 'clock_gettime vignetted/policy/impure'

echo '#include "base/clock.h"' | plant vignetted/policy/clock.c
expect 'the table of folders does not allow: ' 'vignetted/policy/clock uses base/clock (includes)'

# ---- circles ----
echo 'int vg_second(void); int vg_first(void) { return vg_second(); }' | plant_unit base/first.c
echo 'int vg_first(void); int vg_second(void) { return vg_first(); }' | plant_unit base/second.c
expect 'units use each other in a circle: ' 'base/first base/second'

echo '#include "libvgctl/second.h"' | plant libvgctl/first.h
echo '#include "libvgctl/first.h"' | plant libvgctl/second.c
expect 'units use each other in a circle: ' 'libvgctl/first libvgctl/second'

# Benchmarks have no objects in the copy.
echo '#include "bench/second.h"' | plant bench/first.c
echo '#include "bench/first.h"' | plant bench/second.c
expect 'units use each other in a circle: ' 'bench/first bench/second'

echo '#include "tests/recording/litter.h"' | plant tests/unit/sideways.c
expect 'a test uses another folder of tests: ' 'tests/unit/sideways uses tests/recording/litter'

# ---- declarations ----
echo 'extern int vg_planted(void);' | plant profile/extern.c
expect 'extern in a .c file: ' profile/extern.c

echo '#define VG_PLANTED 1' | plant profile/twice_first.h
echo 'enum { VG_OTHER = 1, VG_PLANTED = 2 };' | plant vgtool/twice_second.h
expect 'defined in two headers: ' 'VG_PLANTED (profile/twice_first.h, vgtool/twice_second.h)'

# ---- what libvgctl exports and needs ----
rm "$dir/build/libvgctl/.libs/libvgctl.so"
echo 'int vgctl_planted(void) { return 0; } int vg_planted(void) { return 0; }' |
	$CC -shared -fPIC -x c -o "$dir/build/libvgctl/.libs/libvgctl.so" - -Wl,--no-as-needed -lm
expect 'libvgctl.so exports ' vg_planted
expect 'libvgctl.so exports no ' vgctl_begin
expect 'libvgctl.so needs ' libm.so

# ---- what prints and exits ----
echo 'void vg_planted(void) { printf("planted"); }' | plant symbols/elf/prints.c
expect 'libraries that print or exit: ' symbols/elf/prints.c

echo 'void vg_planted(FILE *file) { fputs("planted", stderr); }' | plant base/prints.c
expect 'libraries that print or exit: ' base/prints.c

echo 'void vg_planted(void) { exit(1); }' | plant libvgctl/exits.c
expect 'libraries that print or exit: ' libvgctl/exits.c

echo 'void vg_planted(void) { fprintf(stderr, "planted"); }' | plant vgtool/views/prints.c
expect 'printed without base/print.h: ' vgtool/views/prints.c

echo 'const char *vg_planted(void) { return strerrordesc_np(1); }' | plant vgctl/words.c
expect 'use vg_errno_text() instead of strerrordesc_np: ' vgctl/words.c

# ---- files ----
plant vgctl/utilities.c </dev/null
expect 'a file name that says nothing: ' vgctl/utilities.c

seq -f '/* %g */' 801 | plant vignetted/serve/long.c
expect 'files too long: ' 'vignetted/serve/long.c (801)'

seq -f '/* %g */' 801 | plant vgctl/long.h
expect 'files too long: ' 'vgctl/long.h (801)'

echo 'if true; then' | plant tests/unread.sh
expect 'sh cannot read ' tests/unread.sh

! house || fail "passed with $(wc -l <"$dir/expected") violations"
grep '^FAIL: ' "$dir/printed" >"$dir/reported"
while IFS="$(printf '\t')" read -r message text; do
	grep -F -e "$message" "$dir/reported" | grep -qF -e "$text" || echo "$message$text"
done <"$dir/expected" >"$dir/unreported"
[ ! -s "$dir/unreported" ] || fail "house.sh did not report: $(cat "$dir/unreported"); it reported: $(cat "$dir/reported")"
