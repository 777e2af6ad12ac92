#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What a profile says of CPU time is what the threads' own clocks say: a program that spends known
# shares.  SOAK: a longer run, and Debian's python3 against perf.
set -eu
: "${BUILDDIR:?}" "${SRCDIR:?}" "${VIGNETTED:?}" "${VGTOOL:?}"
dir=$(mktemp -d)
pid=
trap 'kill $pid 2>/dev/null || true; rm -rf "$dir"' EXIT

fail() {
	echo "FAIL: $*"
	exit 1
}

# named PROFILE WEIGHT OUT FILE...: its functions with names from those files
named() {
	profile=$1 weight=$2 out=$3
	shift 3
	"$VGTOOL" symbols -o "$dir/symbols" "$@" >"$dir/log"
	"$VGTOOL" resolve -s "$dir/symbols" "$profile" -o "$dir/named.vgp" 2>"$dir/log"
	"$VGTOOL" report --json --weight "$weight" "$dir/named.vgp" >"$dir/report"
	node "$SRCDIR/tests/functions.mjs" "$dir/report" >"$out"
}

# Each thread's budget is so large that one of two cores lasts it for the whole recording.
cpu_s=5
[ -z "${SOAK-}" ] || cpu_s=15
program=$BUILDDIR/tests/shares
"$VIGNETTED" -o "$dir/shares.vgp" --rate 999 --duration $((cpu_s * 8)) -- "$program" $cpu_s >"$dir/truth"
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
	perf record -q -e cpu-clock:u -F 999 --call-graph dwarf -o "$dir/perf.$turn" -p $pid -- sleep 10 \
		>"$dir/log" 2>&1 || fail "perf: $(cat "$dir/log")"
	"$VIGNETTED" --pid $pid -o "$dir/python.$turn.vgp" --rate 999 --mode cpu --duration 10
done
files=$(awk '$2 ~ /x/ && $NF ~ /^\// { print $NF }' /proc/$pid/maps | sort -u)
for turn in 1 2 3; do
	perf script -G -F ip,sym -i "$dir/perf.$turn" 2>/dev/null | awk 'NF { print $2 }' >>"$dir/perf"
	named "$dir/python.$turn.vgp" cpu "$dir/functions.$turn" $files
done
cat "$dir"/functions.? | awk -v perf="$dir/perf" '
	$5 == "*" { ours_all += $1; next }
	{ ours[$5] += $1 }
	END {
		while ((getline name <perf) > 0) { theirs[name]++; theirs_all++ }
		for (i = 0; i < 10; i++) {
			best = ""
			for (name in theirs)
				if (!(name in done) && (best == "" || theirs[name] > theirs[best])) best = name
			done[best] = 1
			a = 100 * theirs[best] / theirs_all
			b = 100 * ours[best] / ours_all
			wrong = b - a < -2 || b - a > 2
			printf "%-40s perf %6.2f%%  vignetted %6.2f%%%s\n", best, a, b, wrong ? "   WRONG" : ""
			status = status || wrong
		}
		printf "%d samples of perf, %d of vignetted\n", theirs_all, ours_all
		exit status
	}' || fail "perf says otherwise"
