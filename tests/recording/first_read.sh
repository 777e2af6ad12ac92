#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The helper is confined before it reads the first byte that its target could have written: memory, maps, the event
# ring, samples.  The helper is started in each possible way under strace.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
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

sleep 1000 & pid=$!
timeout 60 strace -qq -o pid.trace -e $calls "$VIGNETTED" --pid $pid --duration 1 -o pid.vgp 2>log || fail "$(cat log)"
check --pid pid.trace
timeout 60 strace -qq -o command.trace -e $calls "$VIGNETTED" -o command.vgp -- sleep 1 2>log || fail "$(cat log)"
check COMMAND command.trace

# The instructions of a program without unwind information are read by process_vm_readv(2), and not from /proc/PID/mem.
$CC -O1 -o endless "$fixtures/endless.c" -lpthread
started said ./endless code
timeout 60 strace -qq -o code.trace -e $calls "$VIGNETTED" --pid $started --duration 1 -o code.vgp 2>log || fail "$(cat log)"
check "endless code" code.trace
text=$(sed -n 's/^\([0-9a-f]*\)-\([0-9a-f]*\) r-xp .*endless$/0x\1 0x\2/p' /proc/$started/maps)
first=$((${text% *})) behind=$((${text#* })) text_reads=0
for address in $(sed -n 's/^process_vm_readv([0-9]*, \[[^]]*\], 1, \[{iov_base=\(0x[0-9a-f]*\),.*/\1/p' code.trace); do
	[ $((address)) -lt $first ] || [ $((address)) -ge $behind ] || text_reads=$((text_reads + 1))
done
[ $text_reads -ge 1 ] || fail "endless code: the trace shows no read of its instructions"
! grep -E 'openat\(.*/mem"' code.trace || fail "endless code: the helper opens the program's memory"
kill_own TERM $started

# If the system forbids filters, the helper works without one and says so.
[ "$(info pid.vgp unconfined)" = 0 ] || fail "the profile of a confined helper says that it was unconfined"
timeout 60 "$BUILDDIR/tests/recording/confined" "$VIGNETTED" --pid $pid --duration 1 -o open.vgp 2>log || fail "$(cat log)"
grep -q '^vignetted: the helper is not confined: the seccomp filter cannot be loaded: ' log || fail "no message: $(cat log)"
[ "$(info open.vgp unconfined)" = 1 ] || fail "the profile does not say that the helper was unconfined"

kill $pid

# The library starts this helper.  With -D, strace is a grandchild, so that the helper keeps its parent and its pid.
cat >helper <<END
#!/bin/sh
exec strace -D -qq -o "$dir/\$TRACE.trace" -e $calls "$VIGNETTED" "\$@"
END
chmod 755 helper
# helper_of NAME: makes helper.NAME, whose trace is NAME.trace.  (The library passes only a few environment variables.)
helper_of() { sed "s/\\\$TRACE/$1/" helper >"helper.$1"; chmod 755 "helper.$1"; }
helper_of begin
VIGNETTED=$dir/helper.begin timeout 60 "$BUILDDIR/examples/sample_once" >log 2>&1 || fail "$(cat log)"
check vgctl_begin begin.trace
helper_of listen
mkfifo in
: >out
VIGNETTED=$dir/helper.listen timeout 60 "$BUILDDIR/tests/recording/sessions" "$dir/run" 0 own.vgp <in >out 2>&1 7>&- & pid=$!
exec 7>in
for command in begin end; do
	await 60 "the program answers: $(cat out)" grep -q ok out
	: >out
	echo $command >&7
done
exec 7>&-
wait $pid
check vgctl_listen listen.trace
