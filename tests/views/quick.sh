#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# One recording from start to page, with nothing but the build: `vgtool record` starts a program, and the report, the
# folded stacks and the page have the function in which the program spends its time.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
cd "$dir"
cat >busy.c <<'END'
#include <time.h>
static volatile unsigned long sum;
__attribute__((noinline)) static int busy_function(void)
{
	for (int i = 0; i < 100000; i++)
		sum = sum + (unsigned long)i;
	return clock() < 400000;                /* microseconds of CPU time */
}
int main(void)
{
	while (busy_function())
		;
	return 0;
}
END
$CC -O1 -g -o busy busy.c
exits 0 "$VGTOOL" record --rate 500 -o busy.vgp -- ./busy
exits 0 "$VGTOOL" folded --weight samples busy.vgp
awk '{ all += $NF } / *;main;busy_function/ || /;busy_function/ { busy += $NF }
	END { printf "%d of %d samples in busy_function\n", busy, all; exit !(all >= 50 && busy > all / 2) }' out ||
	fail "expected at least 50 samples, most of them in busy_function: $(head -c 400 out)"
exits 0 "$VGTOOL" report busy.vgp
has out busy_function
exits 0 "$VGTOOL" view -o page.html busy.vgp
# The page has its data compressed, in base64.
sed 's/<[^>]*>//g' page.html | grep -E '^[A-Za-z0-9+/]{100,}=*$' | base64 -d | gzip -dc >data
grep -q '"busy_function"' data || fail "expected busy_function in the page's data: $(head -c 400 data)"
