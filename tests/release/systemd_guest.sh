#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Runs in the container of tests/release/systemd.sh, as guest.service.  vignetted@work.service records
# work.service.  Profiles are made every second or two instead of every minute.
set -eu
profiles=/var/lib/vignetted/work dropin=/run/systemd/system/vignetted@.service.d options=
mkdir -p $dropin /var/lib/vignetted
# The disk of the profiles
mount -t tmpfs -o size=12m none /var/lib/vignetted

fail() {
	echo "FAIL: $*"
	journalctl --no-pager -n 30 -u vignetted@work.service -u work.service
	exit 1
}

# await WHAT COMMAND...
await() {
	what=$1 end=$(($(date +%s) + ${AWAIT_S:-60}))
	shift
	until "$@"; do
		[ "$(date +%s)" -lt $end ] || fail "timed out: $what: $(ls -s $profiles)"
		sleep 0.1
	done
}

# settings SETTING...: gives the unit these variables of the environment, and restarts it
settings() {
	printf '%s\n' '[Unit]' StartLimitIntervalSec=0 '[Service]' RestartSec=1 "Environment=$*" $options >$dropin/test.conf
	systemctl daemon-reload
	systemctl restart vignetted@work.service
}

# value PROFILE KEY: prints a number or string of `vgtool info --json`
value() {
	vgtool info --json "$1" | sed -n "s/.*\"$2\":\"\{0,1\}\([^,\"}]*\).*/\1/p"
}

names() { ls $profiles; }
count() { names | wc -l; }
last() { names | grep 'vgp$' | tail -n 1; }
# number NAME: the number at the beginning of a profile's name; 0 for an empty name
number() { n=${1%%-*}; n=1${n:-0000000000}; echo $((n - 10000000000)); }
newer() { [ "$(number "$(last)")" -gt "$1" ]; }
main_pid() { systemctl show --value -p MainPID work.service; }
restarted() { now=$(main_pid) && [ "$now" != 0 ] && [ "$now" != "$before" ]; }
# helper: prints the pid of the vignetted that records now
helper() { grep -lx vignetted /proc/[0-9]*/comm 2>/dev/null | sed -n '1s/[^0-9]//gp'; }
# Whether the current process of the service is being recorded, and its profile exists
recorded() {
	vignetted=$(helper) && [ -n "$vignetted" ] && names | grep -q 'part$' &&
		tr '\0' ' ' <"/proc/$vignetted/cmdline" | grep -q -e "--pid $(main_pid) "
}

# newest LIMIT: fails unless there are at most LIMIT profiles, with consecutive numbers.  Each must be whole, unless
# its name ends in .part, and have samples, unless it was ended early.  Stops the unit meanwhile, because a profile could
# be removed.
newest() {
	limit=$1
	systemctl stop vignetted@work.service
	set -- $(names)
	[ $# -le "$limit" ] || fail "$# profiles are kept: $*"
	next=$(number "$1")
	for name in "$@"; do
		[ "$(number "$name")" = "$next" ] || fail "the profiles are not the newest: $*"
		next=$((next + 1))
		case $name in *.part) continue ;; esac
		[ "$(value "$profiles/$name" damaged_bytes),$(value "$profiles/$name" truncated)" = 0,false ] &&
			case $(value "$profiles/$name" end_reason),$(value "$profiles/$name" samples) in
			,* | 'the duration limit was reached,0') false ;;
			esac || fail "$(vgtool info --json "$profiles/$name")"
	done
	echo "ok: $1 to $name are whole, $# profiles of $(du -sk $profiles/ | cut -f 1) KiB"
	systemctl start vignetted@work.service
}

# ---- the service is restarted and killed ----
systemctl start work.service
settings PROFILE_TIME=2 PROFILE_MIB=2 KEEP_PROFILES=1000 KEEP_MIB=100
for how in 'restart' 'kill -s KILL' 'restart' 'kill -s SEGV' 'restart'; do
	await "recording of process $(main_pid)" recorded
	before=$(main_pid) done=$(number "$(last)")
	await "a profile" newer "$done"
	systemctl $how work.service
	await "the service" restarted
	echo "ok: $how: process $before, then $now"
done
await "recording of process $(main_pid)" recorded
grep '^Uid\|^CapEff\|^CapBnd\|^NoNewPrivs\|^Seccomp:' "/proc/$(helper)/status" | tr '\t\n' '  ' >/run/status
# Bits 2, 19 and 38: CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_PERFMON
grep -q 'CapEff: 0000004000080004 CapBnd: 0000004000080004 NoNewPrivs: 1 Seccomp: 2' /run/status ||
	fail "the helper's privileges: $(cat /run/status)"
