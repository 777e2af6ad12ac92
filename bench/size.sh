#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Bytes of the profile per sample: python3 with three threads that never sleep for long, 99 Hz,
# everything in the file counted.  They take turns at the interpreter's lock and each does four
# kinds of work, so that stacks differ from sample to sample; see busy.py.
#
# Beside it perf of the same, as short as it need be: what it stores, stacks not yet unwound.
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
echo "vignetted        $bytes bytes, $samples samples in $seconds s: $each bytes a sample"
echo "                 $(number "$dir/info" samples_repeated) of them repeated (the thread had not run)"
# kind NAME PERF_OPTION...
kind() {
	name=$1; shift
	perf record -q "$@" -e cpu-clock -F 99 -o "$dir/perf.data" -p $pids -- sleep 5 >/dev/null 2>&1
	count=$(perf script -F time -i "$dir/perf.data" 2>/dev/null | grep -c .)
	theirs=$(calc "$(stat -c %s "$dir/perf.data") / $count" %.1f)
	echo "perf $name $theirs bytes a sample; RATIO $(calc "$each / $theirs" %.4f)"
}
if have_perf; then
	kind "dwarf      " --call-graph dwarf
	kind "fp (unsafe)" --call-graph fp
fi
end $pids
pids=
verdict size "$each" 12 "bytes a sample"
