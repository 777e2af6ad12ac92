#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vgtool recover copies the intact chunks of a damaged profile into a valid one.  vgtool audit finds nothing in a
# profile that identifies a person, unless an option asked for it.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node

# The leak check of a
# sanitized program uses ptrace(2), which fails while a sample is taken.
exits 0 env ASAN_OPTIONS=detect_leaks=0 "$VIGNETTED" --rate 200 -o "$dir/whole.vgp" -- "$BUILDDIR/tests/recording/churn" spawn 500
# The last samples of a sleeping thread are written when it exits.  Ticks for which the helper got no CPU are counted, too,
# unless the process exits meanwhile.
slept() {
	rm -f "$dir/slept.vgp"
	sleep 3600 & sleeper=$!
	"$VIGNETTED" --rate 200 --budget 0 --pid $sleeper -o "$dir/slept.vgp" >"$dir/log" 2>&1 & recorder=$!
	pids="$pids $sleeper $recorder"
	await 120 "the profile begins" test -s "$dir/slept.vgp.part"
	sleep 1
	end $sleeper
	wait $recorder || fail "a process that slept: $(cat "$dir/log")"
	[ "$(info "$dir/slept.vgp" "samples + Object.values(it.lost).reduce((sum, count) => sum + count, 0) >=
		it.duration_ns / 1e7")" = true ]
}
again "half of the samples of a process that slept" slept
# A profile of several chunks
"$BUILDDIR/tests/views/events_write" even "$dir/long.vgp"
size=$(wc -c <"$dir/long.vgp")
samples=$(info "$dir/long.vgp" samples)

"$VGTOOL" recover -o "$dir/same.vgp" "$dir/long.vgp" 2>"$dir/log" || fail "an undamaged profile: $(cat "$dir/log")"
[ "$(info "$dir/same.vgp" samples)" = "$samples" ] || fail "an undamaged profile lost samples"
[ "$(info "$dir/same.vgp" end_reason)" = "done" ] || fail "an undamaged profile lost its end"
for profile in long same; do
	records "$dir/$profile.vgp" 'it.filter(record => record.kind !== "time")
		.map(record => JSON.stringify({ ...record, offset: 0 })).join("\n")' >"$dir/$profile.dump"
done
cmp "$dir/long.dump" "$dir/same.dump" || fail "an undamaged profile has changed"

(cd "$dir" && "$VGTOOL" recover -o - long.vgp 2>"$dir/log" | cmp - same.vgp) ||
	fail "to standard output: $(cat "$dir/log")"

head -c $((size - 40)) "$dir/long.vgp" >"$dir/cut.vgp"
"$VGTOOL" recover -o "$dir/cut.recovered.vgp" "$dir/cut.vgp" 2>"$dir/log" || fail "a truncated profile: $(cat "$dir/log")"
grep -q 'the end record was missing' "$dir/log" || fail "no message about the missing end: $(cat "$dir/log")"
[ "$(info "$dir/cut.recovered.vgp" truncated)" = false ] || fail "the recovered profile is truncated"
kept=$(info "$dir/cut.recovered.vgp" samples)
[ "$kept" = "$(info "$dir/cut.vgp" samples)" ] && [ "$kept" -ge $((samples / 3)) ] ||
	fail "a truncated profile: $kept samples of $samples"

{ head -c $((size / 2)) "$dir/long.vgp"; printf '\377\377\377'; tail -c +$((size / 2 + 4)) "$dir/long.vgp"; } >"$dir/hit.vgp"
"$VGTOOL" recover -o "$dir/hit.recovered.vgp" "$dir/hit.vgp" 2>"$dir/log" || fail "a damaged profile: $(cat "$dir/log")"
grep -q 'damaged bytes left out' "$dir/log" || fail "no message about the damage"
"$VGTOOL" report "$dir/hit.recovered.vgp" >"$dir/report" 2>&1 || fail "report of the recovered profile: $(cat "$dir/report")"
[ "$(info "$dir/hit.recovered.vgp" samples)" = "$(info "$dir/hit.vgp" samples)" ] || fail "recovery lost samples"

echo nothing >"$dir/nothing"
! "$VGTOOL" recover -o "$dir/nothing.vgp" "$dir/nothing" 2>"$dir/log" || fail "vgtool recover made a profile from another file"
[ ! -e "$dir/nothing.vgp" ] || fail "vgtool recover has left a file"

"$VGTOOL" audit "$dir/whole.vgp" >"$dir/audit" 2>"$dir/log" || fail "audit: $(cat "$dir/audit")"
grep -q '^module *churn$' "$dir/audit" || fail "audit does not list modules"
! grep -q '<-' "$dir/audit" || fail "audit: this may identify a person: $(grep '<-' "$dir/audit")"
recorded --thread-names -o "$dir/named.vgp" -- sleep 0.1
! "$VGTOOL" audit "$dir/named.vgp" >"$dir/audit" 2>/dev/null || fail "audit does not report a thread name"
grep -q '^thread *sleep *<-' "$dir/audit" || fail "audit does not list threads"
exits 1 "$VGTOOL" audit --json "$dir/named.vgp"
out_holds 'it.some(string => string.may_identify)'
