#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Compares vgtool's symbols with llvm-symbolizer --inlines, at addresses spread evenly over .text: in programs that gcc
# and clang compile here with DWARF 5, and in Debian's programs with their debug packages.  Symbols from the binary and
# from a symbol file must be equal.  At least 99.9 % of the addresses must have the same function and line, and 99.5 %
# the same depth of inlined calls.  SOAK: 100,000 addresses each, and more programs.
#
# These may differ:
#  - Names.  LLVM takes the name of the outer function from .dynsym, where the function may have another name.  All
#    names of one address count as equal.  A part that the compiler made (NAME.cold, NAME.isra) counts as NAME.  If
#    DWARF's linkage name is not mangled (glibc renames openat to openat64), vgtool has the name in the source.
#  - Parameters.  GCC gives no linkage name to functions that are not visible outside their unit.  vgtool then has no
#    parameters, like Breakpad; LLVM takes the name from .symtab.
#  - Addresses for which LLVM has no function (nameless).  These are padding between functions, for which LLVM has a
#    line and vgtool nothing; and thunks, assembly code and libgcc's arithmetic, which are only in .symtab and the line
#    table.  For these addresses eu-addr2line decides: where vgtool has a function and a line, eu-addr2line must have
#    the same, and where eu-addr2line has a function, vgtool must have one.  But a PUBLIC record has no size, so its
#    name, without a line, covers up to 15 bytes of padding after the function.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs "${CXX%% *}" clang clang++ llvm-symbolizer eu-addr2line /usr/bin/python3.11 /usr/lib/libcupt4.so.2
: "${LOOKUP:?}"
compare=$SRCDIR/tests/symbols/lookup_compare.awk
count=4000
[ -z "${SOAK-}" ] || count=100000

# debug_file PROGRAM: prints the path of the program's debug file, or of the program if there is none
debug_file() {
	file=/usr/lib/debug/$(debug_path "$(build_id "$1")")
	if [ -f "$file" ]; then echo "$file"; else echo "$1"; fi
}

# judge NAME PROGRAM: compares vgtool with eu-addr2line, at the addresses for which LLVM has no function
judge() {
	awk -F '\t' '$1 == "nameless" { sub(/^0x/, "", $2); print $2 }' "$dir/$1.diff" |
		awk 'NR == FNR { at[$1] = $2; next } { print "0x" at[$1] }' "$dir/$1.addresses" - |
		eu-addr2line -f -e "$2" | paste - - | c++filt -i >"$dir/$1.judge"
	grep '^nameless' "$dir/$1.diff" | paste - "$dir/$1.judge" | awk -F '\t' '
		function bare(place) { sub(/:[0-9]+$/, "", place); return place }
		{
			ours = $3; judge = $5
			line = $4; sub(/:0$/, "", line)
			good = ours == judge
			if (line !~ /^\?\?/ && line != $6 && line != bare($6)) good = 0
			if (line ~ /^\?\?/ && judge == "??") good = 1
			if (!good) print "  " $2 ": " ours " at " line ", but eu-addr2line: " judge " at " $6
		}' >"$dir/$1.wrong"
}

