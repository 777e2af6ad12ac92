#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# STACK CFI records: every row is compared with llvm-dwarfdump, readelf and dump_syms.  Then Breakpad's stack walker
# uses these records.  Needs minidump_stackwalk beside dump_syms.  Two files are each damaged MUTATIONS times (default
# 150, or 40 for a sanitized vgtool), with the seeds SEED (default 1), SEED + 1 and so on.
#
# tests/symbols/symbols_cfi.mjs allows dump_syms to differ only in rows with
#  - an expression (the stubs of the PLT, a signal frame): dump_syms ignores the rule, so that the previous rule stays
#    valid, or there is no rule;
#  - an undefined return address (_start, clone): dump_syms writes the place where it would be.
# lld gives .eh_frame a section type that dump_syms does not read.  So files of lld are not compared with dump_syms.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node "${CXX%% *}" clang ld.lld llvm-dwarfdump "${DUMP_SYMS:?}" "${SENTRY_CLI:?}"
# A sanitized vgtool starts slowly, and the fuzzers test the same code with more inputs.
MUTATIONS=${MUTATIONS:-$([ -z "${SANITIZE-}" ] && echo 150 || echo 40)}
SEED=${SEED:-1}
checker=$SRCDIR/tests/symbols/symbols_cfi.mjs
stackwalk=$(dirname "$DUMP_SYMS")/minidump_stackwalk

first_segment() {
	readelf -lW "$1" | awk '$1 == "LOAD" { sub("0x", "", $3); print $3; exit }'
}

# rows MACHINE FILE [readelf [dump_syms]]: compares with llvm-dwarfdump and with the named programs; sets $counts
rows() {
	others=
	"$VGTOOL" symbols "$2" >"$dir/ours" || fail "$2: vgtool failed"
	llvm-dwarfdump --eh-frame "$2" >"$dir/dump"
	if [ "${3-}" = readelf ]; then
		readelf --debug-dump=frames-interp "$2" >"$dir/readelf" 2>/dev/null || :
		others=$dir/readelf
	fi
	if [ "${4-}" = dump_syms ]; then
		"$DUMP_SYMS" "$2" >"$dir/theirs" 2>/dev/null || :
		others="$others $dir/theirs"
	fi
	counts=$(node "$checker" "$1" "$(first_segment "$2")" "$dir/ours" "$dir/dump" $others) ||
		fail "$2: rows differ: $counts"
	echo "$(basename "$2"): $counts"
}

expect() {
	case " $counts " in
	*" $1 "*) ;;
	*) fail "no $1 in: $counts" ;;
	esac
}

$CC -O2 -g "$fixtures/symbols_plain.c" "$fixtures/symbols_plain_more.c" -o "$dir/plain" -lpthread
$CC -O0 -g -no-pie "$fixtures/symbols_plain.c" "$fixtures/symbols_plain_more.c" \
	-o "$dir/fixed" -lpthread
$CXX -O2 -g "$fixtures/symbols_names.cc" -o "$dir/names"
$CC -shared -nostdlib "$fixtures/symbols_cfi.s" -o "$dir/kinds.so"
clang -O2 -g "$fixtures/symbols_plain.c" "$fixtures/symbols_plain_more.c" -fuse-ld=lld \
	-o "$dir/lld" -lpthread
rows x86_64 "$dir/plain" readelf dump_syms
expect expressions=1
rows x86_64 "$dir/fixed" readelf dump_syms
rows x86_64 "$dir/names" readelf dump_syms
rows x86_64 "$dir/lld" readelf
rows x86_64 "$dir/kinds.so" readelf dump_syms
expect leftOut=1
expect expressions=9
expect undefined=2
rows x86_64 /lib/x86_64-linux-gnu/libc.so.6 readelf dump_syms
rows x86_64 "$(readlink -f /usr/lib/x86_64-linux-gnu/libstdc++.so.6)" readelf dump_syms

# The row that cannot be expressed is reported.
"$VGTOOL" symbols -o "$dir/store" "$dir/kinds.so" >"$dir/progress"
grep -q '^kinds.so: 1 rows of unwind information left out' "$dir/progress" ||
	fail "kinds.so: the row that was left out is not reported"
"$VGTOOL" symbols --no-cfi "$dir/plain" | grep '^STACK' && fail "--no-cfi: STACK records"

# Other machines, with .eh_frame and with .debug_frame.  arm has only .debug_frame.
for target in aarch64:arm64 i686:x86 armv7:arm mips:mips riscv64:riscv; do
	for tables in -funwind-tables '-fno-unwind-tables -fno-asynchronous-unwind-tables'; do
		[ "$target" != armv7:arm ] || [ "$tables" != -funwind-tables ] || continue
		clang --target="${target%:*}-linux-gnu" -O2 -g $tables -fPIC -ffreestanding -w \
			-c "$fixtures/symbols_frames.c" -o "$dir/object.o"
		ld.lld -shared "$dir/object.o" -o "$dir/${target%:*}.so"
		rows "${target#*:}" "$dir/${target%:*}.so"
	done
done
clang --target=powerpc64-linux-gnu -O2 -g -fPIC -ffreestanding -w \
	-c "$fixtures/symbols_frames.c" -o "$dir/object.o"
ld.lld -shared "$dir/object.o" -o "$dir/powerpc64.so"
"$VGTOOL" symbols "$dir/powerpc64.so" | grep '^STACK' && fail "powerpc64: STACK records"

