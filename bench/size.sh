#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Measures the size of the profile per sample, for python3 with three threads at 99 Hz.  All bytes of the file count.
# The threads take turns at the interpreter's lock, and each does four kinds of work (busy.py), so that stacks differ
# between samples.
#
# A short perf record of the same program is measured for comparison.  Its stacks are not unwound.
set -eu
. "${SRCDIR:?}/bench/lib.sh"
seconds=${BENCH_SECONDS:-60}

"$python" "$SRCDIR/bench/busy.py" 3 & pids=$!
sleep 1
"$VIGNETTED" --pid $pids --rate 99 --duration "$seconds" -o "$dir/out.vgp" 2>"$dir/log" ||
	fail "size: $(cat "$dir/log")"
"$VGTOOL" info --json "$dir/out.vgp" >"$dir/info"
bytes=$(number "$dir/info" file_bytes)
samples=$(number "$dir/info" samples)
each=$(calc "$bytes / $samples" %.2f)
echo "vignetted        $bytes bytes, $samples samples in $seconds s: $each bytes per sample"
echo "                 $(number "$dir/info" samples_repeated) of them repeated (the thread had not run)"
# perf_size NAME PERF_OPTION...
perf_size() {
	name=$1; shift
	perf record -q "$@" -e cpu-clock -F 99 -o "$dir/perf.data" -p $pids -- sleep 5 >/dev/null 2>&1
	count=$(perf script -F time -i "$dir/perf.data" 2>/dev/null | grep -c .)
	theirs=$(calc "$(stat -c %s "$dir/perf.data") / $count" %.1f)
	echo "perf $name $theirs bytes per sample; RATIO $(calc "$each / $theirs" %.4f)"
}
if have_perf; then
	perf_size "dwarf      " --call-graph dwarf
	perf_size "fp (unsafe)" --call-graph fp
fi
end $pids
pids=
verdict "Bytes of the profile per sample" "$each" 12
