#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The flight recorder: a window of 3 s (SOAK: of 30 s, for 10 minutes), stalls, kills, full disks.
set -eu
. "${SRCDIR:?}/tests/namespace.sh"
. "${SRCDIR:?}/tests/lib.sh"
at_end() {
	cd /
	umount -l "$dir/small" 2>/dev/null
}
cd "$dir"
seconds=8 window=3
[ -z "${SOAK-}" ] || { seconds=600 window=30; }

# The helper says who it is.
cat >helper <<EOF
#!/bin/sh
echo \$\$ >$dir/helper.pid
exec $VIGNETTED "\$@"
EOF
chmod +x helper
VIGNETTED=$dir/helper
flight=$BUILDDIR/tests/recording/flight

timeout 1200 "$flight" last $seconds $window >said || fail "last: $(cat said)"
cat said
timeout 120 "$flight" small >said || fail "small: $(cat said)"
cat said

timeout 60 "$flight" code >said || fail "code: $(cat said)"

mkdir small
mount -t tmpfs -o size=16m small small
timeout 60 "$flight" full small >said || fail "full: $(cat said)"

# helper_gone WHAT: the helper ends with the program
helper_gone() {
	await 60 "$1: the helper ends" gone "$(cat helper.pid)"
}

# whole FILE REASON: undamaged, with samples and this reason for its end
whole() {
	ended "$1" "$2"
	[ "$(json info it.damaged_bytes)" = 0 ] || fail "$1 is damaged"
}

# A kill: what was in memory is in the file.
"$flight" run >said &
pids=$!
ready_or_written() { grep -q ready said || [ -s killed.vgp.part ] || gone $pids; }
await 120 "the program is ready" ready_or_written
[ ! -s killed.vgp.part ] || fail "something was written before it was asked for"
grep -q ready said || fail "run: $(cat said)"
kill -9 $pids
wait $pids 2>/dev/null || true
helper_gone killed
whole killed.vgp.part "the process ended"
[ "$(json info it.threads)" = 9 ] || fail "the dead program's threads: $(cat info)"
span=$("$VGTOOL" info killed.vgp.part | sed -n 's/^kept *the last \([0-9.]*\) s of that/\1/p')
case $span in
2*) ;;
*) fail "the dead program's window is $span s, not 2" ;;
esac

# A stall: both threads' stacks, what they wait in, and the intervals they are in.
binary=$flight
[ ! -x "$BUILDDIR/tests/recording/.libs/flight" ] || binary=$BUILDDIR/tests/recording/.libs/flight
for try in 1 2 3 4 5; do
	rm -f stall.vgp*
	status=0
	timeout 120 "$flight" stall >said || status=$?
	[ $status = 75 ] || break        # the machine stood still, which is a stall, too
	helper_gone "stall, try $try"
done
[ $status = 0 ] || fail "stall: $(cat said)"
"$VGTOOL" symbols -o store "$binary" 2>/dev/null || fail "no symbols of $binary"

# stalled FILE INTERVAL: as the last a stall
stalled() {
	"$VGTOOL" resolve -s store "$1" -o resolved.vgp 2>/dev/null ||
		fail "$1 cannot be resolved"
	"$VGTOOL" folded resolved.vgp >folded || fail "$1: no folded stacks"
	grep -q 'loop_run.*document_save.*futex' folded || fail "$1: the loop does not wait for the lock: $(cat folded)"
	grep -q 'documents_index.*nanosleep' folded || fail "$1: who has the lock is not there: $(cat folded)"
	"$VGTOOL" summary "$1" >summary || fail "$1: no summary"
	grep -q ' index ' summary && grep -q ' save ' summary || fail "$1: the intervals: $(cat summary)"
	grep -q 'the heartbeat is late' summary || fail "$1 does not say what is late: $(cat summary)"
}
whole stall.vgp.2 "the heartbeat is back"
stalled stall.vgp.2

# A program that never comes back, and is killed.
"$flight" wedged >said &
pids=$!
noticed_or_gone() { [ -s wedged.vgp.1.part ] || gone $pids; }
await 60 "somebody notices that the program is wedged" noticed_or_gone
[ -s wedged.vgp.1.part ] || fail "wedged: $(cat said)"
# What is there so far can be read, and more comes: two seconds.
await 60 "a stall that goes on can be read" holds wedged.vgp.1.part 'it.samples > 0'
so_far=$(json holds it.duration_ns)
await 60 "a stall that goes on is recorded on" holds wedged.vgp.1.part "it.duration_ns >= $so_far + 2e9"
kill -9 $pids
wait $pids 2>/dev/null || true
helper_gone wedged
whole wedged.vgp.1.part "the process ended"
stalled wedged.vgp.1.part
