#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Every limit of the helper is reached.  The helper stays within it and continues, and the profile counts what was lost.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node
: "${CC:?}"
cd "$dir"
top=$dir

# record CONDITION OPTION...: records the program into p.vgp until the condition is true for the profile
record() {
	condition=$1
	shift
	record_start "$@"
	record_end "$condition"
}

record_start() {
	options=$*
	"$VIGNETTED" -p $started -o p.vgp --duration 600 "$@" 2>err & helper=$!
	pids="$started $helper"
}

# record_end CONDITION: ends the recording when the condition is true
record_end() {
	await 120 "$options: $1" recorded_or_exited p $helper "$1"
	peak=$(sed -n 's/^VmPeak:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$helper/status)
	kill_own TERM $helper
	wait $helper || fail "$options: $(cat err)"
	pids=$started
	"$VGTOOL" info --json p.vgp >info 2>err || fail "$options: the profile cannot be read: $(cat err)"
	[ ! -s err ] || fail "$options: $(cat err)"
}

# recorded_or_exited NAME HELPER CONDITION: whether the condition is true for the profile, or the helper has ended
recorded_or_exited() {
	holds "$1.vgp.part" "$3" || exited "$2"
}

# value NAME: prints a number of the profile
value() {
	json info "it[\"$1\"] ?? it.lost[\"$1\"] ?? it.stack_ends[\"$1\"] ?? 0"
}

# at_least NAME NUMBER; at_most NAME NUMBER: fail if the profile's value of NAME is less, or more, than NUMBER
at_least() {
	value=$(value "$1")
	[ "$value" -ge "$2" ] || fail "$1 is $value, less than $2"
}
at_most() {
	value=$(value "$1")
	[ "$value" -le "$2" ] || fail "$1 is $value, more than $2"
}

$CC -O1 -fno-optimize-sibling-calls -o bounds "$SRCDIR/tests/fixtures/bounds.c" -lpthread -ldl
mkdir programs
$CC -O1 -o programs/endless "$SRCDIR/tests/fixtures/endless.c" -lpthread
$CC -O1 -o programs/changing "$SRCDIR/tests/fixtures/changing.c" -lpthread

# helpers OPTIONS CONDITION KIND...: for each KIND, starts the program `$fixture KIND` and a helper for it.  Each helper
# must take $samples samples and find a stack with the end $end, and its profile must fulfil the condition.  Then a
# signal must end the helper.
end="bad unwind information"
helpers() {
	options=$1 condition="it.samples >= $samples && it.stack_ends['$end'] >= 1 && $2"
	shift 2
	for kind in "$@"; do
		started said $fixture $kind ${threads-}
		# The program has printed its line a little before it has the stack that is tested.
		[ $kind != code ] || await 120 "the program works" worked $started 100
		"$VIGNETTED" -p $started -o $kind.vgp --duration 600 $options 2>err.$kind & helper=$!
		pids="$pids $helper"
		await 200 "$fixture $kind: $condition" recorded_or_exited $kind $helper "$condition"
		kill_own TERM $helper
		await 120 "$fixture $kind: a signal ends the helper" exited $helper
		status=0
		wait $helper || status=$?
		[ $status = 0 ] || fail "$fixture $kind: exit status $status: $(cat err.$kind)"
		end $started
		"$VGTOOL" info --json $kind.vgp >info 2>err || fail "$fixture $kind: $(cat err)"
		[ "$(json info "$condition")" = true ] || fail "$fixture $kind: not true: $condition: $(cat info)"
	done
}

# Threads.  When fifty of the recorded threads exit, fifty others are recorded.
threads() {
	started said "$top/bounds" threads 5000
	record_start --max-threads 100 --rate 20
	await 120 "a hundred threads" holds p.vgp.part 'it.threads >= 100 && it.samples >= 100'
	kill -USR1 $started
	record_end 'it.threads > 100'
	stopped $started
	at_least threads 101
	at_most threads 200
	at_least threads_over_limit 4850
	at_most threads_over_limit 4901
	at_least thread_limit 4850
	at_least samples 100
}

# Open files.  With the usual soft limit the helper raises it; a hard limit makes it keep fewer files open.
open_files() {
	started said "$top/bounds" threads 300
	for limit in -Sn -n; do
		(ulimit $limit 256; exec "$VIGNETTED" -p $started -o p.vgp --duration 600 --rate 50) 2>err & helper=$!
		pids="$pids $helper"
		await 120 "ulimit $limit 256: 300 threads: $(cat err)" holds p.vgp.part 'it.threads >= 300 && it.samples >= 3000'
		kill_own TERM $helper
		wait $helper || fail "ulimit $limit 256: exit status $?: $(cat err)"
		[ "$(info p.vgp lost.unreadable)" = undefined ] || fail "ulimit $limit 256: lost: $(info p.vgp lost)"
	done
	stopped $started
}

# A program without a sorted table of its FDEs, and with more FDEs than the helper indexes.
functions() {
	# as(1) takes three times as long for .cfi_startproc.
	cat >many.s <<-'END'
	.text
	functions: .rept 530000
	nop
	.endr
	.section .eh_frame, "a", @progbits
	# Version 1, "zR", factors 1 and -8; DW_EH_PE_pcrel | sdata4; the CFA is rsp + 8, the return address at the CFA - 8
	cie: .long 2f - 1f
	1: .long 0
	.byte 1
	.string "zR"
	.byte 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1
	.balign 4
	2:
	.set n, 0
	.rept 530000
	.long 16, . - cie, functions + n - ., 1, 0
	.set n, n + 1
	.endr
	.section .note.GNU-stack, "", @progbits
	END
	$CC -O1 -static -fno-optimize-sibling-calls -w -o many "$SRCDIR/tests/fixtures/bounds.c" many.s
	started said ./many deep 10
	record 'it.samples >= 100 && it.modules_unindexed === 1' --rate 500
	stopped $started
	started said "$top/bounds" deep 10
	record 'it.samples >= 100' --rate 500
	at_most modules_unindexed 0
	stopped $started
}

# Frames.
frames() {
	started said "$top/bounds" deep 300
	record 'it.samples >= 10' --max-frames 10
	at_least "frame limit" 3
	stopped $started
}

# Memory: first with --max-memory, then with a limit of the address space (ulimit -v) that the helper does not know.
memory() {
	started said "$top/bounds" stacks
	record 'it.samples >= 200 && it.stack_tables >= 2' --max-memory 33554432 --rate 5000
	at_least stack_tables 2
	at_least samples 200
	at_most no_memory 0
	# A sanitizer reserves terabytes of address space.
	[ -n "${SANITIZE-}" ] || { [ "$peak" -gt 1000 ] && [ "$peak" -le 32768 ]; } || fail "memory: the peak is $peak KiB"

	if [ -z "${SANITIZE-}" ]; then
		unlimited=$VIGNETTED
		printf '#!/bin/sh\nulimit -v 14000\nexec "%s" "$@"\n' "$unlimited" >limited
		chmod 755 limited
		VIGNETTED=./limited
		record 'it.samples >= 200 && it.stack_tables >= 2' --rate 5000
		VIGNETTED=$unlimited
		at_least stack_tables 2
		at_least samples 200
	fi
	stopped $started
}

# Unwind information that never ends, or takes long to read.  Each walk ends, and a signal ends the recording.
endless() {
	fixture=$top/programs/endless
	samples=1
	helpers "--rate 20" true skip bra deref count divide
	end="work limit"
	helpers "--rate 20" true long program
	threads=1000
	# With so many threads a round reaches its time limit.
	helpers "--rate 20" 'it.lost.round_timeout >= 1' threads
	threads=
	at_least round_timeout 1
}

# Instructions that take long to follow, of functions without unwind information.  A walk takes longer than the period of
# 1 ms, on any machine, and stops before the root frame.
instructions() {
	fixture=$top/programs/endless
	samples=20
	end="work limit"
	helpers "--rate 999" 'it.lost.ticks_skipped >= 1' code
	at_most stacks_complete 0
	# The program may have set a small limit of stacks, which its helper inherits.  A sanitizer needs more.
	[ -z "${SANITIZE-}" ] || return 0
	printf '#!/bin/sh\nulimit -s 128\nexec "%s" "$@"\n' "$VIGNETTED" >small
	chmod 755 small
	unlimited=$VIGNETTED
	VIGNETTED=./small
	helpers "--rate 20" true code
	VIGNETTED=$unlimited
}

# Unwind information that changes between its check and its use.  It must not reach libunwind, which would crash.
changing() {
	changes 500 divide column stack
	changes 100 register letters distance
}

# changes SAMPLES KIND...: records `changing KIND`, again for longer until there are that many samples
changes() {
	condition="it.samples >= $1 && it.stack_ends['$end'] >= 1"
	shift
	for kind in "$@"; do
		started said "$top/programs/changing" $kind
		for ms in 300 600 1200 2400 4800 9600 19200 38400; do
			"$VIGNETTED" -p $started -o $kind.vgp --rate 999 --duration ${ms}ms 2>err ||
				fail "changing $kind: exit status $?: $(cat err)"
			"$VGTOOL" info --json $kind.vgp >info 2>err || fail "changing $kind: $(cat err)"
			enough=$(json info "$condition")
			[ "$enough" = false ] || break
		done
		[ "$enough" = true ] || fail "changing $kind: not true: $condition: $(cat info)"
		end $started
	done
}

side_by_side threads open_files functions frames memory endless instructions changing
