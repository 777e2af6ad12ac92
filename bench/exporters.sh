#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Measures the time and memory that each exporter of vgtool takes for a profile with 1,000,000 samples and 100,000
# distinct stacks (large_profile.c), and the size of its file.  Then Chromium opens the page of vgtool view: the time
# until it is drawn, and the lengths of frames while it zooms and searches (exporters.mjs).
#
#     BENCH_ROUNDS    how often each exporter runs (default: 5)
set -eu
. "${SRCDIR:?}/bench/lib.sh"
rounds=${BENCH_ROUNDS:-5}
exporters="speedscope chrome firefox pprof view flamegraph folded"
export LC_ALL=C

"$bench/large_profile" "$dir/large.vgp"
echo "profile: $(stat -c %s "$dir/large.vgp") bytes"

# took FIELD FILE: prints the median of a field of bench/peak's output
took() { cut -d ' ' -f "$1" "$2" | median; }

for round in $(seq "$rounds"); do
	for exporter in $exporters; do
		(on 1 "$bench/peak" "$dir/peak" "$VGTOOL" $exporter -o "$dir/large.$exporter" "$dir/large.vgp" 2>"$dir/err") ||
			fail "vgtool $exporter: $(cat "$dir/err")"
		cat "$dir/peak" >>"$dir/$exporter"
	done
done
for exporter in $exporters; do
	measured "Size of the file, $exporter" "$(calc "$(stat -c %s "$dir/large.$exporter") / 1e6" %.3g) MB"
	verdict "Time, $exporter" "$(took 1 "$dir/$exporter")" 2 s
	verdict "Resident memory, $exporter" "$(took 4 "$dir/$exporter")" 190 MiB
done

# A browser knows a page by the end of its name.
mv "$dir/large.view" "$dir/large.html"
for round in $(seq "$rounds"); do
	node "$SRCDIR/bench/exporters.mjs" "$dir" "$dir/large.html" >>"$dir/page" || fail "$(tail -n 5 "$dir/chromium.log")"
done
verdict "The page is drawn after" "$(took 1 "$dir/page")" 2 s
verdict "0.95 quantile of frames while the page zooms" "$(took 2 "$dir/page")" 50 ms
verdict "0.95 quantile of frames while the page searches" "$(took 3 "$dir/page")" 50 ms
