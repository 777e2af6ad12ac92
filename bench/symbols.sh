#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Compares vgtool symbols with Breakpad's dump_syms: time and peak memory for one large debug file and for a directory
# of the twenty largest, on one CPU.  vgtool also runs on the twenty files with all CPUs.
#
# dump_syms gets -d, so that it writes inlined calls, like vgtool.  With -d it aborts on many files of DWARF 5.  It
# then runs again without -d, and writes no inlined calls.
#
#     BENCH_DEBUG   the debug file (default: the largest under /usr/lib/debug).  Debian's radosgw-dbg has one of 179 MB
#     BENCH_ROUNDS  how often each program runs (default: 3)
set -eu
: "${SRCDIR:?run me by make bench}" "${DUMP_SYMS:?path of dump_syms}"
. "$SRCDIR/bench/lib.sh"
rounds=${BENCH_ROUNDS:-3}
debug=${BENCH_DEBUG:-$(find /usr/lib/debug -type f -name '*.debug' -size +1M -printf '%s %p\n' 2>/dev/null |
	sort -n | tail -1 | cut -d ' ' -f 2)}
[ -f "$debug" ] || fail "no debug file: install libc6-dbg or cupt-dbg, or set BENCH_DEBUG"
[ -x "$DUMP_SYMS" ] || fail "no dump_syms: npm's minidump has it"

took() { cut -d ' ' -f "$1" "$2" | median; }

# run NAME COMMAND...
run() {
	name=$1; shift
	(on 1 "$bench/peak" "$dir/peak" "$@" >"$dir/out" 2>"$dir/err") || fail "$name: $(tail -1 "$dir/err")"
	cat "$dir/peak" >>"$dir/$name"
}

line() {
	printf '%-28s %8s s (CPU %s s), %8s MiB resident, %s MiB private\n' "$2" "$(took 1 "$dir/$1")" \
		"$(took 2 "$dir/$1")" "$(took 4 "$dir/$1")" "$(took 3 "$dir/$1")"
}

# ratio NAME OTHER FIELD: prints the field of OTHER divided by the field of NAME
ratio() { calc "$(took "$3" "$dir/$2") / $(took "$3" "$dir/$1")" %.2f; }

# dump DUMP_SYMS FILE...: runs dump_syms on each file; prints the files that need a run without inlined calls
cat >"$dir/dump" <<'END'
dump_syms=$1; shift
for file in "$@"; do
	"$dump_syms" -d "$file" >/dev/null 2>&1 || { echo "$file"; "$dump_syms" "$file" >/dev/null 2>&1; }
done
END

inlines=-d
"$DUMP_SYMS" -d "$debug" >/dev/null 2>&1 || inlines=
for round in $(seq "$rounds"); do
	run one.theirs "$DUMP_SYMS" $inlines "$debug"
	run one.ours "$VGTOOL" symbols "$debug"
done
echo "$(basename "$debug"): $(stat -c %s "$debug") bytes, $(grep -c '^FUNC ' "$dir/out") functions"
line one.theirs "dump_syms $inlines"
line one.ours "vgtool symbols"
echo "RATIO of dump_syms' time to ours: $(ratio one.ours one.theirs 2); RATIO of our memory to dump_syms':" \
	"$(ratio one.theirs one.ours 4)"

mkdir "$dir/files"
find /usr/lib/debug -type f -name '*.debug' -size +50k -printf '%s %p\n' | sort -rn | head -20 |
	cut -d ' ' -f 2 | while read -r file; do cp "$file" "$dir/files/"; done
for round in $(seq "$rounds"); do
	run twenty.theirs sh "$dir/dump" "$DUMP_SYMS" "$dir/files/"*
	twice=$(wc -l <"$dir/out")
	rm -rf "$dir/store"
	run twenty.ours "$VGTOOL" symbols -j 1 -o "$dir/store" "$dir/files"
	rm -rf "$dir/store"
	begin=$(date +%s%N)
	"$VGTOOL" symbols -o "$dir/store" "$dir/files" >/dev/null 2>&1
	calc "($(date +%s%N) - $begin) / 1000000000" >>"$dir/twenty.all"
done
echo "$(ls "$dir/files" | wc -l) debug files, $(du -sm "$dir/files" | cut -f 1) MB; on $twice of them dump_syms aborts, and runs again without inlines"
line twenty.theirs "dump_syms, one by one"
line twenty.ours "vgtool symbols -j 1"
echo "vgtool symbols, all CPUs: $(median <"$dir/twenty.all") s"
echo "RATIO of dump_syms' time to ours, these files: $(ratio twenty.ours twenty.theirs 2)"
size="a debug file of $(calc "$(stat -c %s "$debug") / 1000000" %.0f) MB"
verdict "Time for $size relative to dump_syms" "$(ratio one.theirs one.ours 2)" 0.25
verdict "Memory for this debug file relative to dump_syms" "$(ratio one.theirs one.ours 4)" 0.667
