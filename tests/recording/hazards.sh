#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Hazards for a sampled program and its helper (tests/recording/hazards.c), and vignetted's messages about programs that
# it cannot sample.  SOAK: ten to forty times as many rounds.
set -eu
: "${CC:?}"
. "${SRCDIR:?}/tests/lib.sh"
storms=3
# The leak check calls ptrace(2).  A host's filter may forbid the call, and the call fails if the process has another
# tracer.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
[ -z "${SOAK-}" ] || storms=200

# No time here is an expectation: a timeout is a guard against hanging.
# refused STATUS TEXT ARGUMENT...: vignetted exits with the status, prints the text, and leaves no file
refused() {
	want=$1 text=$2; shift 2
	status=0
	timeout $life_s ${under-} "$VIGNETTED" -o "$dir/refused.vgp" "$@" 2>"$dir/printed" || status=$?
	[ $status = "$want" ] || fail "exit status $status: $(cat "$dir/printed")"
	grep -q "$text" "$dir/printed" || fail "not '$text' but '$(cat "$dir/printed")'"
	[ ! -e "$dir/refused.vgp" ] && [ ! -e "$dir/refused.vgp.part" ] || fail "a file is left"
	cat "$dir/printed"
}

# vignetted can attach at any moment to a program that executes itself all the time.
exec_storms() {
	i=0
	while [ $i -lt $storms ]; do
		i=$((i + 1))
		"$BUILDDIR/tests/recording/churn" exec 1000000 & storm=$!
		pids="$pids $storm"
		# On a busy machine the thread may not stop in time, and a short recording may lose all samples.
		lengthen "0.5 1 2 4 8 16 32" storm_recorded || fail "exec storm $i: $(cat "$dir/log.recorded")"
		end $storm
	done
	cat "$dir/log.recorded"
}
storm_recorded() {
	some_recorded --rate 1000 --duration $long -o "$dir/storm.vgp" --pid $storm
}

# The summary says "1 thread", and not "1 threads".  With too few descriptors vignetted fails.
summary_and_descriptors() {
	recorded --duration 60 --rate 1 -o "$dir/one.vgp" -- sleep 0.1
	grep -q ' of 1 thread,' "$dir/log.recorded" || fail "$(cat "$dir/log.recorded")"
	sleep 1000 & busy=$!
	pids="$pids $busy"
	(
		# Descriptors that this shell has inherited would count.
		exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
		under='prlimit --nofile=7:7'
		refused 1 'cannot start the process that renames the file at the end: socketpair: Too many open files' --pid $busy
		under='prlimit --nofile=8:8'
		refused 1 'process .*: Too many open files' --pid $busy
	) || exit 1
	end $busy
}

# A helper that never answers, and one that freezes its host's threads: vgctl_begin() gives up after 20 seconds.
host=$BUILDDIR/tests/recording/hosts_process
silent_helper() {
	printf '#!/bin/sh\nexec sleep 1000\n' >silent
	chmod 755 silent
	timeout -s KILL $life_s "$host" bad_helper "$dir/silent.vgp" "$dir/silent"
}
freezing_helper() { timeout -s KILL $life_s "$host" frozen "$dir/frozen.vgp"; }
vignetted_alone() {
	exec_storms
	summary_and_descriptors
}
process() { timeout $life_s "$BUILDDIR/tests/recording/hazards" process; }
identity_and_policy() { timeout $life_s "$BUILDDIR/tests/recording/hazards" identity policy; }
if [ "$(id -u)" != 0 ]; then
	side_by_side silent_helper freezing_helper vignetted_alone
	skip "hazards of a program's identity need root"
fi
side_by_side silent_helper freezing_helper vignetted_alone process identity_and_policy
