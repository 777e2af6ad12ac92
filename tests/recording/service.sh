#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vignetted-service follows a service, and keeps the newest profiles within the limits.  A script takes the place of
# systemctl.  tests/release/systemd.sh tests the unit under systemd.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node
mkdir "$dir/bin" "$dir/libexec" "$dir/profiles"
ln -s "$SRCDIR/vignetted/systemd/vignetted-service" "$VIGNETTED" "$dir/libexec/"
cp "$(command -v sleep)" "$dir/first"
cp "$(command -v sleep)" "$dir/second"
# vignetted-service asks before each profile, and gets an answer when the test wants it.  So the profiles do not change
# while the test looks at them.
cat >"$dir/bin/systemctl" <<END
#!/bin/sh
: >"$dir/asks"
until rm "$dir/turn" 2>/dev/null; do sleep 0.02; done
cat "$dir/state"
END
chmod +x "$dir/bin/systemctl"
PATH=$dir/bin:$PATH PROFILE_TIME=200ms PROFILE_MIB=1 KEEP_PROFILES=5 KEEP_MIB=2
export PATH PROFILE_TIME PROFILE_MIB KEEP_PROFILES KEEP_MIB
cd "$dir/profiles"

# begin: starts vignetted-service.  turn PID [LOADSTATE]: says that PID is the main process, and waits for the next
# question.
begin() {
	rm -f "$dir/asks"
	"$dir/libexec/vignetted-service" work --rate 50 2>"$dir/log" & service=$!
	pids="$pids $service"
	await 120 "the first question" test -e "$dir/asks"
}
answer() {
	printf '%s\n' "LoadState=${2-loaded}" "MainPID=$1" >"$dir/state"
	rm "$dir/asks"
	: >"$dir/turn"
}
turn() {
	answer "$@"
	await 120 "a question: $(cat "$dir/log")" test -e "$dir/asks"
}
# kept NAME...: fails unless these patterns match all profiles that are kept, one file each, in this order.  What others
# have put there must be kept, too.
others='0000000000-20260101T000000Z.vgp 2-before-deploy.vgp 3days-ago.vgp'
kept() {
	set -- ${others%% *} "$@" ${others#* }
	[ $# = "$(ls | wc -l)" ] || fail "not $#: $(ls)"
	for name in $(ls); do
		case $name in $1) shift ;; *) fail "not $1: $(ls)" ;; esac
	done
}

"$dir/first" 1000 & first=$!
"$dir/second" 1000 & second=$!
pids="$first $second"
await 120 "the first process" executed $first
await 120 "the second process" executed $second

mkdir ${others%% *}
touch ${others#* }
# The first of these is too large.  Both are from a time when the clock was wrong.
head -c 1500k /dev/zero >0000000097-29990101T000000Z.vgp
: >0000000098-29990101T000000Z.vgp.part
begin
turn $first
kept '0000000098-*.part' '0000000099-*Z.vgp'
turn $first
turn $first
kept '0000000098-*.part' '0000000099-*Z.vgp' '0000000100-*Z.vgp' '0000000101-*Z.vgp'
turn $first
turn $first
kept '0000000100-*Z.vgp' '0000000101-*Z.vgp' '0000000102-*Z.vgp' '0000000103-*Z.vgp'

rm -r $others
# The process ends.  systemd may name it once more.  Later the service has another process.
end $first
turn $first
turn 0
turn $second # room is made
turn $second
set -- $(ls | tail -n 2)
[ "$(info "$1" program) $(info "$2" program)" = 'first second' ] || fail "the programs of $*: $(cat "$dir/log")"
for profile in *.vgp; do [ "$(info "$profile" samples)" -gt 0 ] || fail "$profile has no samples"; done

# ends STATUS MESSAGE
ends() {
	wait $service && status=0 || status=$?
	[ $status = "$1" ] && grep -q "$2" "$dir/log" || fail "status $status: $(cat "$dir/log")"
}
# A process that stays the main process although it cannot be recorded
turn $first
answer $first
ends 1 'vignetted: '
begin
answer 0 not-found
ends 2 'work.service: there is no such service'
KEEP_MIB=0 "$dir/libexec/vignetted-service" work 2>"$dir/log" & service=$!
ends 2 'KEEP_MIB must be PROFILE_MIB or more'
set -- *
PROFILE_MIB=1000000000 KEEP_MIB=1000000000 "$dir/libexec/vignetted-service" work 2>"$dir/log" & service=$!
ends 1 'MiB are free on this disk'
[ "$*" = "$(echo *)" ] || fail "profiles were removed, although that is not enough: $(ls)"
