#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What the views count, where profilers differ.  An inlined function counts as a function, and its container has the
# time in total only.  Total counts a recursive function once per sample.  A function that ends in a tail call is not in
# the stacks below that call.  A function of a static library belongs to the program.  The lines of a function add up to
# the function.  bench/views.sh compares the same views with perf.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
cd "$dir"
cat >library.c <<'END_OF_SOURCE'
extern volatile unsigned sum;
void library_loop(long n)
{
	for (long i = 0; i < n; i++) sum += sum >> 7;
}
END_OF_SOURCE
cat >program.c <<'END_OF_SOURCE'
#define CODE __attribute__((noinline, noclone)) static void
#define NO_TAIL_CALL __asm__ volatile("")

volatile unsigned sum;
void library_loop(long n);

static inline __attribute__((always_inline)) void inlined(long n)
{
	for (long i = 0; i < n; i++) sum += sum >> 3;
}
CODE container(void) { inlined(100000); NO_TAIL_CALL; }
CODE target(long n)
{
	for (long i = 0; i < n; i++) sum += sum >> 5;
}
CODE passes_on(long n) { target(n + 1); }
CODE caller(void) { passes_on(100000); NO_TAIL_CALL; }
CODE recursive(int depth)
{
	for (long i = 0; i < 20000; i++) sum += sum >> 9;
	if (depth > 1)
		recursive(depth - 1);
	NO_TAIL_CALL;
}
int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		container();
		caller();
		recursive(5);
		library_loop(100000);
	}
}
END_OF_SOURCE
$CC -O2 -g -c library.c
ar rcs liblibrary.a library.o
