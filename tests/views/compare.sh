#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vgtool with several profiles: it refuses profiles that cannot be compared, --limit applies to labels and to functions,
# and JSON has the right values.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node
. "$SRCDIR/tests/views/recorded.sh"
cd "$dir"

# only_error TEXT: fails unless standard error has the text, and standard output is empty
only_error() {
	has err "$1"
	[ ! -s out ] || fail "output in spite of the error: $(head -c 300 out)"
}

write=$BUILDDIR/tests/views/events_write
"$write" story a.vgp 100 1
"$write" story b.vgp 120 11
"$write" orphans bare.vgp 100

# rows KEY COUNT: --limit applies to labels and to functions; the row of all samples comes first
rows() {
	held "it.$1.filter(row => row.type !== 'function').length === $2"
	held "it.$1.filter(row => row.type === 'function').length === $2 - 1"
	held "it.$1[0].type === 'all'"
}
exits 0 "$VGTOOL" diff --json --limit 2 a.vgp b.vgp
rows changes 3
exits 0 "$VGTOOL" aggregate --json --limit 2 a.vgp b.vgp
rows rows 3
for command in diff aggregate; do
	exits 0 "$VGTOOL" $command --limit 1 a.vgp b.vgp
	grep -q '(all samples)' out && grep -q '\[server\]' out && grep -q ' more$' out || fail "$command: $(cat out)"
	[ "$(grep -c '\[server\]' out)" = 2 ] || fail "$command --limit 1: $(cat out)"
done

# A profile that cannot be read is not counted.
exits 1 "$VGTOOL" summary --json a.vgp none.vgp b.vgp
held 'it.profiles === 2'
exits 1 "$VGTOOL" aggregate --json a.vgp none.vgp b.vgp
held 'it.profiles === 2'

# A function that is only in B has no percentage.  Rows without time are not shown.
exits 0 "$VGTOOL" diff --json bare.vgp a.vgp
parse='it.changes.find(row => row.name === "parse" && row.type === "interval")'
held "$parse.self_ns.a === 0 && $parse.self_ns.percent === null"
held 'it.verdict === null && !it.changes.some(row => row.judged || row.slower)'
held 'it.changes.every(row => row.type === "all" || row.total_ns.a > 0 || row.total_ns.b > 0)'
exits 0 "$VGTOOL" diff bare.vgp a.vgp
grep -q ' new  parse ' out || fail "not new: $(cat out)"
! grep -q '^verdict' out || fail "a verdict without a limit: $(cat out)"

# The times of labels are wall times.  They are judged only if wall time is compared.
for weight in wall cpu; do
	rc=0
	"$VGTOOL" diff --json --weight $weight --fail-above 5 a.vgp a.vgp -- b.vgp b.vgp >out 2>err || rc=$?
	[ $rc -le 2 ] || fail "labels by $weight: status $rc, $(cat err)"
	held "it.changes.some(row => row.type === 'interval' && row.judged) === ('$weight' === 'wall')"
done

# verdict STATUS OUTCOME LINE DIFF_ARGUMENT...: the exit status, JSON and the last line of the text have the same verdict
verdict() {
	wanted=$1 outcome=$2 line=$3
	shift 3
	exits "$wanted" "$VGTOOL" diff --json "$@"
	held "it.verdict.outcome === '$outcome'"
	held "it.changes.filter(row => row.slower).length === it.verdict.slower"
	exits "$wanted" "$VGTOOL" diff "$@"
	tail -n 1 out | grep -q "^verdict: $line" || fail "$*: $(cat out)"
}
for seed in 1 2 3; do
	"$write" even a$seed.vgp 100 $seed
	"$write" even same$seed.vgp 100 1$seed
	"$write" even slow$seed.vgp 140 2$seed
