#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Opens a file in the real Speedscope, in a browser without a window.  Other tests run it.
#
#     tests/views/speedscope.sh FILE.json TITLE_PART [TEXT...]
#
# Passes if the page's title has TITLE_PART, and the page shows the name of the file's active profile and every TEXT
# (function names, which are in Speedscope's table).  NPM is a directory with the npm package speedscope.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
[ $# -ge 2 ] || fail "usage: speedscope.sh FILE.json TITLE_PART [TEXT...]"
. "$SRCDIR/tests/views/browser.sh"
file=$1
shift

# shown TITLE_PART [TEXT...]: whether the page shows them
shown() {
	browse sandwich 1600,2400 --dump-dom >"$dir/page.html" || {
		tail -n 20 "$dir/chromium.log" >"$dir/judged"
		return 1
	}
	node "$SRCDIR/tests/views/speedscope.mjs" judge "$file" "$dir/page.html" "$@" >"$dir/judged" 2>&1
}
at_end() { cat "$dir/judged" 2>/dev/null; }

prepare "$file"
# On a busy machine the page may be written before it is drawn.
await 300 "Speedscope shows $file" shown "$@"
