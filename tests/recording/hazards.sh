#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What a program may meet while it is sampled (tests/recording/hazards.c), and what vignetted says of programs
# that it cannot sample.  SOAK: ten to forty times as many rounds.
set -eu
: "${CC:?}"
. "${SRCDIR:?}/tests/lib.sh"
storms=3
# Looking for leaks needs ptrace(2), which a host's filter may forbid and a tracer may find in use.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
[ -z "${SOAK-}" ] || storms=200

# refused STATUS WORDS ARGUMENT...: vignetted exits so, says so, and leaves no file
refused() {
	want=$1 words=$2; shift 2
	status=0
	timeout 60 ${under-} "$VIGNETTED" -o "$dir/refused.vgp" "$@" 2>"$dir/said" || status=$?
	[ $status = "$want" ] || fail "exit status $status: $(cat "$dir/said")"
	grep -q "$words" "$dir/said" || fail "not '$words' but '$(cat "$dir/said")'"
	[ ! -e "$dir/refused.vgp" ] && [ ! -e "$dir/refused.vgp.part" ] || fail "a file is left"
	cat "$dir/said"
}

# A 32-bit program, without a C library of that kind.
cat >"$dir/narrow.c" <<'END'
void _start(void)
{
	for (;;)
		;
}
END
${CC%% *} -m32 -nostdlib -static -fno-pie -no-pie -o "$dir/narrow" "$dir/narrow.c"
"$dir/narrow" & narrow=$!
pids="$pids $narrow"
await 20 "the 32-bit program is executed" executed $narrow
refused 1 "runs a 32-bit program" --pid $narrow
end $narrow

# A program that executes itself all the time is sampled from whatever moment on.
i=0
while [ $i -lt $storms ]; do
	i=$((i + 1))
	"$BUILDDIR/tests/recording/churn" exec 1000000 & storm=$!
	pids="$pids $storm"
	status=0
	timeout 60 "$VIGNETTED" --rate 1000 --duration 1 -o "$dir/storm.vgp" --pid $storm 2>"$dir/said" || status=$?
	[ $status = 0 ] || fail "exec storm $i: exit status $status: $(cat "$dir/said")"
	end $storm
done
cat "$dir/said"

# One sample of one thread is no plural, and a profile of nothing is no success.
"$VIGNETTED" --duration 1 --rate 1 -o "$dir/one.vgp" -- sleep 0.1 2>"$dir/said" || fail "$(cat "$dir/said")"
grep -q ' of 1 thread,' "$dir/said" || fail "$(cat "$dir/said")"
sh -c 'while :; do :; done' & busy=$!
pids="$pids $busy"
# In a subshell, whose fail() ends it.
(
	# What the shell has from others would count.
	exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
	under='prlimit --nofile=7:7'
	refused 1 'cannot start the process that renames the file at the end: Too many open files' --pid $busy
	under='prlimit --nofile=8:8'
	refused 1 'process .*: Too many open files' --pid $busy
) || exit 1
end $busy

timeout 1500 "$BUILDDIR/tests/recording/hazards"
