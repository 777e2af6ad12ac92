#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The rules of the house that a machine can keep: which room may use which, that no units use each other in a
# circle, what is exported, who prints.  tests/project/house_faults.sh sees each rule fail.
#
# A unit is X.c with X.h.  It uses another one if it includes its header, or if its object needs a symbol of it.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
export LC_ALL=C
cd "$SRCDIR"

# Each room, and what it may use besides itself: rooms, or single units.
rooms='
base
profile                 base
libvgctl                base/descriptor base/outfile base/err base/intern base/counters base/utf8 base/sched_attr
vignetted/policy
vignetted/target        base profile vignetted/policy libvgctl/ring libvgctl/wire libvgctl/channel
vignetted/unwind        base profile vignetted/policy vignetted/target
vignetted/output        base profile libvgctl/ring libvgctl/wire vignetted/policy vignetted/target vignetted/unwind
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
vgtool/run              base
vgtool/output           base
vgtool/analysis         base profile vgtool/output
vgtool/resolve          base profile symbols vgtool/output vgtool/analysis
vgtool/views            base profile vgtool/output vgtool/analysis
vgtool/commands         base profile symbols vgtool/run vgtool/output vgtool/analysis vgtool/resolve vgtool/views
vgtool                  base vgtool/commands
'

# ---- what uses what: "USER USED WHAT" ----
find base profile libvgctl symbols vignetted vgctl vgtool -name '*.[ch]' | sort >"$dir/files"
# includes: of the sources that it reads the names of
includes() {
	xargs grep -HoE '^#include "[a-z]+/[a-z_0-9/]+\.h"' |
		sed -E 's/^(.*)\.[ch]:#include "(.*)\.h"$/\1 \2 includes/'
}
includes <"$dir/files" >"$dir/includes"

# The objects, without those that earlier builds left behind: their sources are gone.  Objects of a library with flags
# of its own have its name in front.
(cd "$BUILDDIR" && find base profile libvgctl symbols vignetted vgctl vgtool -path '*/.libs' -prune -o -name '*.o' -print) |
	awk '{ unit = $0; sub("/[a-z]+_la-", "/", unit); sub("\\.o$", "", unit); print unit ".c", $0 }' | sort >"$dir/built"
join "$dir/files" "$dir/built" | cut -d ' ' -f 2 >"$dir/objects"
: >"$dir/needed" >"$dir/defined"
(cd "$BUILDDIR" && xargs -r nm -gA) <"$dir/objects" | awk -v dir="$dir" '{
	unit = $1; sub(":.*", "", unit); sub("/[a-z]+_la-", "/", unit); sub("\\.o$", "", unit)
	print $NF, unit >(dir ($(NF - 1) ~ /^[Uvw]$/ ? "/needed" : "/defined")) }'
for list in needed defined; do sort -u -o "$dir/$list" "$dir/$list"; done
join "$dir/needed" "$dir/defined" | awk '$2 != $3 { print $2, $3, $1 }' >"$dir/uses"
[ "$(wc -l <"$dir/uses")" -gt 1000 ] || fail "only $(wc -l <"$dir/uses") uses of symbols were found: is $BUILDDIR built?"

# ---- rooms ----
echo "$rooms" >"$dir/table"
cat "$dir/includes" "$dir/uses" | awk '
	function room(unit) { sub("/[^/]*$", "", unit); return unit }
	NR == FNR { if (NF) { known[$1] = 1; for (i = 2; i <= NF; i++) may[$1, $i] = 1 } next }
	{
		user = room($1); used = room($2)
		if (!(user in known))
			print $1 " is in no room"
		else if (user != used && !((user, used) in may) && !((user, $2) in may) && !((user, room(used)) in may))
			print $1 " uses " $2 " (" $3 ")"
	}' "$dir/table" - | sort -u >"$dir/upwards"
[ ! -s "$dir/upwards" ] || fail "against the direction of rooms: $(cat "$dir/upwards")"

# ---- decisions are pure: no clock, no I/O, no memory but what they are given ----
impure=$(awk '$2 ~ /^vignetted\/policy\//' "$dir/needed" | join -v 1 - "$dir/defined" |
	grep -vE '^(mem(set|cpy)|__(stack_chk_fail|asan|ubsan|sanitizer)|_GLOBAL_OFFSET_TABLE_)' || true)
[ -z "$impure" ] || fail "vignetted/policy needs more than its arguments: $impure"

# ---- no circles ----
cut -d ' ' -f 1,2 "$dir/uses" | sort -u >"$dir/arrows"
# By includes, in rooms where there is none: symbols, profile, vgtool, session and target still have some.  vgctl.h
# declares what several units define.
grep -E '^(base|libvgctl|vignetted/(output|unwind|capture|serve)|vgctl)/' "$dir/includes" | cut -d ' ' -f 1,2 |
	grep -v ' libvgctl/vgctl$' >>"$dir/arrows"
