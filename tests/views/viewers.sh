#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The same profiles in every viewer: self and total of the 20 top functions are those of `vgtool report`, and source
# lines are those of llvm-symbolizer.  The viewers are Speedscope and our page in Chromium, Mozilla's profiler-cli for
# the Firefox Profiler's format and for the Chrome trace, and `go tool pprof`.  Speedscope also shows intervals.
#
#     program    C++ with inlined functions, intervals, a lock, and threads that wait (tests/fixtures/viewers.cc)
#     node       JavaScript with a perf map
#     both       the two profiles as one; with SOAK, also each alone
#
# Every viewer shows the same profile, so that all comparisons are exact, up to the viewers' rounding.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node g++ go chromium llvm-symbolizer
. "$SRCDIR/tests/views/browser.sh"
. "$SRCDIR/tests/views/profiler.sh"
. "$SRCDIR/tests/views/recorded.sh"
export PPROF_TMPDIR="$dir" HOME="$dir"

judge() { node "$SRCDIR/tests/views/viewers.mjs" "$@" || fail "viewers.mjs $*"; }

viewers_recorded
# The symbols come from a store, as those of a release do.
"$VGTOOL" symbols -o "$dir/store" "$viewers" $(ldd "$viewers" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p') >/dev/null 2>&1
"$VGTOOL" resolve -s "$dir/store" -o "$dir/program.vgp" "$recorded" 2>"$dir/log" || fail "resolve: $(cat "$dir/log")"

# node also writes a log into its current directory.
cd "$dir"
node --perf-basic-prof "$SRCDIR/bench/busy.js" & pids=$!
map_written() { [ -s "/tmp/perf-$pids.map" ]; }
await 120 "node writes its perf map" map_written
node_recorded() {
	reported "$VGTOOL" record --quiet --no-pager --rate 999 --budget 0 --duration 1 -o node.vgp --pid $pids &&
		[ "$(info "$dir/node.vgp" samples)" -ge 300 ]
}
again "300 samples of node" node_recorded
processes_kill
rm -f "/tmp/perf-$pids.map"
pids=

# profile NAME FILE...
profile() {
	name=$1; shift
	"$VGTOOL" report --weight wall --json "$@" >"$dir/$name.report"
	for view in firefox pprof; do
		"$VGTOOL" $view -o "$dir/$name.$view" "$@" || fail "$view $*"
	done
	"$VGTOOL" view -o "$dir/$name.html" "$@" || fail "view $*"
	"$VGTOOL" chrome -o "$dir/$name.chrome" "$@"
	"$VGTOOL" speedscope --weight wall -o "$dir/$name.speedscope" "$@"
	# The last profile of Speedscope's file is that of all threads.
	all=$name.speedscope@$(json "$dir/$name.speedscope" 'it.profiles.length - 1')
	speedscope show "$release" "$dir" "$dir/$all=$dir/$name.speedscope.html" \
		"$dir/$name.html#table=1&weight=wall=$dir/$name.view.html" ${story:+"$dir/story@1=$dir/story.html"}
	go tool pprof -top -sample_index=wall -unit=us -nodecount=100000 -nodefraction=0 "$dir/$name.pprof" \
		>"$dir/$name.pprof.top" 2>"$dir/log" || fail "pprof: $(cat "$dir/log")"
	go tool pprof -raw "$dir/$name.pprof" >"$dir/$name.pprof.raw" 2>"$dir/log" || fail "pprof: $(cat "$dir/log")"
	for view in firefox chrome; do
		imported "$dir/$name.$view" "functions:*=$dir/$name.$view.cli"
	done
	judge "$dir" "$name" ${program-}
}

# events_write.c: a server with intervals, in the second profile of the file
"$BUILDDIR/tests/views/events_write" story "$dir/story.vgp"
"$VGTOOL" speedscope -o "$dir/story" "$dir/story.vgp"

# The two processes in one picture have all that each of them has.
program=$viewers story=yes
profile both "$dir/program.vgp" "$dir/node.vgp"
speedscope judge "$dir/story@1" "$dir/story.html" server shutdown
if [ -n "${SOAK-}" ]; then
	story=
	profile program "$dir/program.vgp"
	program=
	profile node "$dir/node.vgp"
fi
