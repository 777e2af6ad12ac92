#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Opens a file in the real Speedscope, in a browser without a window.  Other tests call it.
#
#     tests/views/speedscope.sh FILE.json TITLE_PART [TEXT...]
#
# Passes if the page's title has TITLE_PART, and if the page shows the name of the file's active
# profile and every TEXT (names of functions, in Speedscope's own table of them).  NPM has speedscope.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
[ $# -ge 2 ] || fail "usage: speedscope.sh FILE.json TITLE_PART [TEXT...]"
release=${NPM:?}/speedscope/dist/release
command -v chromium >/dev/null || fail "no chromium"
[ -r "$release/index.html" ] || fail "no index.html in $release"
file=$1
shift

# shown TITLE_PART [TEXT...]: the page shows them.  A browser that never settles must not hold up the tests.
shown() {
	timeout 120 chromium --headless --no-sandbox --allow-file-access-from-files \
		--virtual-time-budget=8000 --dump-dom \
		--use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader \
		--disable-background-networking --disable-component-update --disable-sync --no-first-run \
		--disable-dev-shm-usage --window-size=1600,2400 --user-data-dir="$dir/profile" \
		"file://$(realpath "$release")/index.html#view=sandwich&localProfilePath=$dir/load.js" \
		>"$dir/page.html" 2>"$dir/chromium.log" || {
		tail -n 20 "$dir/chromium.log" >"$dir/judged"
		return 1
	}
	node "$SRCDIR/tests/views/speedscope.mjs" judge "$file" "$dir/page.html" "$@" >"$dir/judged" 2>&1
}
at_end() { cat "$dir/judged" 2>/dev/null; }

node "$SRCDIR/tests/views/speedscope.mjs" prepare "$file" "$release/file-format-schema.json" "$dir"
# The page of a busy machine may be taken before it is drawn.
await 300 "Speedscope shows $file" shown "$@"
