# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The benchmarks read this file with `.`.  Machines are shared and noisy.  So the things that a benchmark compares
# run in turn, for several rounds, and the medians are compared.
#
#     BENCH_SECONDS   the length of one run       (each benchmark has its own default)
#     BENCH_ROUNDS    how often runs are repeated (each benchmark has its own default)
#
# A benchmark that succeeds replaces its section of bench/RESULTS.md.
: "${BUILDDIR:?run me by make bench}" "${SRCDIR:?}" "${VIGNETTED:?}" "${VGTOOL:?}"
bench=$BUILDDIR/bench
python=/usr/bin/python3
dir=$(mktemp -d)
pids=
bench_name=$(basename "$0" .sh)
machine="$(nproc) CPUs, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), Linux $(uname -r | sed 's/-.*//')"

load_average=$(cut -d ' ' -f 1 /proc/loadavg)

finish() {
	status=$?
	kill -9 $pids 2>/dev/null || true
	[ $status != 0 ] || [ ! -s "$dir/rows" ] || results_write
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM

fail() {
	echo "$*" >&2
	exit 1
}

# quantile Q; median: print that quantile, or the median, of the numbers on standard input
quantile() {
	sort -g | awk -v q="$1" '{ v[NR] = $1 }
		END { if (NR == 0) { print "none"; exit }
			at = 1 + q * (NR - 1); low = int(at); high = low < NR ? low + 1 : low
			printf "%.6g\n", v[low] + (at - low) * (v[high] - v[low]) }'
}
median() { quantile 0.5; }

# calc EXPRESSION [FORMAT]: prints the value of an arithmetic expression; "none" if an operand is "none"
calc() {
	case $1 in
	*none*) echo none ;;
	*) awk "BEGIN { printf \"${2:-%.4g}\\n\", ($1) }" 2>/dev/null || echo none ;;
	esac
}

# spread [SHARED]: prints the standard error of the median of the numbers on standard input: 1.253 s / sqrt(n).  s is
# computed from the quartiles, which are 1.349 s apart in a normal distribution.  SHARED is how many of the numbers come
# from one run (default 1); n is the count of numbers divided by SHARED.
spread() {
	cat >"$dir/numbers"
	calc "1.253 / 1.349 * ($(quantile 0.75 <"$dir/numbers") - $(quantile 0.25 <"$dir/numbers")) \
		/ sqrt($(wc -l <"$dir/numbers") / ${1:-1})"
}

# number FILE KEY: prints a number of a flat JSON object
number() {
	sed -n "s/.*\"$2\":\([0-9]*\).*/\1/p" "$1"
}

# results_row WHAT FIGURE TARGET RESULT: a row of bench/RESULTS.md
results_row() {
	echo "| $1 | $2 | $3 | $4 |" >>"$dir/rows"
}

# verdict WHAT FIGURE TARGET UNIT: prints a figure, and whether it is at most the target
verdict() { verdict_print 1 "$@"; }

# verdict_least WHAT FIGURE TARGET UNIT: prints a figure, and whether it is at least the target
verdict_least() { verdict_print -1 "$@"; }

verdict_print() {
	sign=$1; shift
	word=$(awk -v f="$2" -v l="$3" -v s="$sign" \
		'BEGIN { print f != "none" && s * f <= s * l ? "reached" : "not reached" }')
	shown=$(awk -v f="$2" 'BEGIN { printf f == "none" ? f : (f < 100 ? "%.3g" : "%.0f"), f }')${4:+ $4}
	echo "$bench_name: $1: $shown (target: $3${4:+ $4}) [$word]"
	results_row "$1" "$shown" "$3${4:+ $4}" "$word"
}

# measured WHAT FIGURE: prints a figure that has no target
measured() {
	echo "$bench_name: $1: $2"
	results_row "$1" "$2" "" ""
}

# results_write: replaces the section of this benchmark in bench/RESULTS.md.  A run with a debug file that the caller
# chose has a section of its own.
results_write() {
	commit=$(git -C "$SRCDIR" describe --always 2>/dev/null || echo "unknown")
	git -C "$SRCDIR" diff --quiet HEAD -- '*.[ch]' "bench/*.sh" configure.ac 2>/dev/null || commit="$commit with changes"
	settings=$(env | sed -n 's/^\(BENCH_[A-Z]*\)=\([A-Za-z0-9 .-]*\)$/\1="\2"/p' | sort | tr '\n' ' ')
	run="\`make -C build bench benches=$bench_name${settings:+ ${settings% }}\`, $(date -u +%F), commit $commit, $machine"
	run="$run, load average $load_average."
	awk -v name="$bench_name${BENCH_DEBUG:+ with BENCH_DEBUG}" -v rows="$dir/rows" -v run="$run" \
		-f "$SRCDIR/bench/results.awk" "$SRCDIR/bench/RESULTS.md" >"$dir/results" && cat "$dir/results" >"$SRCDIR/bench/RESULTS.md"
}

# stop PID...: ends samplers by SIGINT, so that they complete their files
stop() {
	for pid in "$@"; do
		kill -INT "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
}

# end PID...: kills these processes
end() {
	for pid in "$@"; do
		kill -9 "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
}

# on CPU COMMAND...: executes the command on that CPU if there are two or more CPUs, with the highest priority if that
# is allowed
on() {
	cpu=$1; shift
	renice -n -20 -p "$(exec sh -c 'echo $PPID')" >/dev/null 2>&1 || true
	if [ "$(nproc)" -ge 2 ]; then exec taskset -c "$cpu" "$@"; else exec "$@"; fi
}

# free_port: prints a TCP port that is not in use
free_port() {
	"$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# have_perf: succeeds if perf can sample another process here; otherwise prints why it cannot
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

# entry FILE: prints the last three hexadecimal digits of the addresses of the 64 bytes that begin at the program's
# entry point.  These digits are the offsets in a page, which loading does not change.
entry() {
	at=$(readelf -h "$1" | sed -n 's/.*Entry point address: *0x//p')
	awk -v at="$(printf '%d' "0x$at")" 'BEGIN { for (i = 0; i < 64; i++) printf "%03x ", (at + i) % 4096 }'
}

# perf_complete EXE: prints the number of complete stacks and of all stacks in the output of perf script on standard
# input.  A stack is complete if its last frame is where threads begin: the program's entry, or clone and the function
# that it calls.
perf_complete() {
	awk -v entry="$(entry "$1")" -v dso="$1" '
		function finish() {
			if (last == "") return
			all++
			if (symbol ~ /^_*(clone3?|start_thread|start)$/ ||
			    (index(last, "(" dso ")") && index(entry, substr(ip, length(ip) - 2) " ")))
				n++
			last = ""
		}
		/^[ \t]*$/ { finish(); next }
		/^[ \t]+[0-9a-f]+ / { last = $0; ip = $1; symbol = $2; sub(/\+0x[0-9a-f]+$/, "", symbol) }
		END { finish(); print n + 0, all + 0 }'
}

echo "-- $bench_name: $machine"
