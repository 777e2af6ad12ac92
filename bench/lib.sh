# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What the benchmarks share; sourced by them.  Machines are shared and noisy: whatever is compared
# runs in turn, several rounds, and medians are what counts.
#
#     BENCH_SECONDS   the length of one run      (each benchmark has its own default)
#     BENCH_ROUNDS    how often each is repeated (the same)
: "${BUILDDIR:?run me by make bench}" "${SRCDIR:?}" "${VIGNETTED:?}" "${VGTOOL:?}"
bench=$BUILDDIR/bench
python=/usr/bin/python3
dir=$(mktemp -d)
pids=
trap 'kill -9 $pids 2>/dev/null || true; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

fail() {
	echo "$*" >&2
	exit 1
}

# median and quantile Q: of the numbers on standard input
quantile() {
	sort -g | awk -v q="$1" '{ v[NR] = $1 }
		END { if (NR == 0) { print "none"; exit }
			at = 1 + q * (NR - 1); low = int(at); high = low < NR ? low + 1 : low
			printf "%.6g\n", v[low] + (at - low) * (v[high] - v[low]) }'
}
median() { quantile 0.5; }

# calc EXPRESSION [FORMAT]: an arithmetic expression; "none" where a figure in it is none
calc() {
	case $1 in
	*none*) echo none ;;
	*) awk "BEGIN { printf \"${2:-%.4g}\\n\", ($1) }" 2>/dev/null || echo none ;;
	esac
}

# spread [SHARED]: the standard error of the median of the numbers on standard input: 1.253 s / sqrt(n),
# where the quartiles are 1.349 s apart, and n is how many there are, by how many come from one run
spread() {
	cat >"$dir/numbers"
	calc "1.253 / 1.349 * ($(quantile 0.75 <"$dir/numbers") - $(quantile 0.25 <"$dir/numbers")) \
		/ sqrt($(wc -l <"$dir/numbers") / ${1:-1})"
}

# number FILE KEY: a number out of a flat JSON object
number() {
	sed -n "s/.*\"$2\":\([0-9]*\).*/\1/p" "$1"
}

# verdict NAME FIGURE LIMIT UNIT: at most the limit is to be reached
verdict() {
	word=$(awk -v f="$2" -v l="$3" 'BEGIN { print f != "none" && f + 0 <= l ? "reached" : "not reached" }')
	echo "$1: $2${4:+ $4} (target: $3${4:+ $4}) [$word]"
}

# stop PID...: ends samplers in good order
stop() {
	for pid in "$@"; do
		kill -INT "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
}

# end PID...: ends what need not end well
end() {
	for pid in "$@"; do
		kill -9 "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
}

# on CPU COMMAND...: becomes the command, on that CPU if there are two, and before others where
# that is allowed
on() {
	cpu=$1; shift
	renice -n -20 -p "$(exec sh -c 'echo $PPID')" >/dev/null 2>&1 || true
	if [ "$(nproc)" -ge 2 ]; then exec taskset -c "$cpu" "$@"; else exec "$@"; fi
}

# free_port: a TCP port that nobody has, from the kernel
free_port() {
	"$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# have_perf: whether perf can sample another process here; says why not
have_perf() {
	[ -n "${perf_state-}" ] || {
		sleep 5 & sleeper=$!
		if perf record -q -e cpu-clock -F 99 --call-graph dwarf -o "$dir/try.data" -p $sleeper \
			-- sleep 0.1 >"$dir/try.log" 2>&1; then perf_state=yes; else
			perf_state=no
			echo "perf: unavailable: $(tr '\n' ' ' <"$dir/try.log")"
		fi
		end $sleeper
	}
	[ $perf_state = yes ]
}

echo "-- $(basename "$0" .sh): $(nproc) CPUs, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), Linux $(uname -r)"