# check NAME PROGRAM [COUNT]: compares COUNT addresses of the program (default: $count)
check() {
	name=$1 program=$2
	"$LOOKUP" --draw "${3:-$count}" "$program" >"$dir/$name.addresses"
	"$LOOKUP" "$program" <"$dir/$name.addresses" >"$dir/$name.ours"
	"$VGTOOL" symbols "$program" >"$dir/$name.sym" || fail "$name: vgtool failed"
	"$LOOKUP" "$dir/$name.sym" <"$dir/$name.addresses" >"$dir/$name.by-sym"
	cmp "$dir/$name.ours" "$dir/$name.by-sym" || fail "$name: the symbol file gives other results"
	# llvm-symbolizer takes virtual addresses.  The comparison uses relative ones.
	cut -d ' ' -f 2 "$dir/$name.addresses" | sed 's/^/0x/' |
		llvm-symbolizer -e "$program" --inlines --functions=linkage --no-demangle |
		c++filt -i >"$dir/$name.raw"
	awk -v addresses="$dir/$name.addresses" '
		BEGIN { RS = ""; FS = "\n" }
		{
			RS = "\n"; getline line <addresses; RS = ""
			sub(/ .*/, "", line)
			print "0x" line "\n" $0 "\n"
		}' "$dir/$name.raw" >"$dir/$name.theirs"
	nm --defined-only "$(debug_file "$program")" 2>/dev/null | sed 's/^0*//' | c++filt -i \
		>"$dir/$name.nm"
	awk -f "$compare" "$dir/$name.nm" RS= "$dir/$name.ours" "$dir/$name.theirs" \
		>"$dir/$name.diff" || fail "$name: cannot compare"
	judge "$name" "$program"
	wrong=$(wc -l <"$dir/$name.wrong")
	tail -1 "$dir/$name.diff" | awk -v name="$name" -v wrong="$wrong" '
		{
			compared = $2 - $4
			printf "%s: %d addresses, %d of them nameless (%d wrong); ", name, $2, $4, wrong
			printf "function %.3f %%, line %.3f %%, depth %.3f %%\n", 100 * $6 / compared,
				100 * $8 / compared, 100 * $10 / compared
			exit !(compared >= 0.7 * $2 && $6 >= 0.999 * compared && $8 >= 0.999 * compared &&
			       $10 >= 0.995 * compared && wrong <= 0.001 * $2)
		}' || {
		grep -v '^nameless' "$dir/$name.diff" | head -20
		head -5 "$dir/$name.wrong"
		fail "$name: too many differences (lines above: kind, address, LLVM's result, vgtool's result)"
	}
	rm -f "$dir/$name".*
}

# These programs are small: 4,000 addresses would include many addresses twice.
small=2000
$CC -O2 -g -gdwarf-5 "$fixtures/symbols_plain.c" "$fixtures/symbols_plain_more.c" \
	-o "$dir/gcc_c" -lpthread
$CXX -O2 -g -gdwarf-5 "$fixtures/symbols_names.cc" -o "$dir/gcc_cxx"
clang -O2 -g -gdwarf-5 "$fixtures/symbols_plain.c" "$fixtures/symbols_plain_more.c" \
	-o "$dir/clang_c" -lpthread
clang++ -O2 -g -gdwarf-5 "$fixtures/symbols_names.cc" -o "$dir/clang_cxx"
# Inlined functions of other units, and units without names
$CC -O2 -g -gdwarf-5 -flto "$fixtures/symbols_plain.c" "$fixtures/symbols_plain_more.c" \
	-o "$dir/lto" -lpthread
$CXX -O2 -g -gdwarf-5 -flto -ffunction-sections -Wl,--gc-sections "$fixtures/symbols_names.cc" \
	-o "$dir/lto_cxx"
$CXX -O2 -g -gdwarf-5 -gz=zlib -fdebug-types-section "$fixtures/symbols_names.cc" -o "$dir/types"
# Only line tables: no linkage names and no scopes
clang++ -O2 -g1 "$fixtures/symbols_names.cc" -o "$dir/tables"
for program in gcc_c gcc_cxx clang_c clang_cxx lto lto_cxx types tables; do
	check $program "$dir/$program" $small
done
libc=$(ldconfig -p | awk '/libc\.so\.6.*x86-64/ { print $NF; exit }')
for program in "$libc" /usr/bin/python3.11 /usr/lib/libcupt4.so.2; do
	needs "/usr/lib/debug/$(debug_path "$(build_id "$program")")"
done
check libc "$libc"
check python /usr/bin/python3.11
check cupt /usr/lib/libcupt4.so.2
[ -z "${SOAK-}" ] || check python_debug /usr/bin/python3.11-dbg