# Rows that are in both .eh_frame and .debug_frame are written once.  Dropped code has no rows.  A compressed
# .debug_frame in a separate file is found.
$CC -O2 -g -S -ffunction-sections "$fixtures/symbols_frames.c" -DMAIN -o "$dir/frames.s"
printf '.cfi_sections .eh_frame, .debug_frame\n' | cat - "$dir/frames.s" >"$dir/both.s"
$CC "$dir/both.s" -Wl,--gc-sections -o "$dir/both"
nm "$dir/both" | grep unused && fail "both: nothing was dropped"
rows x86_64 "$dir/both" readelf
printf '.cfi_sections .debug_frame\n' | cat - "$dir/frames.s" >"$dir/debug_frames.s"
$CC "$dir/debug_frames.s" -o "$dir/debug"
rows x86_64 "$dir/debug" readelf
objcopy --only-keep-debug --compress-debug-sections=zlib-gabi "$dir/debug" "$dir/debug.debug"
cp "$dir/debug" "$dir/kept"
grep '^STACK' "$dir/ours" >"$dir/debug.stack" || fail "debug: no records"
strip -o "$dir/debug" "$dir/kept"
objcopy --add-gnu-debuglink="$dir/debug.debug" "$dir/debug"
readelf -SW "$dir/debug" | grep -q '\.debug_frame' && fail "debug: not stripped"
"$VGTOOL" symbols "$dir/debug" | grep '^STACK' >"$dir/separate.stack"
cmp "$dir/debug.stack" "$dir/separate.stack" || fail "a separate .debug_frame: other rows"

# Breakpad walks a real stack with the records: no frame pointers, a realigned frame, a frame of variable size, a signal
# frame, and a callback from libc.
$CC -std=gnu11 -D_GNU_SOURCE -O2 -g -fomit-frame-pointer "$fixtures/minidump.c" -o "$dir/minidump"
"$dir/minidump" "$dir/dump"
# walk STORE: prints "FUNCTION FOUND-BY" for each frame
walk() {
	"$stackwalk" "$dir/dump" "$1" 2>/dev/null | awk '
	/^ *[0-9]+  / { name = $2 }
	/Found by:/ { sub(".*Found by: ", ""); print name, $0 }'
}
"$VGTOOL" symbols -o "$dir/store" "$dir/minidump" /lib/x86_64-linux-gnu/libc.so.6 >/dev/null
walk "$dir/store" >"$dir/frames"
grep -vE 'call frame info|inline record|given as instruction pointer' "$dir/frames" &&
	fail "minidump: frames that were not found by call frame information"
grep -q 'libc.so.6!.* call frame info' "$dir/frames" || fail "minidump: no frames of libc"
names=$(sed -n 's/^minidump!\([a-z_]*\) .*/\1/p' "$dir/frames" | grep -v dump_write | tr '\n' ' ')
[ "$names" = "leaf aligned variable handler compare saves main _start " ] ||
	fail "minidump: the stack is $names"
[ "$(tail -1 "$dir/frames")" = "minidump!_start call frame info" ] || fail "minidump: the walk does not end at _start"
"$VGTOOL" symbols --no-cfi -o "$dir/without" "$dir/minidump" /lib/x86_64-linux-gnu/libc.so.6 >/dev/null
walk "$dir/without" | grep -q 'call frame info' && fail "minidump: frames found by call frame information without STACK records"
echo "minidump: $(wc -l <"$dir/frames") frames"

"$SENTRY_CLI" debug-files check "$dir/store/minidump/"*/minidump.sym >"$dir/check"
grep -q 'symtab, debug, unwind' "$dir/check" || fail "sentry-cli: no unwind information"

# limited COMMAND...: runs a command of which each process may use 30 s of CPU time.  Less than 1 s is used.
limited() { (ulimit -t 30 && exec timeout $life_s "$@"); }

# Damaged unwind information: only the damaged parts are left out, and vgtool does not take long, also for an FDE with
# 100,000 rows (in symbols_cfi.s).
$CC -O2 "$fixtures/mutate.c" -o "$dir/mutate"
strip -o "$dir/stripped" "$dir/names"
mkdir "$dir/mutants"                    # if vgtool got the file's own path, a file without functions would be an error
lost=0
for file in "$dir/stripped" "$dir/kinds.so"; do
	set -- $(readelf -SW "$file" | sed -n 's/^ *\[ *[0-9]*\] *\.eh_frame  *//p' |
		awk '{ print "0x" $3, "0x" $4 }')
	seed=$SEED
	while [ "$seed" -lt $((SEED + MUTATIONS)) ]; do
		status=0
		"$dir/mutate" "$file" "$dir/mutants/mutant" "$seed" "$1" "$2"
		rm -rf "$dir/hurt"
		limited "$VGTOOL" symbols -o "$dir/hurt" "$dir/mutants" >"$dir/progress" 2>&1 || status=$?
		[ "$status" = 0 ] || fail "$(basename "$file"), seed $seed: status $status"
		grep -q 'left out' "$dir/progress" && lost=$((lost + 1))
		seed=$((seed + 1))
	done
done
[ "$lost" -gt 0 ] || fail "no damaged file has lost anything"

# Expressions that STACK CFI cannot express, in each of 200,000 rows.
{
	printf '.text\nf:\n.cfi_startproc\n'
	for register in $(seq 3 15); do
		printf '.cfi_escape 0x10, %d, 121%s, 0x27\n' "$register" "$(printf ', 0x96%.0s' $(seq 120))"
	done
	printf '.rept 200000\nnop\n.cfi_escape 0x0a, 0x0b\n.endr\n.cfi_endproc\n'
} >"$dir/absurd.s"
$CC -shared -nostdlib "$dir/absurd.s" -o "$dir/absurd.so"
limited "$VGTOOL" symbols -o "$dir/hurt" "$dir/absurd.so" >"$dir/progress" || fail "absurd.so: status $?"
grep -q 'damaged parts left out' "$dir/progress" || fail "absurd.so: nothing left out"
echo "$((2 * MUTATIONS)) damaged files: $lost lost something"

