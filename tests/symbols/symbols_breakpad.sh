#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Compares vgtool symbols with Breakpad's dump_syms and sentry-cli, on programs that are compiled here.
#
# The programs have DWARF 4, because dump_syms discards the ranges of DWARF 5.  These may differ:
#  - INLINE records that only vgtool has: dump_syms does not read lexical blocks.
#  - Ranges of INLINE records: dump_syms writes empty ranges.  If a function has several FUNC records, dump_syms writes
#    all ranges of an inlined call below each of these records.
#  - Names of functions in an anonymous namespace, if they have no linkage name: dump_syms drops the namespace.
#  - PUBLIC records of stubs (name@plt), which dump_syms does not have.
#  - INFO and STACK records; the order of functions with several parts.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs "${CXX%% *}" clang++ ld.gold ld.lld "${DUMP_SYMS:?}" "${SENTRY_CLI:?}"

# sym_records FILE: prints a line for each record, with names instead of numbers, sorted
sym_records() {
	awk '
	function hex(text,    i, value) {
		value = 0
		for (i = 1; i <= length(text); i++)
			value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
		return value
	}
	function rest(from,    i, text) {
		text = $from
		for (i = from + 1; i <= NF; i++)
			text = text " " $i
		return text
	}
	/^PUBLIC .*@plt$/ { next }
	/^MODULE / || /^PUBLIC / { print; next }
	/^FILE / { file[$2] = rest(3); next }
	/^INLINE_ORIGIN / { origin[$2] = rest(3); next }
	/^FUNC / { print; func_line = $0; low = hex($2); high = low + hex($3); next }
	/^INLINE / {
		line = ""
		for (i = 6; i < NF; i += 2)
			if ($(i + 1) != "0" && hex($i) >= low && hex($i) < high)
				line = line " " $i "+" $(i + 1)
		if (line != "")
			print "INLINE " $2 " " $3 " [" file[$4] "] [" origin[$5] "]" line " in " func_line
		next
	}
	/^INFO / || /^STACK / { next }
	{ print "LINE " $1 " " $2 " " $3 " [" file[$4] "] in " func_line }
	' "$1" | LC_ALL=C sort
}

# compare NAME SED: compares the symbols of $dir/NAME.  The sed script SED first changes the names in vgtool's file
compare() {
	"$VGTOOL" symbols "$dir/$1" >"$dir/$1.ours" || fail "$1: vgtool failed"
	"$DUMP_SYMS" -c -d -m "$dir/$1" >"$dir/$1.theirs" || fail "$1: dump_syms failed"
	sym_records "$dir/$1.ours" | sed "$2" | LC_ALL=C sort >"$dir/$1.a"
	sym_records "$dir/$1.theirs" >"$dir/$1.b"
	LC_ALL=C comm -13 "$dir/$1.a" "$dir/$1.b" >"$dir/$1.missing"
	LC_ALL=C comm -23 "$dir/$1.a" "$dir/$1.b" | grep -v '^INLINE ' >"$dir/$1.extra" || :
	if [ -s "$dir/$1.missing" ] || [ -s "$dir/$1.extra" ]; then
		sed 's/^/  < /' "$dir/$1.missing"
		sed 's/^/  > /' "$dir/$1.extra"
		fail "$1: differs from dump_syms (< only dump_syms, > only vgtool)"
	fi
	# There must be records to compare.
	for kind in MODULE FUNC LINE INLINE PUBLIC; do
		grep -q "^$kind " "$dir/$1.b" || fail "$1: dump_syms wrote no $kind record"
	done
	echo "$1: $(grep -c '^FUNC ' "$dir/$1.a") functions, $(grep -c '^LINE ' "$dir/$1.a") lines," \
		"$(grep -c '^INLINE ' "$dir/$1.b") of $(grep -c '^INLINE ' "$dir/$1.a") inlines," \
		"$(grep -c '^PUBLIC ' "$dir/$1.a") PUBLIC records compared"
}

# check_id NAME: sentry-cli reads the same ids from the symbol file and from the program
check_id() {
	cp "$dir/$1.ours" "$dir/$1.sym"
	"$SENTRY_CLI" debug-files check "$dir/$1.sym" >"$dir/$1.check" || fail "$1: sentry-cli refuses the symbol file"
	"$SENTRY_CLI" debug-files check "$dir/$1" >"$dir/$1.check-elf" || :
	for field in 'Debug ID' 'Code ID' Arch; do
		ours=$(grep "$field:" "$dir/$1.check") || :
		theirs=$(grep "$field:" "$dir/$1.check-elf") || :
		if [ -z "$ours" ] || [ "${ours#*:}" != "${theirs#*:}" ]; then
			fail "$1: $field: '$ours' in the .sym, '$theirs' in the program"
		fi
	done
	grep -q 'Usable: yes' "$dir/$1.check" || fail "$1: sentry-cli does not call the symbol file usable"
}

