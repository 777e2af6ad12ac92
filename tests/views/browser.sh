# SPDX-License-Identifier: MIT OR Apache-2.0
#
# For scripts that open a file in the real Speedscope: they read this file with `.` after tests/lib.sh.
# Speedscope is the npm package speedscope, below the directory NPM.  It runs in a Chromium without a window.
release=${NPM:?}/speedscope/dist/release
command -v chromium >/dev/null || fail "no chromium"
[ -r "$release/index.html" ] || fail "no index.html in $release"

# prepare FILE.json: checks the file, and writes the script with which the page loads it
prepare() {
	node "$SRCDIR/tests/views/speedscope.mjs" prepare "$1" "$release/file-format-schema.json" "$dir"
}

# chromium_run WIDTH,HEIGHT OPTION...: runs the browser for at most two minutes
chromium_run() {
	size=$1
	shift
	timeout 120 chromium --headless --no-sandbox --allow-file-access-from-files --virtual-time-budget=8000 \
		--use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader \
		--disable-background-networking --disable-component-update --disable-sync --no-first-run \
		--disable-dev-shm-usage --hide-scrollbars --window-size="$size" --user-data-dir="$dir/profile" "$@" \
		2>"$dir/chromium.log"
}

# browse VIEW WIDTH,HEIGHT OPTION...: runs the browser with Speedscope's page
browse() {
	view=$1
	shift
	chromium_run "$@" "file://$(realpath "$release")/index.html#view=$view&localProfilePath=$dir/load.js"
}
