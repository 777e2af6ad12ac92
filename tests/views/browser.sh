# SPDX-License-Identifier: MIT OR Apache-2.0
#
# For scripts that open a file in the real Speedscope: they read this file with `.` after tests/lib.sh.
# Speedscope is the npm package speedscope, below the directory NPM.  It runs in a Chromium without a window.
release=${NPM:?}/speedscope/dist/release
needs node "$release/index.html"

# speedscope STEP ARGUMENT...: runs a step of speedscope.mjs
speedscope() {
	speedscope_step=$1
	shift
	node "$SRCDIR/tests/views/speedscope.mjs" "$speedscope_step" "$@" >"$dir/log.speedscope" 2>&1 ||
		fail "speedscope $speedscope_step $*: $(cat "$dir/log.speedscope") $(tail -n 20 "$dir/chromium.log" 2>/dev/null)"
}
