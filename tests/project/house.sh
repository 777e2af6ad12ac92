#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Rules of the source tree: which folder may use which, no circles between units, what is exported, what may print.
# tests/project/house_faults.sh tests that each violation is found.
#
# A unit is X.c with X.h.  A unit uses another one if it includes the other's header, or if its object needs a symbol
# that the other defines.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
export LC_ALL=C
cd "$SRCDIR"

# broken MESSAGE: prints what breaks a rule, in one line.  The test fails at its end, after all rules.
breaches=0
broken() {
	printf 'FAIL: %s' "$*" | tr '\n' ';'
	echo
	breaches=$((breaches + 1))
}

# Each folder, and what it may use besides itself: folders or single units
folders='
base
profile                 base
libvgctl                base/clock base/descriptor base/outfile base/err base/intern base/counters base/utf8 base/system_calls
vignetted/policy
vignetted/target        base profile vignetted/policy libvgctl/ring libvgctl/wire libvgctl/channel
vignetted/unwind        base profile vignetted/policy vignetted/target
vignetted/output        base profile libvgctl/wire vignetted/policy vignetted/target vignetted/unwind
vignetted/capture       base profile vignetted/policy vignetted/target vignetted/unwind
vignetted/session       base profile libvgctl/ring vignetted/policy vignetted/target vignetted/unwind vignetted/output vignetted/capture
vignetted/serve         base profile libvgctl/wire libvgctl/channel vignetted/policy vignetted/target vignetted/output vignetted/capture vignetted/session
vignetted               base profile libvgctl/wire vignetted/output/recorder vignetted/session vignetted/serve
vgctl                   base libvgctl/wire libvgctl/channel
symbols/table           base
symbols/elf             base symbols/table
symbols/dwarf           base symbols/table symbols/elf
symbols/cfi             base symbols/table symbols/elf
symbols/breakpad        base symbols/table
symbols/store           base symbols/table symbols/elf symbols/breakpad symbols/binary
symbols                 base symbols/table symbols/elf symbols/dwarf symbols/cfi
vgtool/run              base symbols/table/debug_id
vgtool/output           base
vgtool/analysis         base profile vgtool/output
vgtool/resolve          base profile symbols vgtool/output vgtool/analysis
vgtool/page
vgtool/views            base profile symbols/table/debug_id vgtool/output vgtool/analysis vgtool/page
vgtool/commands         base profile symbols vgtool/run vgtool/output vgtool/analysis vgtool/resolve vgtool/views
vgtool                  base vgtool/commands
'

# ---- the uses: lines of "USER USED REASON" ----
find base profile libvgctl symbols vignetted vgctl vgtool -name '*.[ch]' | sort >"$dir/files"
# includes: prints "USER USED includes" for the sources whose names it reads
includes() {
	xargs grep -HoE '^#include "[a-z]+/[a-z_0-9/]+\.h"' |
		sed -E 's/^(.*)\.[ch]:#include "(.*)\.h"$/\1 \2 includes/'
}
includes <"$dir/files" >"$dir/includes"

# Only objects whose sources exist count: an earlier build may have left others.  A library with its own compiler flags
# puts its name before the names of its objects.
(cd "$BUILDDIR" && find base profile libvgctl symbols vignetted vgctl vgtool -path '*/.libs' -prune -o -name '*.o' -print) |
	awk '{ unit = $0; sub("/[a-z]+_(la|a)-", "/", unit); sub("\\.o$", "", unit); print unit ".c", $0 }' | sort >"$dir/built"
join "$dir/files" "$dir/built" | cut -d ' ' -f 2 >"$dir/objects"
: >"$dir/needed" >"$dir/defined"
(cd "$BUILDDIR" && xargs -r nm -gA) <"$dir/objects" | awk -v dir="$dir" '{
	unit = $1; sub(":.*", "", unit); sub("/[a-z]+_(la|a)-", "/", unit); sub("\\.o$", "", unit)
	print $NF, unit >(dir ($(NF - 1) ~ /^[Uvw]$/ ? "/needed" : "/defined")) }'
for list in needed defined; do sort -u -o "$dir/$list" "$dir/$list"; done
join "$dir/needed" "$dir/defined" | awk '$2 != $3 { print $2, $3, $1 }' >"$dir/uses"
[ "$(wc -l <"$dir/uses")" -gt 1000 ] || fail "only $(wc -l <"$dir/uses") uses of symbols were found: is $BUILDDIR built?"

# ---- which folder uses which ----
echo "$folders" >"$dir/table"
cat "$dir/includes" "$dir/uses" | awk '
	function folder(unit) { sub("/[^/]*$", "", unit); return unit }
	NR == FNR { if (NF) { known[$1] = 1; for (i = 2; i <= NF; i++) may[$1, $i] = 1 } next }
	{
		user = folder($1); used = folder($2)
		if (!(user in known))
			print $1 " is in a folder without a rule"
		else if (user != used && !((user, used) in may) && !((user, $2) in may) && !((user, folder(used)) in may))
			print $1 " uses " $2 " (" $3 ")"
	}' "$dir/table" - | sort -u >"$dir/forbidden"
[ ! -s "$dir/forbidden" ] || broken "the table of folders does not allow: $(cat "$dir/forbidden")"

# ---- vignetted/policy is pure: it uses no clock, no I/O, and only memory that is passed to it ----
impure=$(awk '$2 ~ /^vignetted\/policy\//' "$dir/needed" | join -v 1 - "$dir/defined" |
	grep -vE '^(mem(set|cpy)|__(stack_chk_fail|asan|ubsan|sanitizer)|_GLOBAL_OFFSET_TABLE_)' || true)
