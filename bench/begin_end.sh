#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Measures how long vgctl_begin() and vgctl_end() take, and how much memory a session locks.  The program has 1 thread,
# or 1,000 threads of which 999 sleep.  It is an ordinary process, the first process of a pid namespace, a subreaper, a
# process that locks all its memory, or a process with a real-time thread.  The targets of the times are for the
# median with one thread.  The target of the locked memory is for the largest value with one thread.
set -eu
. "${SRCDIR:?}/bench/lib.sh"
count=${BENCH_ROUNDS:-200}

# column N QUANTILE FILE: prints that quantile of column N in ms; the file has us
column() {
	cut -d ' ' -f "$1" "$3" | quantile "$2" | awk '{ printf "%.2f", $1 / 1000 }'
}

echo "ms, $count sessions each; locked memory in KiB"
printf '%-10s %7s  %12s %12s  %12s %12s  %7s\n' process threads 'begin median' 'begin worst' 'end median' 'end worst' locked
for kind in ordinary pid1 subreaper locked real-time; do
	for threads in 1 1000; do
		under=
		as=$kind
		[ $kind != pid1 ] || { under='unshare --pid --fork --mount-proc'; as=ordinary; }
		file=$dir/$kind.$threads
		$under "$bench/begin_end" $as $threads "$count" "$dir/out.vgp" >"$file" || fail "begin_end: $kind failed"
		printf '%-10s %7d  %12s %12s  %12s %12s  %7d\n' $kind $threads "$(column 1 0.5 "$file")" \
			"$(column 1 1 "$file")" "$(column 2 0.5 "$file")" "$(column 2 1 "$file")" \
			"$(cut -d ' ' -f 3 "$file" | quantile 1)"
	done
done
for kind in ordinary pid1 subreaper locked real-time; do
	verdict "Time of vgctl_begin(), $kind process" "$(column 1 0.5 "$dir/$kind.1")" 7 ms
	verdict "Time of vgctl_end(), $kind process" "$(column 2 0.5 "$dir/$kind.1")" 1 ms
	verdict "Locked memory, $kind process" "$(cut -d ' ' -f 3 "$dir/$kind.1" | quantile 1)" 1024 KiB
done
