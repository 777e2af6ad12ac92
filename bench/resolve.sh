#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Measures how much time and private memory vgtool resolve takes for a million addresses: from a symbol file of 300 MB,
# and from DWARF.  llvm-symbolizer and eu-addr2line get fewer addresses, because they are slower; vgtool resolves the
# same addresses for comparison.
#
#     BENCH_DEBUG   the debug file (default: the largest under /usr/lib/debug).  Its functions are repeated until the
#                   symbol file has 300 MB
#     BENCH_ROUNDS  how often vgtool resolve runs (default: 5)
set -eu
: "${SRCDIR:?run me by make bench}"
. "$SRCDIR/bench/lib.sh"
rounds=${BENCH_ROUNDS:-5}
debug=${BENCH_DEBUG:-$(find /usr/lib/debug -type f -name '*.debug' -size +1M -printf '%s %p\n' 2>/dev/null |
	sort -n | tail -1 | cut -d ' ' -f 2)}
[ -f "$debug" ] || fail "no debug file: install libc6-dbg or python3-dbg, or set BENCH_DEBUG"

"$VGTOOL" symbols "$debug" >"$dir/small.sym"
"$bench/repeat" "$dir/small.sym" 300 >"$dir/large.sym"
"$bench/addresses" "$dir/large.sym" 1000000 >"$dir/large.vgp" 2>"$dir/large.addresses"
echo "$debug: $(stat -c %s "$debug") bytes; its .sym repeated: $(stat -c %s "$dir/large.sym") bytes," \
	"$(grep -c '^FUNC ' "$dir/large.sym") functions"

# took FIELD FILE: prints the median of a field of bench/peak's output
took() { cut -d ' ' -f "$1" "$2" | median; }

# resolve NAME SYMBOLS PROFILE
resolve() {
	(on 1 "$bench/peak" "$dir/peak" "$VGTOOL" resolve -s "$2" -o "$dir/out.vgp" "$3" 2>"$dir/err") ||
		fail "vgtool resolve: $(cat "$dir/err")"
	cat "$dir/peak" >>"$dir/$1"
	summary=$(tail -1 "$dir/err")
}

# line NAME WHAT
line() {
	printf '%-44s %8s s (CPU %s s), %s MiB private, %s MiB resident\n' "$2" "$(took 1 "$dir/$1")" \
		"$(took 2 "$dir/$1")" "$(took 3 "$dir/$1")" "$(took 4 "$dir/$1")"
}

for round in $(seq "$rounds"); do resolve sym "$dir/large.sym" "$dir/large.vgp"; done
line sym "vgtool, .sym, 1,000,000 addresses"
echo "  $summary"

million=1000000
"$bench/addresses" "$dir/small.sym" $million >"$dir/dwarf.vgp" 2>/dev/null || {
	million=100000
	"$bench/addresses" "$dir/small.sym" $million >"$dir/dwarf.vgp" 2>/dev/null; }
for round in $(seq "$rounds"); do resolve dwarf "$debug" "$dir/dwarf.vgp"; done
line dwarf "vgtool, DWARF, $million addresses"
echo "  $summary"

# beside NAME COUNT COMMAND...: another symbolizer and vgtool resolve the same addresses, in turn
beside() {
	name=$1; count=$2; shift 2
	command -v "$1" >/dev/null || { echo "$name: not installed"; return 0; }
	"$bench/addresses" "$dir/small.sym" "$count" >"$dir/$name.vgp" 2>"$dir/$name.addresses"
	for round in 1 2 3; do
		(on 1 "$bench/peak" "$dir/peak" "$@" <"$dir/$name.addresses" >"$dir/$name.out" \
			2>"$dir/err") ||
			fail "$name: $(cat "$dir/err")"
		[ -s "$dir/$name.out" ] || fail "$name printed nothing"
		cat "$dir/peak" >>"$dir/$name.peer"
		resolve "$name.ours" "$debug" "$dir/$name.vgp"
	done
	line "$name.peer" "$name, DWARF, $count addresses"
	line "$name.ours" "vgtool, DWARF, the same"
	theirs=$(took 1 "$dir/$name.peer")
	measured "Time for $count addresses from DWARF relative to $name" "$(calc "$(took 1 "$dir/$name.ours") / $theirs")"
	echo "RATIO time of $name / vgtool, $count addresses: $(calc "$theirs / $(took 1 "$dir/$name.ours")")"
	echo "RATIO resident memory of $name / vgtool: $(calc "$(took 4 "$dir/$name.peer") / $(took 4 "$dir/$name.ours")")"
	echo "RATIO addresses a second, vgtool from the .sym / $name: $(calc "1000000 / $(took 1 "$dir/sym") / ($count / $theirs)")"
}
beside llvm-symbolizer 100000 llvm-symbolizer --inlines --obj="$debug"
beside eu-addr2line 500 eu-addr2line -f -i -e "$debug"

verdict "Time to resolve 1,000,000 addresses from a symbol file of 300 MB" "$(took 1 "$dir/sym")" 1.5 s
verdict "Memory to resolve 1,000,000 addresses from this symbol file" "$(took 3 "$dir/sym")" 150 MiB