[ -z "$impure" ] || broken "vignetted/policy needs more than its arguments: $impure"

# ---- no circles ----
cut -d ' ' -f 1,2 "$dir/uses" | sort -u >"$dir/arrows"
# In these folders includes count, too.  symbols and vgtool still have circles of includes.  Includes of vgctl.h do not
# count: several units define what it declares.
grep -E '^(base|profile|libvgctl|vignetted|vgctl)/' "$dir/includes" | cut -d ' ' -f 1,2 |
	grep -v ' libvgctl/vgctl$' >>"$dir/arrows"
# Some of these files are not built, so only includes count there.
find bench tests examples -name '*.[ch]' | includes | cut -d ' ' -f 1,2 >>"$dir/arrows"
awk '$1 != $2' "$dir/arrows" | tsort 2>&1 >"$dir/order" |
	sed -e 's/^tsort: //' -e 's/^.*contains a loop:/;/' | tr '\n' ' ' >"$dir/circle"
[ ! -s "$dir/circle" ] || broken "units use each other in a circle: $(cat "$dir/circle")"

# ---- a folder of tests uses only itself and the files in tests/ ----
find tests -name '*.[ch]' | includes | awk '
	function folder(unit) { sub("/[^/]*$", "", unit); return unit }
	$2 ~ /^tests\// && folder($2) != "tests" && folder($2) != folder($1) { print $1 " uses " $2 }' >"$dir/sideways"
[ ! -s "$dir/sideways" ] || broken "a test uses another folder of tests: $(cat "$dir/sideways")"

# The rules above find only includes of one form, so every include must have this form.
odd=$(xargs grep -nHE '^[[:space:]]*#[[:space:]]*include[[:space:]]*("|<(base|profile|libvgctl|symbols|vignetted|vgctl|vgtool)/)' \
	<"$dir/files" | grep -vE ':#include "([a-z]+/[a-z_0-9/]+(\.pb-c)?|config)\.h"' || true)
[ -z "$odd" ] || broken "an include must have the form \"folder/header.h\": $odd"

# A .c file declares no function of another file, except for two functions that no header of their libraries declares.
hidden=$(xargs grep -nE '^[[:space:]]*extern ' <"$dir/files" | grep -E '^[^:]*\.c:' |
	grep -vE ' (__clone|dwarf_search_unwind_table)\(' || true)
[ -z "$hidden" ] || broken "extern in a .c file: $hidden"

# ---- libvgctl.so exports only vgctl_ symbols, and needs only libc ----
library=$BUILDDIR/libvgctl/.libs/libvgctl.so
others=$(nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /^vgctl_/ { print $3 }')
[ -z "$others" ] || broken "libvgctl.so exports $others"
nm -D --defined-only "$library" | grep -q ' T vgctl_begin' || broken "libvgctl.so exports no vgctl_begin"
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
	grep -vE '^(libc\.so|libpthread\.so|ld-linux|libasan|libubsan)' || true)
[ -z "$needed" ] || broken "libvgctl.so needs $needed"

# ---- libraries never print and never exit ----
printing=$(grep -E '^(base|profile|symbols|libvgctl)/.*\.c$' "$dir/files" |
	xargs grep -nE '\b(v?printf|putchar|puts|perror|psignal|_?exit)\(|[(,] *std(out|err)\b' || true)
[ -z "$printing" ] || broken "libraries that print or exit: $printing"
# Programs print text for people with base/print.h, which escapes it.  JSON, SVG and folded stacks have their own
# functions; the streams of vgtool/output copy their output.
print=$(grep -E '^(vgtool|vgctl|vignetted)/.*\.c$' "$dir/files" |
	xargs grep -nE '\b(v?f?printf|f?puts|f?putc|putchar|fwrite|perror|psignal)\(' |
	grep -vE "^vgtool/(output/(base64|bounded|gzip|json)|views/(flamegraph|folded|view_page))\.c:|puts\((usage|\")|(putc|putchar)\('" || true)
[ -z "$print" ] || broken "printed without base/print.h: $print"
# glibc has strerrordesc_np() since 2.32, and other C libraries do not have it.
words=$(xargs grep -ln strerrordesc_np <"$dir/files" || true)
[ -z "$words" ] || broken "use vg_errno_text() instead of strerrordesc_np: $words"

# ---- files ----
vague=$(grep '/util[^/]*$' "$dir/files" || true)
[ -z "$vague" ] || broken "a file name that says nothing: $vague"
long=$(xargs wc -l <"$dir/files" | awk '$2 != "total" && $1 > 800 { print $2 " (" $1 ")" }')
[ -z "$long" ] || broken "files too long: $long"

# No constant is defined in two headers.
twice=$(grep 'h$' "$dir/files" |
	xargs grep -oHE '(#define|enum \{|^[[:space:]])[[:space:]]*VG_[A-Z0-9_]+([[:space:]]*[=,]|[[:space:]]+[0-9("])|,[[:space:]]*VG_[A-Z0-9_]+[[:space:]]*=' |
	sed -E 's/^([^:]*):.*(VG_[A-Z0-9_]+).*/\2 \1/' | sort | awk '
		$1 == name { print $1 " (" header ", " $2 ")" }
		{ name = $1; header = $2 }')
[ -z "$twice" ] || broken "defined in two headers: $twice"

# make may run the scripts with another shell than /bin/sh.  sh must be able to read every script, too.
find bootstrap bench tests examples -name '*.sh' -o -name bootstrap | while read -r script; do
	sh -n "$script" || echo "$script"
done >"$dir/unread"
[ ! -s "$dir/unread" ] || broken "sh cannot read $(cat "$dir/unread")"
[ $breaches = 0 ] || fail "$breaches rules are broken; expected none"
