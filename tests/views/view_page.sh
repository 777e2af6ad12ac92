#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The page of `vgtool view` in a browser without a window: sums, search, inverted and by time, a comparison, keyboard
# and mouse, narrow and wide windows, untrusted names, no requests.  The test makes the data itself, so that it can
# compute the expected numbers in a simpler way.  PICTURES=DIRECTORY keeps pictures of what was seen.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node chromium
# The page as it is in vgtool.  "DATA" stands for the data.
cat >"$dir/print.c" <<'END'
#include <stdio.h>
#include "vgtool/page/page.h"
int main(void)
{
	printf("%sDATA\n%s", vg_page_head, vg_page_tail);
	return 0;
}
END
$CC -I "$SRCDIR" -o "$dir/print" "$dir/print.c" "$BUILDDIR/vgtool/page/page_text.c"
"$dir/print" >"$dir/template.html"
[ "$(wc -c <"$dir/template.html")" -lt 100000 ] || fail "the page is large: $(wc -c <"$dir/template.html") bytes"
! LC_ALL=C grep -n '[^ -~]' "$dir/template.html" || fail "the page is not ASCII"

timeout $life_s node "$SRCDIR/tests/views/view_page.mjs" "$dir" || fail "see above"
