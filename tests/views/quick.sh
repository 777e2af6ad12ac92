#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# One recording from start to page, with nothing but the build: `vgtool record` starts a program, and the report, the
# folded stacks and the page have the function in which the program spends its time.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
cd "$dir"
cat >busy.c <<'END'
#include <stdlib.h>
#include <time.h>
static volatile unsigned long sum;
static long limit_us;                           /* of CPU time */
__attribute__((noinline)) static int busy_function(void)
{
	for (int i = 0; i < 100000; i++)
		sum = sum + (unsigned long)i;
	return clock() < limit_us;
}
int main(int argc, char **argv)
{
	limit_us = argc > 1 ? 100000 * atol(argv[1]) : 0;
	while (busy_function())
		;
	return 0;
}
END
$CC -O1 -g -o busy busy.c
# On a busy machine the helper may have no CPU for most of the program's time.
fifty_samples() {
	exits 0 "$VGTOOL" record --mode cpu --rate 500 --budget 0 -o busy.vgp -- ./busy $long
	exits 0 "$VGTOOL" folded --weight samples busy.vgp
	[ "$(awk '{ all += $NF } END { print all + 0 }' out)" -ge 50 ]
}
lengthen "4 16 64 256" fifty_samples || fail "expected at least 50 samples: $(head -c 400 out)"
awk '{ all += $NF } /;busy_function/ { busy += $NF }
	END { printf "%d of %d samples in busy_function\n", busy, all; exit !(busy > all / 2) }' out ||
	fail "expected most of the samples in busy_function: $(head -c 400 out)"
exits 0 "$VGTOOL" report busy.vgp
has out busy_function
exits 0 "$VGTOOL" view -o page.html busy.vgp
# The page has its data compressed, in base64.
sed 's/<[^>]*>//g' page.html | grep -E '^[A-Za-z0-9+/]{100,}=*$' | base64 -d | gzip -dc >data
grep -q '"busy_function"' data || fail "expected busy_function in the page's data: $(head -c 400 data)"
