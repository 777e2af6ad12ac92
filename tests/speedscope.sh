#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Opens a file in the real Speedscope, in a browser without a window.
#
#     tests/speedscope.sh FILE.json TITLE_PART [TEXT...]
#
# Passes if the page's title has TITLE_PART, and if the page shows the name of the file's active
# profile and every TEXT (names of functions, in Speedscope's own table of them).
#
# SPEEDSCOPE_DIR  dist/release of the npm package `speedscope`; needed
# CHROMIUM        the browser; default: chromium
# NODE            default: node
#
# Exits 0 if so, 1 if not, 2 if something that it needs is missing.
set -eu
. "${SRCDIR:?}/tests/lib.sh"

if [ $# -lt 2 ]; then
	echo "usage: speedscope.sh FILE.json TITLE_PART [TEXT...]" >&2
	exit 2
fi
: "${SPEEDSCOPE_DIR:?names no directory: dist/release of the npm package speedscope}"
chromium=$(command -v "${CHROMIUM:-chromium}") || { echo "speedscope.sh: no chromium" >&2; exit 2; }
node=$(command -v "${NODE:-node}") || { echo "speedscope.sh: no node" >&2; exit 2; }
[ -r "$SPEEDSCOPE_DIR/index.html" ] || { echo "speedscope.sh: no index.html in $SPEEDSCOPE_DIR" >&2; exit 2; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
here=$(dirname "$0")
file=$1
shift

"$node" "$here/speedscope.mjs" prepare "$file" "$SPEEDSCOPE_DIR/file-format-schema.json" "$scratch"
# A page that never settles must not hold up the tests; and one of a loaded machine may be taken before
# it is drawn.
for try in 1 2 3 4 5 6 7 8; do
	timeout 120 "$chromium" --headless --no-sandbox --allow-file-access-from-files \
		--virtual-time-budget=8000 --dump-dom \
		--use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader \
		--disable-background-networking --disable-component-update --disable-sync --no-first-run \
		--disable-dev-shm-usage --window-size=1600,2400 --user-data-dir="$scratch/profile" \
		"file://$(realpath "$SPEEDSCOPE_DIR")/index.html#view=sandwich&localProfilePath=$scratch/load.js" \
		>"$scratch/page.html" 2>"$scratch/chromium.log" || {
		echo "speedscope.sh: the browser failed:" >&2
		tail -n 20 "$scratch/chromium.log" >&2
		continue
	}
	! "$node" "$here/speedscope.mjs" judge "$file" "$scratch/page.html" "$@" || exit 0
done
exit 1