$CC -O2 -g -gdwarf-4 "$fixtures/symbols_plain.c" "$fixtures/symbols_plain_more.c" \
	-o "$dir/plain" -lpthread
$CC -O0 -g -gdwarf-4 -no-pie "$fixtures/symbols_plain.c" "$fixtures/symbols_plain_more.c" \
	-Wl,--build-id=none -o "$dir/unnumbered" -lpthread
$CC -O2 -g -gdwarf-4 -fPIC -shared -Wl,-soname,libplain.so.3 "$fixtures/symbols_plain_more.c" \
	-o "$dir/library"
$CXX -O2 -g -gdwarf-4 "$fixtures/symbols_names.cc" -o "$dir/names"

compare plain ''
compare library ''
compare names 's/outer::(anonymous namespace):://g'
check_id plain
check_id library
check_id names

# Without optimization nothing is inlined, so INLINE records are not compared.
"$VGTOOL" symbols "$dir/unnumbered" >"$dir/unnumbered.ours"
"$DUMP_SYMS" -c -m "$dir/unnumbered" >"$dir/unnumbered.theirs"
for file in ours theirs; do
	sym_records "$dir/unnumbered.$file" | grep -v '^INLINE ' >"$dir/unnumbered.$file.records"
done
diff "$dir/unnumbered.theirs.records" "$dir/unnumbered.ours.records" ||
	fail "unnumbered: differs from dump_syms"

# Several names at one address give one record, marked with m, with the same name as in dump_syms.  After gold has
# folded two functions, the debug information still has both.  After lld has folded them, it has only one.  A stripped
# program has only linker symbols.
$CXX -O1 -g -gdwarf-4 -ffunction-sections -fuse-ld=gold -Wl,--icf=all \
	"$fixtures/symbols_folded.cc" -o "$dir/folded-gold"
clang++ -O1 -g -gdwarf-4 -ffunction-sections -fuse-ld=lld -Wl,--icf=all \
	"$fixtures/symbols_folded.cc" -o "$dir/folded-lld"
strip -g -o "$dir/folded-symbols" "$dir/folded-gold"
for program in folded-gold folded-lld folded-symbols; do
	"$VGTOOL" symbols --no-cfi "$dir/$program" >"$dir/$program.ours"
	"$DUMP_SYMS" -c -m "$dir/$program" >"$dir/$program.theirs" 2>/dev/null
	for file in ours theirs; do
		grep -E '^(FUNC|PUBLIC) ' "$dir/$program.$file" | grep -v '@plt$' >"$dir/$program.$file.records"
	done
	diff "$dir/$program.theirs.records" "$dir/$program.ours.records" ||
		fail "$program: differs from dump_syms -m"
	grep -qE '^(FUNC|PUBLIC) m .*mixed' "$dir/$program.ours" || fail "$program: nothing was folded"
	grep -qE '^(FUNC|PUBLIC) m .*_name' "$dir/$program.ours" || fail "$program: no function with two names"
done
grep -q '^INFO GENERATOR vignette [0-9]' "$dir/plain.ours" || fail "no INFO GENERATOR record"

# Debug information in a separate file is found.
cp "$dir/plain" "$dir/whole"
objcopy --only-keep-debug "$dir/whole" "$dir/plain.debug"
strip -o "$dir/plain" "$dir/whole"
objcopy --add-gnu-debuglink="$dir/plain.debug" "$dir/plain"
"$VGTOOL" symbols "$dir/plain" >"$dir/separate.ours"
cmp "$dir/plain.ours" "$dir/separate.ours" || fail "separate: differs from the unstripped program"

# vgtool finds the files of split DWARF (.dwo) whose names are in the program.
(cd "$dir" && $CXX -O2 -g -gdwarf-5 -gsplit-dwarf "$fixtures/symbols_names.cc" -o split)
(cd "$dir" && $CXX -O2 -g -gdwarf-5 "$fixtures/symbols_names.cc" -o joined)
for program in split joined; do
	"$VGTOOL" symbols "$dir/$program" >"$dir/$program.ours"
	sym_records "$dir/$program.ours" | grep -v '^MODULE ' >"$dir/$program.records"
done
cmp "$dir/split.records" "$dir/joined.records" || fail "split: differs from DWARF that is not split"

# In a store, symbols of a stripped copy do not replace those of the whole program.
mkdir "$dir/trees" "$dir/trees/a" "$dir/trees/b"
mv "$dir/whole" "$dir/trees/a/plain"
rm "$dir/plain.debug"
cp "$dir/plain" "$dir/trees/b/plain"
echo text >"$dir/trees/notes"
ln -s .. "$dir/trees/b/around"
"$VGTOOL" symbols -o "$dir/store" "$dir/trees" >"$dir/progress" || fail "store: status $?"
[ "$(wc -l <"$dir/progress")" = 2 ] || fail "store: not one line for each file"
id=$(awk 'NR == 1 { print $4 }' "$dir/plain.ours")
cmp "$dir/plain.ours" "$dir/store/plain/$id/plain.sym" || fail "store: differs from the output without -o"

