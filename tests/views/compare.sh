#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vgtool over several profiles: what cannot be compared is refused, a limit leaves room for labels and for functions,
# and what JSON says of them holds.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
cd "$dir"

# says TEXT: on standard error, and nothing on standard output
says() {
	has err "$1"
	[ ! -s out ] || fail "it printed all the same: $(head -c 300 out)"
}

write=$BUILDDIR/tests/views/events_write
"$write" story a.vgp 100 1
"$write" story b.vgp 120 11
"$write" orphans bare.vgp 100

# Labels and functions have a limit each; what is of all samples stands above both.
per_what() {
	out_holds "it.$1.filter(row => row.what !== 'function').length === $2"
	out_holds "it.$1.filter(row => row.what === 'function').length === $2 - 1"
	out_holds "it.$1[0].what === 'all'"
}
exits 0 "$VGTOOL" diff --json --limit 2 a.vgp b.vgp
per_what changes 3
exits 0 "$VGTOOL" aggregate --json --limit 2 a.vgp b.vgp
per_what rows 3
for command in diff aggregate; do
	exits 0 "$VGTOOL" $command --limit 1 a.vgp b.vgp
	grep -q '(all samples)' out && grep -q '\[server\]' out && grep -q ' more$' out || fail "$command: $(cat out)"
	[ "$(grep -c '\[server\]' out)" = 2 ] || fail "$command --limit 1: $(cat out)"
done

# A profile that cannot be read is none of those in the table.
exits 1 "$VGTOOL" summary --json a.vgp none.vgp b.vgp
out_holds 'it.profiles === 2'
exits 1 "$VGTOOL" aggregate --json a.vgp none.vgp b.vgp
out_holds 'it.profiles === 2'

# What is in B alone has grown by no percentage, and by more than any.
exits 1 "$VGTOOL" diff --json --fail-above 1000000 bare.vgp a.vgp
out_holds 'it.changes.filter(row => row.name === "parse").length === 1'
parse='it.changes.find(row => row.name === "parse")'
out_holds "$parse.self_ns.a === 0 && $parse.self_ns.percent === null && $parse.fails === true"
exits 0 "$VGTOOL" diff bare.vgp a.vgp
grep -q ' new  parse ' out || fail "not new: $(cat out)"

# By wall time and by CPU time, with names and without.
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

weights='wall.vgp was recorded by wall time and cpu.vgp by CPU time: choose with --weight wall or --weight cpu'
names='wall.named.vgp has names of functions and wall.vgp has none: resolve that one too, see vgtool resolve'
exits 3 "$VGTOOL" diff wall.vgp cpu.vgp
says "$weights"
exits 3 "$VGTOOL" diff --fail-above 5 wall.vgp wall.vgp -- wall.vgp cpu.vgp
says "$weights"
exits 1 "$VGTOOL" aggregate wall.vgp cpu.vgp wall.vgp
says "$weights"
exits 3 "$VGTOOL" diff --fail-above 5 wall.named.vgp wall.vgp
says "$names"
exits 3 "$VGTOOL" diff --fail-above 5 wall.vgp wall.named.vgp
says "$names"
exits 1 "$VGTOOL" aggregate --weight cpu wall.named.vgp wall.vgp
says "$names"

# With a weight they compare, and say which it was.
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
# One without any address has no names to miss.
exits 0 "$VGTOOL" diff bare.vgp wall.vgp
exits 0 "$VGTOOL" diff bare.vgp wall.named.vgp
# One for which no symbols were found compares with one for which none were looked for.
mkdir empty
"$VGTOOL" resolve -s empty -o wall.bare.vgp wall.vgp 2>/dev/null
exits 0 "$VGTOOL" diff --fail-above 0 wall.vgp wall.bare.vgp
exits 3 "$VGTOOL" diff wall.named.vgp wall.bare.vgp

# Counts of intervals come with their sum, as those of functions do.
if [ "$(info wall.vgp counters)" = '["page-faults"]' ]; then
	exits 0 "$VGTOOL" report --json --counter page-faults wall.vgp
	counted=$(json out it.counted)
	exits 0 "$VGTOOL" report --json --by interval --counter page-faults wall.vgp
	[ "$counted" -ge 0 ] || fail "report has no count: $counted"
	out_holds "it.counted === $counted"
fi
exits 0 "$VGTOOL" report --json --by interval wall.vgp
out_holds '!("counted" in it)'
