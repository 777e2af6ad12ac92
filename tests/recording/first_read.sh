#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The helper is confined before it reads the first byte that its target could have written: memory, maps, the event
# ring, samples.  The helper is started in each possible way under strace.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs strace node
at_end() {
	exec 7>&-
}
cd "$dir"
calls=trace=process_vm_readv,ptrace,perf_event_open,openat,mmap,seccomp

# check HOW TRACE: fails unless the helper reads the target, and only after it has loaded the filter
check() {
	confined=$(grep -nE 'seccomp\(SECCOMP_SET_MODE_FILTER, .*\{.*= 0$' "$2" | head -n 1 | cut -d : -f 1)
	[ -n "$confined" ] || fail "$1: not confined: $(head -c 2000 "$2")"
	for pattern in 'process_vm_readv\(' 'openat\(.*"/proc/[0-9]+/maps"' 'ptrace\(PTRACE_(GET|PEEK)' 'openat\(.*"/proc/[0-9]+/exe"' \
		'perf_event_open\(' 'mmap\(.*MAP_SHARED'; do
		first=$(grep -nE "$pattern" "$2" | head -n 1 | cut -d : -f 1)
		[ -z "$first" ] || [ "$first" -gt "$confined" ] ||
			fail "$1: before the filter: $(sed -n "${first}p" "$2")"
	done
	for pattern in 'process_vm_readv\(' 'openat\(.*"/proc/[0-9]+/maps"'; do
		grep -qE "$pattern" "$2" || fail "$1: the trace shows no $pattern"
	done
}

# reads TRACE: whether the helper has read the target's maps and its memory
cat >reads <<'END'
#!/bin/sh
grep -q '^process_vm_readv(' "$1" && grep -q '^openat(.*"/proc/[0-9]*/maps"' "$1"
END
chmod 755 reads

# traced NAME PID CONDITION...: records a process, under strace, until the condition holds.  With -D, strace is a
# grandchild, so that $recorder is the helper.
traced() {
	name=$1
	strace -D -qq -o $name.trace -e $calls "$VIGNETTED" --pid $2 -o $name.vgp 2>log & recorder=$!
	pids="$pids $recorder"
	shift 2
	await 120 "the helper reads process $name, or has ended" either_or_exited "$@"
	kill_own INT $recorder
	wait $recorder || all_lost log || fail "$name: $(cat log)"
}
either_or_exited() { "$@" || exited $recorder; }

sleep 1000 & pid=$!
await 120 "sleep is executed" executed $pid
traced pid $pid ./reads pid.trace
check --pid pid.trace
# The command ends when the helper has read it.
timeout $life_s strace -qq -o command.trace -e $calls "$VIGNETTED" -o command.vgp -- \
	sh -c 'until ./reads command.trace; do sleep 0.05; done' 2>log || all_lost log || fail "COMMAND: $(cat log)"
check COMMAND command.trace

# The instructions of a program without unwind information are read by process_vm_readv(2), and not from /proc/PID/mem.
$CC -O1 -o endless "$fixtures/endless.c" -lpthread
started said ./endless code
text=$(sed -n 's/^\([0-9a-f]*\)-\([0-9a-f]*\) r-xp .*endless$/\1 \2/p' /proc/$started/maps)
# text_read: whether the trace has a read within the program's code
text_read() {
	./reads code.trace && sed -n 's/^process_vm_readv([0-9]*, \[[^]]*\], 1, \[{iov_base=0x\([0-9a-f]*\),.*/\1/p' code.trace |
		awk -v first="${text% *}" -v behind="${text#* }" '
			function padded(address) { return "x" substr("0000000000000000" address, length(address) + 1) }
			padded($1) >= padded(first) && padded($1) < padded(behind) { found = 1 }
			END { exit !found }'
}
traced code $started text_read
check "endless code" code.trace
text_read || fail "endless code: the trace shows no read of its instructions: $(cat log)"
! grep -E 'openat\(.*/mem"' code.trace || fail "endless code: the helper opens the program's memory"
stopped $started

# If the system forbids filters, the helper works without one and says so.
[ "$(info pid.vgp unconfined)" = 0 ] || fail "the profile of a confined helper says that it was unconfined"
timeout $life_s "$BUILDDIR/tests/recording/confined" filters "$VIGNETTED" --pid $pid --duration 0.1 -o open.vgp 2>log ||
	all_lost log || fail "unconfined: $(cat log)"
grep -q '^vignetted: the helper is not confined: the seccomp filter cannot be loaded: ' log || fail "no message: $(cat log)"
[ "$(info open.vgp unconfined)" = 1 ] || fail "the profile does not say that the helper was unconfined"

# If registers cannot be read, all samples are lost, except those of a moment in which the thread waited: they need no
# stop.  If all are lost, a recording has failed, but a command keeps its own status.
unread() {
	expected=$1 status=0
	shift
	timeout $life_s "$BUILDDIR/tests/recording/confined" registers \
		"$VIGNETTED" --capture stop --rate 97 -o lost.vgp "$@" 2>log || status=$?
	all_lost log || return 1
	[ $status = $expected ] || fail "$*: expected status $expected, got $status: $(cat log)"
}
started said ./endless code
again "all samples are lost" unread 1 --pid $started --duration 0.2
stopped $started
again "all samples are lost" unread 3 -- sh -c 'n=0; while [ $n -lt 20000 ]; do n=$((n + 1)); done; exit 3'

kill_own TERM $pid

# The library starts this helper.  With -D, strace is a grandchild, so that the helper keeps its parent and its pid.
cat >helper <<END
#!/bin/sh
exec strace -D -qq -o "$dir/\$TRACE.trace" -e $calls "$VIGNETTED" "\$@"
END
chmod 755 helper
# helper_of NAME: makes helper.NAME, whose trace is NAME.trace.  (The library passes only a few environment variables.)
helper_of() { sed "s/\\\$TRACE/$1/" helper >"helper.$1"; chmod 755 "helper.$1"; }
helper_of begin
# strace stops the helper twice in each call, so on a busy machine it may begin too late for the library.
begins() {
	! VIGNETTED=$dir/helper.begin timeout $life_s "$BUILDDIR/examples/sample_once" >log 2>&1 || return 0
	grep -q 'did not answer' log || fail "$(cat log)"
	return 1
}
again "a session" begins
check vgctl_begin begin.trace
helper_of listen
mkfifo in
: >out
VIGNETTED=$dir/helper.listen timeout $life_s "$BUILDDIR/tests/recording/sessions" "$dir/run" 0 own.vgp <in >out 2>&1 7>&- & pid=$!
exec 7>in
await 120 "the program listens" grep -q ok out
: >out
echo begin >&7
await 120 "the program begins a session" grep -q ok out
await 120 "the helper reads the program that listens" ./reads listen.trace
echo end >&7
exec 7>&-
wait $pid || fail "the program that listens: $(cat out)"
check vgctl_listen listen.trace
