#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What a profile says of CPU time is what the threads' own clocks say: a program that spends known
# shares.  SOAK: a longer run, and Debian's python3 against perf.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
# Interrupts in the one build of the check, stops in the other.
capture=auto
[ -z "${SANITIZE-}" ] || capture=stop
# Each thread's budget is so large that one of two cores lasts it for the whole recording.
cpu_s=5
[ -z "${SOAK-}" ] || cpu_s=15
program=$BUILDDIR/tests/recording/shares
"$VIGNETTED" --capture $capture -o "$dir/shares.vgp" --rate 999 --duration $((cpu_s * 8)) -- "$program" $cpu_s >"$dir/truth"
named "$dir/shares.vgp" cpu "$dir/functions" "$program"
awk '
	NR == FNR { truth[$1] = $2; all += $2; next }
	$5 == "*" { total = $4; next }
	$5 in truth { by_samples[$5] = $2; samples += $2; by_weight[$5] = $4; weights += $4 }
	END {
		printf "%-14s %8s %8s %8s\n", "function", "truth", "weights", "samples"
		for (name in truth) {
			share = 100 * truth[name] / all
			weight = 100 * by_weight[name] / weights
			wrong = weight - share
			if (wrong < -1 || wrong > 1) status = 1
			printf "%-14s %7.2f%% %7.2f%% %7.2f%%%s\n", name, share, weight,
				100 * by_samples[name] / samples, (wrong < -1 || wrong > 1) ? "   WRONG" : ""
		}
		printf "all: %.3f s by the clocks, %.3f s by weights, %d samples\n", all / 1e9, total / 1e9,
			samples
		wrong = total / all
		exit (status || wrong < 0.97 || wrong > 1.03)
	}' "$dir/truth" "$dir/functions" || fail "the shares are wrong"
[ -n "${SOAK-}" ] || exit 0

# perf sees the same threads by the same clock, and unwinds with elfutils.
cat >"$dir/busy.py" <<'PYTHON'
import json, re
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
words = [str(i * 7919 % 10007) for i in range(3000)]
while True:
    fib(14)
    sorted(words)
    json.loads(json.dumps(words))
    re.findall("[0-9]+7", " ".join(words))
    {word: len(word) for word in words}
PYTHON
/usr/bin/python3 "$dir/busy.py" &
pid=$!
sleep 1
# In turns, so that both see the same machine.
for turn in 1 2 3; do
	perf record -q -e cpu-clock -F 999 --call-graph dwarf,1024 -o "$dir/perf" -p $pid -- sleep 10 \
		>"$dir/log" 2>&1 || fail "perf: $(cat "$dir/log")"
	perf script --no-inline -F ip,dso -i "$dir/perf" >>"$dir/perf.leaves" 2>/dev/null
	"$VIGNETTED" --capture $capture --pid $pid -o "$dir/python.vgp" --rate 999 --mode cpu --duration 10
	"$VGTOOL" dump "$dir/python.vgp" >>"$dir/dump"
done
"$VGTOOL" symbols -o "$dir/symbols" $(awk '$2 ~ /x/ && $NF ~ /^\// { print $NF }' /proc/$pid/maps |
	sort -u) >"$dir/log"
node "$SRCDIR/tests/recording/leaves.mjs" "$dir/symbols" "$dir/dump" "$dir/perf.leaves" || fail "perf says otherwise"