! grep -q 'Uid: 0' /run/status || fail "the helper is root"
await "a profile" newer "$(number "$(last)")"
newest 1000
profile=$profiles/$(ls -S $profiles | head -n 1)
# The timers need CAP_PERFMON if perf_event_paranoid is 3, as it is on Debian.
[ "$(value "$profile" timer_samples)" -gt 0 ] && [ "$(value "$profile" unconfined)" = 0 ] &&
	! vgtool info --json "$profile" | grep -q forbidden || fail "$(vgtool info --json "$profile")"
[ "$(journalctl -u work.service | grep -c 'Started work')" -ge 6 ] || fail "the service was not started six times"
[ "$(stat -Lc %a $profiles/ "$profile" | tr '\n' ' ')" = '700 600 ' ] || fail "modes: $(ls -laL $profiles/)"

# ---- the number of profiles, with one that was not completed ----
settings PROFILE_TIME=1 PROFILE_MIB=2 KEEP_PROFILES=5 KEEP_MIB=100
await "recording of process $(main_pid)" recorded
kill -KILL "$(helper)"
killed=$(names | grep 'part$')
systemctl stop vignetted@work.service
[ -e "$profiles/$killed" ] || fail "the profile of the killed helper was removed: $(names)"
systemctl start vignetted@work.service
await "more profiles" newer $(($(number "$killed") + 6))
[ ! -e "$profiles/$killed" ] || fail "the profile of the killed helper is kept for ever: $(names)"
newest 5

# ---- the size of all profiles ----
options='Environment=OPTIONS=--rate=1000'
settings PROFILE_TIME=1 PROFILE_MIB=1 KEEP_PROFILES=1000 KEEP_MIB=3
options=
begin=$(number "$(last)")
await "profiles" newer $((begin + 8))
for more in 1 2 3 4; do
	await "profiles" newer $((begin + 8 + more))
	[ "$(du -sk $profiles/ | cut -f 1)" -le 3072 ] || fail "larger than 3 MiB: $(ls -s $profiles/)"
done
[ "$(number "$(names | head -n 1)")" -gt "$begin" ] || fail "nothing was removed: $(ls -s $profiles/)"
newest 1000

# ---- the disk is full ----
settings PROFILE_TIME=1 PROFILE_MIB=1 KEEP_PROFILES=1000 KEEP_MIB=100
await "recording of process $(main_pid)" recorded
head -c 8m /dev/zero >/var/lib/vignetted/other
begin=$(number "$(last)")
await "profiles" newer $((begin + 4))
newest 1000
# What is free and what the only profile holds are less than the next profile may need: the profile is not removed.
systemctl stop vignetted@work.service
rm $profiles/*
left=0000000001-20260101T000000Z.vgp
head -c 100k /dev/zero >$profiles/$left
head -c 12m /dev/zero >>/var/lib/vignetted/other 2>/dev/null || true
systemctl start vignetted@work.service
full() { journalctl -u vignetted@work.service | grep -q 'less than 1 MiB are free'; }
await "a message about the disk" full
[ "$(names)" = "$left" ] || fail "the profile was removed: $(names)"
rm $profiles/$left /var/lib/vignetted/other
begin=$(number "$(last)")
await "a profile" newer "$begin"
echo "ok: recording continues after the disk was full"

# ---- stopping, waiting, and a service that does not exist ----
await "recording of process $(main_pid)" recorded
part=$(names | grep 'part$')
systemctl stop vignetted@work.service
[ -e "$profiles/${part%.part}" ] && ! names | grep -q 'part$' ||
	fail "the last profile was not completed: $(names)"
newest 1000
systemctl stop work.service
await "waiting for the service" systemctl -q is-active vignetted@work.service
systemctl start work.service
await "recording of process $(main_pid)" recorded
systemctl -q enable vignetted@work.service
systemctl stop vignetted@work.service work.service
systemctl start work.service
await "recording of process $(main_pid), with which the unit was started" recorded
echo "ok: the unit waits for the service, and is started with it"
systemctl start vignetted@none.service
await "the unit of no service" systemctl -q is-failed vignetted@none.service
journalctl -u vignetted@none.service | grep -q 'none.service: there is no such service' || fail "no message"
echo "guest: passed"
