#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vignetted refuses to record a 32-bit program.  The program uses no C library, because there may be no 32-bit C library
# here.
set -eu
: "${CC:?}"
. "${SRCDIR:?}/tests/lib.sh"

cat >"$dir/program_32.c" <<'END'
void _start(void)
{
#ifdef EXITS
	__asm__ volatile("int $0x80" : : "a"(1), "b"(3));
#endif
	for (;;)
		;
}
END
options="-m32 -nostdlib -static -fno-pie -no-pie"
${CC%% *} $options -o "$dir/program_32" "$dir/program_32.c"
${CC%% *} $options -DEXITS -o "$dir/exits" "$dir/program_32.c"
status=0
# If the kernel does not execute a file, other programs run it as a shell script; bash exits with status 126.
bash -c '"$0"' "$dir/exits" 2>"$dir/log" || status=$?
[ $status != 126 ] || skip "this kernel executes no 32-bit programs"
[ $status = 3 ] || fail "the program that exits: exit status $status: $(cat "$dir/log")"
"$dir/program_32" & program_32=$!
pids=$program_32
await 120 "the 32-bit program is executed" executed $program_32
status=0
timeout $life_s "$VIGNETTED" -o "$dir/refused.vgp" --pid $program_32 2>"$dir/printed" || status=$?
cat "$dir/printed"
[ $status = 1 ] || fail "exit status $status, expected 1: $(cat "$dir/printed")"
grep -q "runs a 32-bit program" "$dir/printed" || fail "expected 'runs a 32-bit program', got: $(cat "$dir/printed")"
[ ! -e "$dir/refused.vgp" ] && [ ! -e "$dir/refused.vgp.part" ] || fail "a refused recording leaves: $(ls "$dir")"
