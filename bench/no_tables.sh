#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Measures the share of complete stacks in programs whose code has no unwind tables and no frame pointers: assembly, JIT
# code, and programs that are built so.  Vignette and perf's DWARF mode record each run of a program in turn, at 499 Hz.
# Each copies 32 KiB of the stack or more.  Only running threads are sampled (--mode cpu), as perf does.
#
#   complete      stacks of vignetted that reach the root
#   instructions  stacks of vignetted with a frame that was found by the instructions of its callee
#   root in JIT   complete stacks whose root frame is in no module.  Only processes of erlang have such roots, because
#                 they have stacks of their own.  All others are wrong: the walk took a frame for the root
#   perf          stacks of perf whose last frame is where threads begin (perf_complete in lib.sh)
#
# `waits` is a program whose threads wait in poll, pthread_cond_wait and read.  perf does not sample waiting threads.  A
# wrong stack can reach the root as well.  tests/recording compares such stacks with those of programs with tables.
#
# BENCH_PROGRAMS selects from `ffmpeg erlang luajit pypy3 java rust c musl waits`.
set -eu
. "${SRCDIR:?}/bench/lib.sh"
seconds=${BENCH_SECONDS:-3}
rounds=${BENCH_ROUNDS:-3}
rate=499
warm_up_seconds=4                                # until the JIT compilers have compiled what is hot
without_tables="-std=gnu11 -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer -pthread"

# build PROGRAM: builds its file in $dir
build() {
	case $1 in
	erlang) erlc -o "$dir" "$SRCDIR/bench/busy.erl" ;;
	java) javac -d "$dir" "$SRCDIR/bench/Busy.java" ;;
	rust) rustc -O -C panic=abort -C strip=symbols -o "$dir/rust" "$SRCDIR/bench/busy.rs" ;;
	c) gcc $without_tables -o "$dir/c" "$SRCDIR/bench/no_tables.c" ;;
	musl | waits) musl-gcc $without_tables -static -o "$dir/$1" "$SRCDIR/bench/no_tables.c" ;;
	esac
}

# run PROGRAM: executes it
run() {
	case $1 in
	ffmpeg)
		exec ffmpeg -f lavfi -i testsrc2=size=1280x720:rate=30 -c:v libx264 -threads 9 -preset medium -f null - ;;
	erlang) exec erl -pa "$dir" -noshell -noinput -s busy main ;;
	luajit) exec luajit "$SRCDIR/bench/busy.lua" ;;
	# With the default thresholds the outer loops are interpreted for longer than the recordings.
	pypy3) exec pypy3 --jit threshold=100,function_threshold=100 "$SRCDIR/bench/busy.py" 1 ;;
	java) exec java -cp "$dir" Busy ;;
	waits) exec "$dir/waits" waits ;;
	*) exec "$dir/$1" ;;
	esac
}

# shares: prints, from the output of vgtool dump, the share of samples with a frame that was found by instructions, and
# the share of samples with a complete stack whose root frame is in no module
shares() {
	awk 'function field(name) {
			if (!match($0, "\"" name "\":[0-9]+")) return ""
			return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3)
		}
		/"kind":"stack"/ {
			id = field("id"); parent = field("parent")
			found[id] = found[parent] || field("found_by") == 4
			outside[id] = parent == 0 ? field("module") == "" : outside[parent]
		}
		/"kind":"sample"/ { all++; n += found[field("stack")]; m += outside[field("stack")] }
		END { if (all) print 100 * n / all, 100 * m / all; else print "none none" }'
}

vignetted_run() {
	"$VIGNETTED" --pid $1 --rate $rate --mode $3 --duration "$seconds" -o "$dir/out.vgp" 2>"$dir/log" ||
		fail "no_tables: $2: $(cat "$dir/log")"
	"$VGTOOL" info --json "$dir/out.vgp" >"$dir/info"
	calc "100 * $(number "$dir/info" stacks_complete) / $(number "$dir/info" stacks)" %.6g >>"$dir/$2.complete"
	"$VGTOOL" dump "$dir/out.vgp" | shares >"$dir/shares"
	cut -d ' ' -f 1 "$dir/shares" >>"$dir/$2.instructions"
	cut -d ' ' -f 2 "$dir/shares" >>"$dir/$2.outside"
}

perf_run() {
	perf record -q --call-graph dwarf,32768 -F $rate -e cpu-clock -o "$dir/perf.data" -p $1 -- sleep "$seconds" \
		>/dev/null 2>&1 || fail "no_tables: $2: perf record failed"
	perf script --no-inline -F ip,sym,dso -i "$dir/perf.data" 2>/dev/null |
		perf_complete "$(readlink -f /proc/$1/exe)" |
		awk '{ if ($2) print 100 * $1 / $2; else print "none" }' >>"$dir/$2.perf"
}

printf '%-8s %10s %13s %12s %8s\n' '' complete instructions 'root in JIT' perf
for name in ${BENCH_PROGRAMS:-ffmpeg erlang luajit pypy3 java rust c musl waits}; do
	build $name >"$dir/log" 2>&1 || fail "no_tables: $name: $(cat "$dir/log")"
	run $name >/dev/null 2>&1 </dev/null & pids=$!
	sleep $warm_up_seconds
	round=0 mode=cpu
	[ $name != waits ] || mode=wall
	while [ $round -lt "$rounds" ]; do
		round=$((round + 1))
		vignetted_run $pids $name $mode
		[ $name = waits ] || ! have_perf || perf_run $pids $name
	done
	end $pids
	pids=
	complete=$(median <"$dir/$name.complete")
	by_instructions=$(calc "$(median <"$dir/$name.instructions")" %.3g)
	outside=$(calc "$(median <"$dir/$name.outside")" %.3g)
	perf=none
	[ ! -e "$dir/$name.perf" ] || perf=$(calc "$(median <"$dir/$name.perf")" %.3g)
	printf '%-8s %8s %% %11s %% %10s %% %8s\n' $name "$(calc "$complete" %.1f)" $by_instructions $outside \
		"$(calc "$perf" '%g %%')"
	case $name in
	luajit | pypy3 | java) measured "Complete stacks, $name" "$(calc "$complete" %.3g) %" ;;
	*) verdict_least "Complete stacks, $name" "$complete" 98 % ;;
	esac
	measured "Stacks with frames found by instructions; with a root in JIT code, $name" "$by_instructions %; $outside %"
	[ $perf = none ] || measured "Stacks in which perf's DWARF mode reaches the root, $name" "$perf %"
done
