#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The flight recorder: a window of 3 s (SOAK: of 30 s, for 10 minutes), stalls, kills, full disks.
set -eu
: "${BUILDDIR:?}" "${VIGNETTED:?}" "${VGTOOL:?}"
. "${SRCDIR:?}/tests/namespace.sh"
dir=$(mktemp -d)
program=
trap 'kill -9 $program 2>/dev/null || true; cd /; umount "$dir/small" 2>/dev/null || true; rm -rf "$dir"' EXIT
cd "$dir"
seconds=8 window=3
[ -z "${SOAK-}" ] || { seconds=600 window=30; }

fail() {
	echo "FAIL: $*"
	exit 1
}

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
timeout 60 "$flight" small >said || fail "small: $(cat said)"
cat said

timeout 60 "$flight" code >said || fail "code: $(cat said)"

mkdir small
mount -t tmpfs -o size=16m small small
timeout 60 "$flight" full small >said || fail "full: $(cat said)"

# gone: the helper ends within a second of the program (ten, on a busy machine)
gone() {
	pid=$(cat helper.pid)
	for tenth in $(seq 100); do
		kill -0 "$pid" 2>/dev/null || return 0
		[ "$(sed 's/.*) //; s/ .*//' "/proc/$pid/stat" 2>/dev/null)" != Z ] || return 0
		sleep 0.1
	done
	fail "$1: the helper is still there"
}

# ended FILE REASON
ended() {
	"$VGTOOL" info --json "$1" >info 2>err || fail "$1 cannot be read: $(cat err)"
	grep -q "\"end_reason\":\"$2\"" info || fail "$1 does not say: $2: $(tail -c 300 info)"
	grep -q '"damaged_bytes":0' info || fail "$1 is damaged"
	! grep -q '"samples":0,' info || fail "$1 has no samples"
}

# A kill: what was in memory is in the file.
"$flight" run >said &
program=$!
while ! grep -q ready said; do
	kill -0 $program 2>/dev/null || fail "run: $(cat said)"
	[ ! -s killed.vgp.part ] || fail "something was written before it was asked for"
	sleep 0.1
done
[ ! -s killed.vgp.part ] || fail "something was written before it was asked for"
kill -9 $program
wait $program 2>/dev/null || true
gone killed
ended killed.vgp.part "the process ended"
grep -q '"threads":9,' info || fail "the dead program's threads: $(head -c 300 info)"
span=$("$VGTOOL" info killed.vgp.part | sed -n 's/^kept *the last \([0-9.]*\) s of that/\1/p')
case $span in
2*) ;;
*) fail "the dead program's window is $span s, not 2" ;;
esac

# A stall: both threads' stacks, what they wait in, and the intervals they are in.
binary=$flight
[ ! -x "$BUILDDIR/tests/recording/.libs/flight" ] || binary=$BUILDDIR/tests/.libs/flight
for try in 1 2 3 4 5; do
	rm -f stall.vgp*
	status=0
	timeout 120 "$flight" stall >said || status=$?
	[ $status = 75 ] || break        # the machine stood still, which is a stall, too
	gone "stall, try $try"
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
ended stall.vgp.2 "the heartbeat is back"
stalled stall.vgp.2

# A program that never comes back, and is killed.
"$flight" wedged >said &
program=$!
for tenth in $(seq 200); do
	[ ! -s wedged.vgp.1.part ] || break
	kill -0 $program 2>/dev/null || fail "wedged: $(cat said)"
	sleep 0.1
done
[ -s wedged.vgp.1.part ] || fail "nobody notices that the program is wedged"
sleep 2
# What is there so far can be read.
"$VGTOOL" info wedged.vgp.1.part >info || fail "a stall that goes on cannot be read"
kill -9 $program
wait $program 2>/dev/null || true
gone wedged
program=
ended wedged.vgp.1.part "the process ended"
stalled wedged.vgp.1.part