done
verdict 0 'no change' 'no change above 10 %$' --fail-above 10 a1.vgp same1.vgp
verdict 0 'no change' 'no change above 5 %$' --fail-above 5% a?.vgp -- same?.vgp
verdict 0 'no change' 'no change above 5 %$' --fail-above 5 slow?.vgp -- a?.vgp
slower='slower: f3 \[server\] +[34][0-9]\.[0-9] % (95 % interval [23][0-9.]*\.\.[45][0-9.]*), limit 10 %'
verdict 1 slower "$slower$" --fail-above 10 a1.vgp slow1.vgp
verdict 1 slower "$slower$" --fail-above 10 a?.vgp -- slow?.vgp
out_has_slower=$(grep -c '<- slower$' out)
[ "$out_has_slower" = 1 ] || fail "$out_has_slower rows are slower: $(cat out)"
verdict 2 'cannot tell' 'cannot tell: .*, limit 1 %; record about [0-9]* profiles on each side, or use a limit of .* %$' \
	--fail-above 1 a1.vgp same1.vgp
limit=$(sed -n 's/.* use a limit of \([0-9]*\) %$/\1/p' out)
exits 2 "$VGTOOL" diff --json --fail-above $((limit - 1)) a1.vgp same1.vgp
held "it.verdict.limit_needed === $limit"
exits 0 "$VGTOOL" diff --json --fail-above "$limit" a1.vgp same1.vgp
held 'it.verdict.limit_needed === null'
verdict 2 'cannot tell' 'cannot tell: .* fewer than 200 samples; record longer, or two or more profiles on each side$' \
	--fail-above 10 a.vgp b.vgp
# With --share, the row of all samples is not judged.  The change of f3 is then 1.4 / 1.08 - 1 = 30 %.
verdict 1 slower 'slower: f3 \[server\] +[23]' --share --fail-above 5 a?.vgp -- slow?.vgp
exits 1 "$VGTOOL" diff --json --share --fail-above 5 a?.vgp -- slow?.vgp
held 'it.by_share && it.changes[0].judged === false && Math.abs(it.changes[0].self_ns.change) < 1'
# Functions below --at-least are judged as one row.
exits 1 "$VGTOOL" diff --json --fail-above 5 --at-least 22 a?.vgp -- slow?.vgp
held 'it.changes.filter(row => row.judged).map(row => row.name).sort().join() === "(all samples),[others],f3"'
held 'it.changes.every(row => (row.type !== "others") === ("count_a" in row && "total_ns" in row))'
# By total time there is no such row, so the smaller functions are shown, but not judged.
exits 1 "$VGTOOL" diff --by total --fail-above 5 --at-least 22 a?.vgp -- slow?.vgp
grep -q ' f1  ' out && ! grep -q '\[others\]' out || fail "--by total: $(cat out)"
# Profiles that were sampled differently are refused.
"$write" slow hz200.vgp
"$write" stops stops.vgp
"$write" timers timers.vgp
exits 3 "$VGTOOL" diff a1.vgp hz200.vgp
only_error 'hz200.vgp: sampled 200 times a second, but a1.vgp 1000 times; record both at the same rate'
exits 0 "$VGTOOL" aggregate a1.vgp hz200.vgp timers.vgp stops.vgp
exits 3 "$VGTOOL" diff --fail-above 5 timers.vgp stops.vgp
only_error 'stops.vgp: running threads were sampled by stops, but in timers.vgp by timers; record both with the same'
exits 0 "$VGTOOL" diff a1.vgp stops.vgp
# A profile without time would seem to be faster.  Labels alone can be compared, but not judged.
"$write" orphans nothing.vgp 0
exits 3 "$VGTOOL" diff --share --fail-above 5 nothing.vgp nothing.vgp
only_error 'nothing.vgp: has no time to compare'
exits 3 "$VGTOOL" diff a1.vgp nothing.vgp
only_error 'nothing.vgp: has no time to compare'
exits 3 "$VGTOOL" diff --fail-above 5 a1.vgp bare.vgp
only_error 'bare.vgp: has no time to compare'
verdict 2 'cannot tell' 'cannot tell: no row is judged, limit 5 %; use a lower --at-least$' \
	--share --fail-above 5 --at-least 200 a1.vgp same1.vgp
