#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The CPU times in a profile equal the times of the threads' own clocks, for a program with known shares, with timers
# and with stops.  TIMING: only timers, whose shares are within one point.  SOAK: a longer run, and Debian's python3
# compared with perf.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node
# CPU time of each of the two threads
cpu_s=1
[ -z "${TIMING-}" ] || cpu_s=5
[ -z "${SOAK-}" ] || cpu_s=15
program=$BUILDDIR/tests/recording/shares
mkfifo "$dir/hold"
used() { [ "$(wc -l <"$dir/truth")" = 4 ]; }
grown() { holds "$dir/shares.vgp.part" "it.samples > $before"; }

# truth CAPTURE: records the program, and compares the profile with the program's own figures
truth() {
	: >"$dir/truth"
	"$VIGNETTED" --capture $1 -o "$dir/shares.vgp" --rate 999 -- "$program" $cpu_s <"$dir/hold" >"$dir/truth" & recorder=$!
	pids=$recorder
	exec 3>"$dir/hold"
	await 600 "the program uses its CPU time" used
	# The threads wait until the profile has later samples of each thread.  Then no weight is missing.
	for checkpoint in 1 2; do
		before=$(info "$dir/shares.vgp.part" samples)
		await 120 "a checkpoint of the profile" grown
	done
	exec 3>&-
	wait $recorder || fail "vignetted: exit status $?"

	symbolize "$dir/shares.vgp" cpu "$dir/functions" "$program"
	"$VGTOOL" dump "$dir/shares.vgp" | sed -n '/"kind":"sample"/s/.*"cpu_100us":\([0-9]*\).*/\1/p' | sort -rn >"$dir/weights"
	# The weight of a sample may include time before or after a call of the function, and the kernel updates CPU
	# time at scheduler ticks, of at most 10 ms.  So each begin and end of a call shifts at most the weight of one
	# sample and one tick to or from the function, by an evenly distributed share of it.  The bound takes the
	# largest weights and 6.5 standard errors of the sum, which is exceeded once in 10^10 times, and the CPU time
	# that is in no weight.  It grows with the delays of a busy machine.
	missing=$("$VGTOOL" info --json "$dir/shares.vgp" | sed -n 's/.*"cpu_unsampled_ns":\([0-9]*\).*/\1/p')
	awk -v weights="$dir/weights" -v timing="${TIMING-}" -v capture=$1 -v missing=${missing:-0} '
		FNR == NR { truth[$1] = $2; calls[$1] = $3; all += $2; next }
		$5 == "*" { total = $4; next }
		$5 in truth { by_samples[$5] = $2; samples += $2; by_weight[$5] = $4; sum += $4 }
		END {
			printf "%-14s %8s %8s %8s\n", capture, "truth", "weights", "samples"
			while ((getline weight <weights) > 0)
				largest[count++] = weight * 1e5
			for (name in truth) {
				variance = 0
				for (i = 0; i < 2 * calls[name] && i < count; i++)
					variance += (largest[i] + 1e7) ^ 2 / 12
				share = 100 * truth[name] / all
				weight = 100 * by_weight[name] / sum
				bound = timing ? 1 : 650 * sqrt(variance) / all + 100 * missing / all
				wrong = weight < share - bound || weight > share + bound
				status = status || wrong
				printf "%-14s %7.2f%% %7.2f%% %7.2f%%, bound %.2f%s\n", name, share, weight,
					100 * by_samples[name] / samples, bound, wrong ? "   WRONG" : ""
			}
			printf "all: %.3f s by the clocks, %.3f s by weights, %d samples\n", all / 1e9,
				total / 1e9, samples
			# The clocks do not include the start of the program.  The last stop that found a thread
			# running may be long before it waited.
			exit (status || total + (timing ? 0 : missing) < 0.97 * all ||
				total > 1.03 * all + (timing ? 0 : 1e8))
		}' "$dir/truth" "$dir/functions" || fail "--capture $1: the shares differ from the truth"
}
truth auto
[ -n "${TIMING-}" ] || truth stop
[ -n "${SOAK-}" ] || exit 0

needs perf python3
# perf samples the same threads with the same clock, and unwinds with elfutils.
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
await 60 "python begins" executed $pid
sleep 1                                         # python runs
# In turns, because the speed of the machine changes.
for turn in 1 2 3; do
	perf record -q -e cpu-clock -F 999 --call-graph dwarf,1024 -o "$dir/perf" -p $pid -- sleep 10 \
		>"$dir/log" 2>&1 || fail "perf: $(cat "$dir/log")"
	perf script --no-inline -F ip,dso -i "$dir/perf" >>"$dir/perf.leaves" 2>/dev/null
	"$VIGNETTED" --pid $pid -o "$dir/python.vgp" --rate 999 --mode cpu --duration 10
	"$VGTOOL" dump "$dir/python.vgp" >>"$dir/dump"
done
"$VGTOOL" symbols -o "$dir/symbols" $(awk '$2 ~ /x/ && $NF ~ /^\// { print $NF }' /proc/$pid/maps |
	sort -u) >"$dir/log"
node "$SRCDIR/tests/recording/leaves.mjs" "$dir/symbols" "$dir/dump" "$dir/perf.leaves" || fail "perf's shares differ"
