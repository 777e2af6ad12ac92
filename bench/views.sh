#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Compares the views of vgtool with those of perf, on runs of the same program with one thread and with four threads.
# The program is views_work.c, built with -O2 -g and linked with a static library.  vgtool and perf record it in turn,
# at 999 Hz of CPU time.
#
#     self and total     vgtool report: with perf report, and with the call chains of perf script
#     trees              vgtool report --tree and --inverted: with these call chains
#     callers, callees   vgtool report --callers and --callees of five functions: with these call chains
#     lines              vgtool report --by line: with perf report by source line, and with these call chains
#     annotate           vgtool annotate of five functions: with perf annotate
#
# Each table has its 20 heaviest rows.  views.mjs computes the difference of each row in standard errors.  The
# recordings are two sets.  The first set selects the rows beyond three standard errors.  The second set shows whether
# such a row is a difference of the views (it is beyond three again) or chance.
#
#     BENCH_SECONDS   the approximate length of a recording
#     BENCH_ROUNDS    the number of recordings of each tool in each set
set -eu
. "${SRCDIR:?}/bench/lib.sh"
seconds=${BENCH_SECONDS:-10}
rounds=${BENCH_ROUNDS:-2}
functions="evaluate partition quick_sort slot_find state_done"
export LC_ALL=C

# ours NAME ARGUMENT...: records the program and writes what the views of vgtool show
ours() {
	out=$dir/$1.vgtool; shift
	"$VGTOOL" record --quiet --no-pager --rate 999 --mode cpu --budget 0 -o "$out" -- "$dir/views_work" "$@" \
		>"$dir/out" 2>"$dir/log" || fail "views: $(tail -n 1 "$dir/log")"
	"$VGTOOL" dump "$out" >"$out.dump"
	"$VGTOOL" report --json "$out" >"$out.functions"
	"$VGTOOL" report --json --by line "$out" >"$out.lines"
	"$VGTOOL" report --json --tree --min 0 "$out" >"$out.tree"
	"$VGTOOL" report --json --inverted --min 0 "$out" >"$out.inverted"
	for function in $functions; do
		"$VGTOOL" report --json --callers $function --min 0 "$out" >"$out.callers.$function"
		"$VGTOOL" report --json --callees $function --min 0 "$out" >"$out.callees.$function"
		"$VGTOOL" annotate --source "$SRCDIR" $function "$out" >"$out.annotate.$function"
	done
}

perf_run() {
	perf "$@" 2>"$dir/log" || fail "views: perf $1: $(tail -n 1 "$dir/log")"
}

# theirs NAME ARGUMENT...: the same with perf
theirs() {
	out=$dir/$1.perf; shift
	perf_run record -q -e cpu-clock:u -F 999 --call-graph dwarf,16384 -o "$out" -- "$dir/views_work" "$@" \
		>"$dir/out"
	perf_run script -i "$out" -F ip,sym,srcline >"$out.script"
	perf_run report -i "$out" --stdio --children -g none -t '|' -F overhead_children,overhead,sym >"$out.functions"
	perf_run report -i "$out" --stdio --no-children -g none -t '|' -F overhead,sample,srcline >"$out.lines"
	for function in $functions; do
		perf_run annotate -i "$out" --stdio -l -s $function >"$out.annotate.$function"
	done
	rm "$out"
}

have_perf || fail "views: cannot compare without perf"
$CC -O2 -g -I"$SRCDIR" -c -o "$dir/views_library.o" "$SRCDIR/bench/views_library.c"
ar rcs "$dir/libviews_library.a" "$dir/views_library.o"
$CC -D_GNU_SOURCE -O2 -g -pthread -I"$SRCDIR" -Wl,--build-id=sha1 -o "$dir/views_work" "$SRCDIR/bench/views_work.c" \
	-L"$dir" -lviews_library
# The names of the C library's functions: its debug file has more of them.
libc=$(ldd "$dir/views_work" | sed -n 's/.*libc\.so.* => \([^ ]*\).*/\1/p')
id=$(readelf -n "$libc" | sed -n 's/.*Build ID: //p')
debug=/usr/lib/debug/.build-id/$(echo "$id" | cut -c 1-2)/$(echo "$id" | cut -c 3-).debug
if [ -e "$debug" ]; then nm "$debug"; else nm -D "$libc"; fi >"$dir/symbols"

for program in one-thread four-threads; do
	threads=1 count=$((seconds * 2500))              # a round takes about 0.4 ms
	[ $program = one-thread ] || threads=4 count=$((count / 4))
	for set in 1 2; do
		for round in $(seq "$rounds"); do
			ours $program.$set.$round $count $threads
			theirs $program.$set.$round $count $threads
		done
	done
	node "$SRCDIR/bench/views.mjs" "$dir" $program "$rounds" $functions >"$dir/compared"
	cat "$dir/compared"
	value() { sed -n "s/^$1: //p" "$dir/compared"; }
	measured "Rows compared with perf, $program" "$(value rows)"
	causes="$(value cause | tr '\n' ',' | sed 's/,/, /g')$(value 'by chance') by chance"
	measured "Rows beyond 3 standard errors, $program" "$(value 'rows beyond'): $causes"
	measured "Largest difference without a known cause, $program" "$(value 'largest difference') standard errors"
	verdict "Rows beyond 3 standard errors in both sets, without a known cause, $program" \
		"$(value 'without a cause')" 0
done
