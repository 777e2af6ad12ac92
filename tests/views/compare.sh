#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vgtool with several profiles: it refuses profiles that cannot be compared, --limit applies to labels and to functions,
# and JSON has the right values.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
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
	out_holds "it.$1.filter(row => row.type !== 'function').length === $2"
	out_holds "it.$1.filter(row => row.type === 'function').length === $2 - 1"
	out_holds "it.$1[0].type === 'all'"
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
out_holds 'it.profiles === 2'
exits 1 "$VGTOOL" aggregate --json a.vgp none.vgp b.vgp
out_holds 'it.profiles === 2'

# A function that is only in B has no percentage, and exceeds each limit of --fail-above.
exits 1 "$VGTOOL" diff --json --fail-above 1000000 bare.vgp a.vgp
out_holds 'it.changes.filter(row => row.name === "parse").length === 1'
parse='it.changes.find(row => row.name === "parse")'
out_holds "$parse.self_ns.a === 0 && $parse.self_ns.percent === null && $parse.fails === true"
exits 0 "$VGTOOL" diff bare.vgp a.vgp
grep -q ' new  parse ' out || fail "not new: $(cat out)"

# Profiles by wall time and by CPU time, resolved and not
cat >program.c <<'END'
int main(void)
{
	for (volatile long i = 0; i < 200000000; i++)
		;
	return 0;
}
END
$CC -O1 -g -Wl,--build-id=sha1 -o program program.c
"$VIGNETTED" -o wall.vgp --rate 200 --counter page-faults -- ./program 2>err ||
	"$VIGNETTED" -o wall.vgp --rate 200 -- ./program 2>err || fail "wall: $(cat err)"
"$VIGNETTED" -o cpu.vgp --rate 200 --mode cpu -- ./program 2>err || fail "cpu: $(cat err)"
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
	out_holds "it.weight === '$weight'"
	exits 0 "$VGTOOL" aggregate --json --weight $weight wall.vgp cpu.vgp
	out_holds "it.weight === '$weight'"
	exits 0 "$VGTOOL" diff --json $weight.named.vgp $weight.named.vgp
	out_holds "it.weight === '$weight'"
	exits 0 "$VGTOOL" aggregate --json $weight.vgp $weight.vgp
	out_holds "it.weight === '$weight'"
done
# A profile without addresses counts as resolved and as not resolved.
exits 0 "$VGTOOL" diff bare.vgp wall.vgp
exits 0 "$VGTOOL" diff bare.vgp wall.named.vgp
# A profile that was resolved without finding symbols can be compared with one that was not resolved.
mkdir empty
"$VGTOOL" resolve -s empty -o wall.bare.vgp wall.vgp 2>/dev/null
exits 0 "$VGTOOL" diff --fail-above 0 wall.vgp wall.bare.vgp
exits 3 "$VGTOOL" diff wall.named.vgp wall.bare.vgp

# The counts of intervals have the same sum as the counts of functions.
if [ "$(info wall.vgp counters)" = '["page-faults"]' ]; then
	exits 0 "$VGTOOL" report --json --counter page-faults wall.vgp
	total=$(json out it.counter_total)
	exits 0 "$VGTOOL" report --json --by interval --counter page-faults wall.vgp
	[ "$total" -ge 0 ] || fail "report has no count: $total"
	out_holds "it.counter_total === $total"
fi
exits 0 "$VGTOOL" report --json --by interval wall.vgp
out_holds '!("counter_total" in it)'
