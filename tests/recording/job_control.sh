#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Ctrl-Z stops vignetted only when it holds no thread: the recorded process runs on.  The recording goes on with fg.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs /usr/bin/python3

sh -c 'while :; do :; done' & busy=$!
# A process group of its own, as from a shell with job control: the kernel discards SIGTSTP for an orphaned group.
/usr/bin/python3 -c 'import os, sys; os.setpgid(0, 0); os.execv(sys.argv[1], sys.argv[1:])' \
	"$VIGNETTED" -p $busy -o "$dir/p.vgp" --rate 5000 --budget 0 --capture stop 2>"$dir/log" & pid=$!
pids="$busy $pid"
sampled() { holds "$dir/p.vgp.part" "it.samples > $1"; }
is_in_state() { grep -q "^State:[^A-Za-z]*$2" "/proc/$1/status"; }

await 120 "samples" sampled 10
# Without the mask, about one stop in twenty found a thread held.
for i in $(seq 100); do
	kill -TSTP $pid
	await 60 "the stop of vignetted" is_in_state $pid T
	! is_in_state $busy t || fail "stop $i: vignetted has stopped and holds a thread"
	kill -CONT $pid
	[ $((i % 25)) != 0 ] || {
		samples=$(info "$dir/p.vgp.part" samples 2>/dev/null)
		await 120 "samples after a stop" sampled "$samples"
	}
done
kill -INT $pid
wait $pid || fail "vignetted: $(cat "$dir/log")"
pids=$busy