exits 3 sh -c "'$VGTOOL' diff --fail-above 5 a1.vgp same1.vgp >/dev/full"

# Profiles by wall time and by CPU time, resolved and not
cat >program.c <<'END'
#include <stdlib.h>
int main(int argc, char **argv)
{
	for (volatile long i = 0; i < 50000000 * atol(argv[argc - 1]); i++)
		;
	return 0;
}
END
$CC -O1 -g -Wl,--build-id=sha1 -o program program.c
counter='--counter page-faults'
"$VIGNETTED" -o counted.vgp $counter -- true 2>err || ! grep -q 'cannot be counted: ' err || counter=
record_until 20 wall.vgp ./program --rate 500 $counter
record_until 20 cpu.vgp ./program --rate 500 --mode cpu
"$VGTOOL" symbols -o store program >/dev/null
"$VGTOOL" resolve -s store -o wall.named.vgp wall.vgp 2>/dev/null
"$VGTOOL" resolve -s store -o cpu.named.vgp cpu.vgp 2>/dev/null
# Not resolved, but symbolized in memory with this machine's file: both can be compared.
exits 0 "$VGTOOL" diff wall.vgp wall.named.vgp

# Otherwise vgtool finds the program, and symbolizes the profiles that are not resolved.
rm program
weights='cpu.vgp: recorded by CPU time, but wall.vgp by wall time; use --weight wall or --weight cpu'
names='wall.vgp: not resolved, but wall.named.vgp is; resolve both with vgtool resolve'
exits 3 "$VGTOOL" diff wall.vgp cpu.vgp
only_error "$weights"
exits 3 "$VGTOOL" diff --fail-above 5 wall.vgp wall.vgp -- wall.vgp cpu.vgp
only_error "$weights"
exits 1 "$VGTOOL" aggregate wall.vgp cpu.vgp wall.vgp
only_error "$weights"
exits 3 "$VGTOOL" diff --fail-above 5 wall.named.vgp wall.vgp
only_error "$names"
exits 3 "$VGTOOL" diff --fail-above 5 wall.vgp wall.named.vgp
only_error "$names"
exits 1 "$VGTOOL" aggregate --weight cpu wall.named.vgp wall.vgp
only_error "$names"

# With --weight they can be compared, and JSON has the weight.
for weight in wall cpu; do
	exits 0 "$VGTOOL" diff --json --weight $weight wall.vgp cpu.vgp
	held "it.weight === '$weight'"
	exits 0 "$VGTOOL" aggregate --json --weight $weight wall.vgp cpu.vgp
	held "it.weight === '$weight'"
	exits 0 "$VGTOOL" diff --json $weight.named.vgp $weight.named.vgp
	held "it.weight === '$weight'"
	exits 0 "$VGTOOL" aggregate --json $weight.vgp $weight.vgp
	held "it.weight === '$weight'"
done
# A profile without addresses counts as resolved and as not resolved.
exits 0 "$VGTOOL" diff bare.vgp wall.vgp
exits 0 "$VGTOOL" diff bare.vgp wall.named.vgp
# A profile that was resolved without finding symbols can be compared with one that was not resolved.
mkdir empty
"$VGTOOL" resolve -s empty -o wall.bare.vgp wall.vgp 2>/dev/null
exits 0 "$VGTOOL" diff wall.vgp wall.bare.vgp
exits 3 "$VGTOOL" diff wall.named.vgp wall.bare.vgp

# The counts of intervals have the same sum as the counts of functions.
if [ "$(info wall.vgp counters)" = '["page-faults"]' ]; then
	exits 0 "$VGTOOL" report --json --counter page-faults wall.vgp
	total=$(json out it.counter_total)
	exits 0 "$VGTOOL" report --json --by interval --counter page-faults wall.vgp
	[ "$total" -ge 0 ] || fail "report has no count: $total"
	held "it.counter_total === $total"
fi
exits 0 "$VGTOOL" report --json --by interval wall.vgp
held '!("counter_total" in it)'
held_all