# The others are not all built: there, includes say what uses what.
find bench tests examples -name '*.[ch]' | includes | cut -d ' ' -f 1,2 >>"$dir/arrows"
awk '$1 != $2' "$dir/arrows" | tsort 2>&1 >"$dir/order" |
	sed -e 's/^tsort: //' -e 's/^.*contains a loop:/;/' | tr '\n' ' ' >"$dir/circle"
[ ! -s "$dir/circle" ] || fail "units use each other in a circle: $(cat "$dir/circle")"

# ---- rooms of tests: each uses itself, and what lies in tests/ for all of them ----
find tests -name '*.[ch]' | includes | awk '
	function room(unit) { sub("/[^/]*$", "", unit); return unit }
	$2 ~ /^tests\// && room($2) != "tests" && room($2) != room($1) { print $1 " uses " $2 }' >"$dir/sideways"
[ ! -s "$dir/sideways" ] || fail "a test uses another room of tests: $(cat "$dir/sideways")"

# The rules above see includes of one form.
odd=$(xargs grep -nHE '^[[:space:]]*#[[:space:]]*include[[:space:]]*("|<(base|profile|libvgctl|symbols|vignetted|vgctl|vgtool)/)' \
	<"$dir/files" | grep -vE ':#include "([a-z]+/[a-z_0-9/]+|config)\.h"' || true)
[ -z "$odd" ] || fail "included otherwise than as \"folder/header.h\": $odd"

# What no header of another library declares is declared where it is called.
hidden=$(xargs grep -nE '^[[:space:]]*extern ' <"$dir/files" | grep -E '^[^:]*\.c:' |
	grep -vE ' (__clone|dwarf_search_unwind_table)\(' || true)
[ -z "$hidden" ] || fail "extern in a .c file: $hidden"

# ---- what is exported: what vgctl.h declares, and it needs nothing but libc ----
library=$BUILDDIR/libvgctl/.libs/libvgctl.so
strangers=$(nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /^vgctl_/ { print $3 }')
[ -z "$strangers" ] || fail "libvgctl.so exports $strangers"
nm -D --defined-only "$library" | grep -q ' T vgctl_begin' || fail "libvgctl.so exports no vgctl_begin"
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
	grep -vE '^(libc\.so|ld-linux|libasan|libubsan)' || true)
[ -z "$needed" ] || fail "libvgctl.so needs $needed"

# ---- libraries never print and never exit ----
printing=$(grep -E '^(base|profile|symbols|libvgctl)/.*\.c$' "$dir/files" |
	xargs grep -nE '\b(v?printf|putchar|puts|perror|psignal|_?exit)\(|[(,] *std(out|err)\b' || true)
[ -z "$printing" ] || fail "libraries that print or exit: $printing"
# What programs print for people goes through base/print.h.  JSON and folded stacks have their own
# layers; bounded.c hands on what those have written.
print=$(grep -E '^(vgtool|vgctl|vignetted)/.*\.c$' "$dir/files" |
	xargs grep -nE '\b(v?f?printf|f?puts|f?putc|putchar|fwrite|perror|psignal)\(' |
	grep -vE "^vgtool/(output/json|output/bounded|views/folded)\.c:|puts\((usage|\")|(putc|putchar)\('" || true)
[ -z "$print" ] || fail "printed past base/print.h: $print"
# Not every C library has it.
words=$(xargs grep -ln strerrordesc_np <"$dir/files" | grep -v '^base/err\.c$' || true)
[ -z "$words" ] || fail "strerrordesc_np is called beside base/err.c: $words"

# ---- files ----
vague=$(grep '/util[^/]*$' "$dir/files" || true)
[ -z "$vague" ] || fail "a name that says nothing: $vague"
long=$(xargs wc -l <"$dir/files" | awk '$2 != "total" && $1 > 450 { print $2 " (" $1 ")" }')
[ -z "$long" ] || fail "files too long: $long"

# A constant has one value, whichever headers a source includes.
twice=$(grep 'h$' "$dir/files" |
	xargs grep -oHE '(#define|enum \{|^[[:space:]])[[:space:]]*VG_[A-Z0-9_]+([[:space:]]*[=,]|[[:space:]]+[0-9("])|,[[:space:]]*VG_[A-Z0-9_]+[[:space:]]*=' |
	sed -E 's/^([^:]*):.*(VG_[A-Z0-9_]+).*/\2 \1/' | sort | awk '
		$1 == name { print $1 " (" header ", " $2 ")" }
		{ name = $1; header = $2 }')
[ -z "$twice" ] || fail "defined in two headers: $twice"

# make may have another shell than the system's own, which is to read every script, too.
find bootstrap bench tests examples -name '*.sh' -o -name bootstrap | while read -r script; do
	sh -n "$script" || echo "$script"
done >"$dir/unread"
[ ! -s "$dir/unread" ] || fail "sh does not read $(cat "$dir/unread")"
