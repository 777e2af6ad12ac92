# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Functions for all test scripts.  Each script begins with
#
#     set -eu
#     . "${SRCDIR:?}/tests/lib.sh"
#
# $dir is then a temporary directory.  When the script ends, lib.sh kills the processes in $pids, calls at_end() if the
# script defines it, and removes the directory.
: "${BUILDDIR:?run me by make check}" "${SRCDIR:?}" "${VIGNETTED:?}" "${VGTOOL:?}"
dir=$(mktemp -d)
pids= parts=
export XDG_CACHE_HOME="$dir/.cache"             # vgtool keeps indexes of symbol stores there

finish() {
	processes_kill
	! command -v at_end >/dev/null || at_end || true
	rm -rf "$dir"
}
processes_kill() {
	# SIGTERM and not SIGKILL: each part of side_by_side() kills its own processes first.
	for part in $parts; do kill_own TERM "${part#*:}"; done
	for part in $parts; do wait "${part#*:}" 2>/dev/null || true; done
	kill_own KILL $pids ${pid-}
}

# parent PID: prints the pid of the process's parent, or nothing if the process has ended
parent() { sed -n 's/^PPid:[^0-9]*//p' "/proc/$1/status" 2>/dev/null || true; }

# kill_own SIGNAL PID...: sends the signal to those of the processes that are children or grandchildren of this shell.
# `make check` starts many processes, so the pid of a process that has ended may belong to a process of another test.
kill_own() {
	signal=$1 own=
	shift
	# In a subshell $$ is the pid of the main shell, so /proc gives this shell's pid.
	read -r shell _ </proc/self/stat
	for process in "$@"; do
		parent=$(parent "$process")
		[ "$parent" = "$shell" ] || [ "$(parent "${parent:-0}")" = "$shell" ] || continue
		own="$own $process"
	done
	[ -z "$own" ] || kill -s "$signal" $own 2>/dev/null || true
}
trap finish EXIT
trap 'exit 1' INT TERM

# fail MESSAGE...: ends the script; the test fails
fail() {
	printf 'FAIL: %s\n' "$*"
	exit 1
}

# skip REASON...: ends the script; the test cannot run here
skip() {
	echo "SKIP: $*"
	exit 77
}

# needs TOOL...: names what the script uses and Debian's base lacks: commands, or paths of files.  If one is missing, the
# test is skipped; in `./bootstrap check`, which installs all of them, it fails.
needs() {
	for tool in "$@"; do
		case $tool in
		*/*) [ ! -e "$tool" ] || continue ;;
		*) ! command -v "$tool" >/dev/null 2>&1 || continue ;;
		esac
		[ -z "${ALL_TOOLS-}" ] || fail "$tool is missing; expected it from the packages of ./bootstrap check"
		skip "$tool is missing"
	done
}

# await SECONDS WHAT COMMAND...: runs the command again and again until it succeeds.  Fails with WHAT after as many tries
# as take SECONDS on an idle machine.  The bound is for a test that hangs.  It is a number of tries and not a time,
# because the process that is waited for may get as little CPU as this shell.
await() {
	await_most=$(($1 * 5)) await_what=$2 await_tries=0
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ $await_tries -lt $await_most ] || fail "timed out: $await_what"
		# The command must not take the CPU from the process that it waits for.
		await_tries=$((await_tries + 1))
		await_pause=0.2
		[ $await_tries -gt 20 ] || await_pause=0.02
		sleep $await_pause
	done
}

# Seconds after which timeout(1) ends a program that takes part in many steps of a test.  Each step has its own bound, so
# this one is longer than all of them.
life_s=3000

# side_by_side FUNCTION...: runs these functions at the same time.  Each runs in a subshell with its own $pids and its
# own $dir, which is its current directory.  Prints their outputs one after the other.  Fails if one of them fails.
#
#     timers() { record auto; }
#     stops() { record stop; }
#     side_by_side timers stops
side_by_side() {
	for part in "$@"; do
		(
			dir=$dir/$part pids='' parts=''
			trap processes_kill EXIT
			trap 'exit 1' INT TERM
			mkdir "$dir"
			cd "$dir"
			part_begin=$(date +%s)
			"$part"
			echo "$part took $(($(date +%s) - part_begin)) s"
		) >"$dir/$part.out" 2>&1 &
		parts="$parts $part:$!"
	done
	parts_failed=
	for part in $parts; do
		wait "${part#*:}" || parts_failed="$parts_failed ${part%:*}"
		cat "$dir/${part%:*}.out"
	done
	parts=
	[ -z "$parts_failed" ] || fail "these parts failed:$parts_failed"
}

# exited PID: whether the process has ended; a zombie counts as ended
exited() {
	case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in '' | Z*) ;; *) return 1 ;; esac
}

# json FILE EXPRESSION: prints the value of a JavaScript expression in which `it` is the file's JSON.  "-" is standard
# input.
json() {
	node -e 'const it = JSON.parse(require("fs").readFileSync(process.argv[1] === "-" ? 0 : process.argv[1], "utf8"));
		const value = eval(process.argv[2]);
		console.log(typeof value === "object" ? JSON.stringify(value) : value);' "$1" "$2"
}

# info PROFILE KEY: prints a value of `vgtool info --json`
info() {
	"$VGTOOL" info --json "$1" | json - "it.$2"
}

# free_port: prints a TCP port that is not in use
free_port() {
	/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# symbolize PROFILE WEIGHT OUT FILE...: symbolizes the profile with the symbols of the files, and writes its functions
# to OUT, in the format of functions.mjs
symbolize() {
	profile=$1 weight=$2 out=$3
	shift 3
	"$VGTOOL" symbols -o "$dir/symbols" "$@" >"$dir/log"
	"$VGTOOL" resolve -s "$dir/symbols" "$profile" -o "$dir/named.vgp" 2>"$dir/log"
	"$VGTOOL" report --json --weight "$weight" "$dir/named.vgp" >"$dir/report"
	node "$SRCDIR/tests/functions.mjs" "$dir/report" >"$out"
}

# info_value KEY: prints a value of $dir/info, the output of `vgtool info --json` for the latest profile.  Starts node
# only once for each $dir/info.
info_value() {
	[ "$dir/info.values" -nt "$dir/info" ] || json "$dir/info" 'Object.entries(it).map(([key, value]) =>
		key + " " + (typeof value === "object" ? JSON.stringify(value) : value)).join("\n")' >"$dir/info.values"
	sed -n "s/^$1 //p" "$dir/info.values"
}

# waits CALL STACK HZ CAPTURE PROGRAM [ARGUMENT]: records the program until 100 samples wait in the system call CALL,
# and sets $waits to their number.  CALL and STACK are patterns.  The stack of each of these samples must match STACK.
waits() {
	call=$1 stack=$2 hz=$3 capture=$4
	shift 4
	"$VGTOOL" symbols -o "$dir/symbols" "$1" >"$dir/log"
	# Two seconds are enough, unless the machine is very slow.
	lengthen "2 4 8 16 32 64 128" waits_recorded "$@" ||
		fail "$*, $capture: fewer than 100 samples of $call: $(cat "$dir/log.recorded")"
}
waits_recorded() {
	"$@" & waiting=$!
	pids="$pids $waiting" status=0
	some_recorded --pid $waiting --capture $capture --rate $hz --duration $long -o "$dir/out.vgp" || status=$?
	end $waiting
	[ $status = 0 ] || return 1
	"$VGTOOL" info --json "$dir/out.vgp" >"$dir/info" || fail "$dir/out.vgp cannot be read"
	"$VGTOOL" resolve -s "$dir/symbols" "$dir/out.vgp" -o "$dir/named.vgp" 2>"$dir/log" || fail "$(cat "$dir/log")"
	"$VGTOOL" folded --weight samples "$dir/named.vgp" | grep "$call" >"$dir/waits" || true
	waits=$(awk '{ waits += $NF } END { print waits + 0 }' "$dir/waits")
	wrong=$(grep -v "$stack" "$dir/waits" || true)
	[ -z "$wrong" ] || fail "$*, $capture: stacks that the program never had: $wrong"
	[ "$waits" -ge 100 ]
}

# some_recorded ARGUMENT...: runs vignetted; its output is in $dir/log.recorded.  Returns 1 if all samples were lost: a
# starved helper cannot stop a thread in time.  Fails if vignetted fails for another reason.
some_recorded() {
	some_status=0
	timeout $life_s "$VIGNETTED" "$@" >"$dir/log.recorded" 2>&1 || some_status=$?
	! all_lost "$dir/log.recorded" || return 1
	[ $some_status = 0 ] || fail "vignetted $*: $(cat "$dir/log.recorded")"
}

# all_lost FILE: whether the messages in the file say that a recording has no sample because all were lost
all_lost() { grep -q 'no samples: all were lost$' "$1"; }

# may_lack STACKS PER_MILLE: prints how many of the stacks may be incomplete if PER_MILLE of them must be complete: with
# $exact no more than the others.  In short recordings chance matters.  If exactly PER_MILLE of all stacks are complete,
# the number of incomplete ones has a Poisson distribution, and exceeds what is printed with a probability of 10^-9.
may_lack() {
	awk -v stacks=$1 -v share=$2 -v exact=${exact-} 'BEGIN {
		expected = stacks * (1000 - share) / 1000
		if (exact) {
			print int(expected + 0.999)
			exit
		}
		chance = sum = exp(-expected)
		while (sum < 1 - 1e-9) {
			chance *= expected / ++lacking
			sum += chance
		}
		print lacking + 0 }'
}

# reported COMMAND...: runs vgtool record as exits() does.  Returns 1 if all samples were lost.  Fails if the command
# fails for another reason.
reported() {
	status=0
	timeout $life_s "$@" >"$dir/out" 2>"$dir/err" || status=$?
	! all_lost "$dir/err" || return 1
	[ $status = 0 ] || fail "$*: status $status: $(cat "$dir/err")"
}

# again WHAT COMMAND...: runs the command until it succeeds, at most ten times
again() {
	again_what=$1
	shift
	for attempt in 1 2 3 4 5 6 7 8 9 10; do
		! "$@" || return 0
	done
	fail "$again_what: not in $attempt attempts"
}

# recorded ARGUMENT...: runs vignetted until a sample was recorded.  The command in the arguments runs anew each time.
recorded() {
	again "a sample of vignetted $*" some_recorded "$@"
}

# lengthen "LENGTH..." COMMAND...: sets $long to each length in turn, until the command succeeds.  Returns 1 if it never
# does.  The command records for $long, and tests whether that gave enough samples.
lengthen() {
	lengths=$1
	shift
	for long in $lengths; do
		! "$@" || return 0
	done
	return 1
}

# end PROCESS...: sends SIGKILL to processes that the script started, and waits for them
end() {
	kill_own KILL "$@"
	for ended in "$@"; do wait "$ended" 2>/dev/null || true; done
}

# used_ms PROCESS: prints the CPU time that the process has used; worked PROCESS MS: whether it has used that much.  The
# kernel counts it in units of 10 ms.
used_ms() { awk '{ sub(/.*\) /, ""); print ($12 + $13) * 10 }' "/proc/$1/stat"; }
worked() { [ "$(used_ms "$1")" -ge "$2" ]; }

# executed PROCESS: whether that child of the shell has executed its program
executed() {
	[ "$(readlink "/proc/$1/exe")" != "$(readlink /proc/$$/exe)" ]
}

# build_capture: prints the option --capture for this build: the plain build tests timers, the sanitized build tests
# stops
build_capture() {
	if [ -n "${SANITIZE-}" ]; then echo stop; else echo auto; fi
}

# helper_with_pid: makes $dir/helper, which writes its pid into $dir/pid and executes vignetted
helper_with_pid() {
	cat >"$dir/helper" <<-END
	#!/bin/sh
	echo \$\$ >"$dir/pid"
	exec "$VIGNETTED" "\$@"
	END
	chmod +x "$dir/helper"
}

# started FILE COMMAND...: starts the command with its output in the file, and waits until the command has printed a
# line.  Sets $started to the command's pid, and adds this pid to $pids.
started() {
	started_out=$1
	shift
	: >"$started_out"
	"$@" >"$started_out" & started=$!
	pids="$pids $started"
	await 240 "the first line of $*" started_or_exited
	[ -s "$started_out" ] || { wait "$started" && rc=0 || rc=$?; fail "$* ended with status $rc and printed nothing"; }
}
started_or_exited() {
	[ -s "$started_out" ] || exited "$started"
}

# stopped PID...: sends SIGTERM to these processes, waits for them, and removes them from $pids
stopped() {
	for ended in "$@"; do
		kill_own TERM "$ended"
		wait "$ended" 2>/dev/null || true
		pids=$(echo " $pids " | sed "s/ $ended / /")
	done
}

# holds PROFILE CONDITION: whether a JavaScript condition is true; `it` is the JSON of `vgtool info`.  The helper
# may still write the profile: `await ... holds` waits until enough is recorded, on a slow machine too.
holds() {
	# The answer cannot change while the file does not grow.  vgtool and node need 0.1 s of CPU time to answer.
	holds_question="$2 $(stat -c '%n %i %s' "$1")" || return 1
	[ "$holds_question" != "${holds_denied-}" ] || return 1
	if "$VGTOOL" info --json "$1" 2>"$dir/log.holds" >"$dir/holds" && [ "$(json "$dir/holds" "$2")" = true ]; then
		return 0
	fi
	holds_denied=$holds_question
	return 1
}

# ended PROFILE REASON: fails unless the profile is readable, ended for this reason, and has samples
ended() {
	"$VGTOOL" info --json "$1" >"$dir/info" 2>"$dir/log" || fail "$1 cannot be read: $(cat "$dir/log")"
	[ "$(json "$dir/info" it.end_reason)" = "$2" ] || fail "the end reason of $1 is not '$2': $(cat "$dir/info")"
	[ "$(json "$dir/info" it.samples)" -gt 0 ] || fail "$1 has no samples"
}

# records PROFILE EXPRESSION: prints the value of a JavaScript expression in which `it` is the array of all records
records() {
	"$VGTOOL" dump "$1" | sed '1s/^/[/; $!s/$/,/; $s/$/]/' | json - "$2"
}

# wire_version: prints the oldest version of the messages between libvgctl, vgctl and the helper
wire_version() {
	sed -n 's/.*VG_WIRE_OLDEST = \([0-9]*\),.*/\1/p' "$SRCDIR/libvgctl/wire.h"
}

# CC and CXX: the compilers; each value may include options.  fixtures: the folder of the programs that tests compile
CC=${CC:-cc} CXX=${CXX:-c++} fixtures=$SRCDIR/tests/fixtures

# exits STATUS COMMAND...: runs the command with its output in $dir/out and $dir/err.  Fails if the command exits with
# another status.  Status 124 means that the command did not end within life_s.
exits() {
	exits_wanted=$1 status=0
	shift
	timeout $life_s "$@" >"$dir/out" 2>"$dir/err" || status=$?
	[ "$status" = "$exits_wanted" ] || fail "$*: status $status, not $exits_wanted: $(head -c 400 "$dir/err") $(tail -c 400 "$dir/out")"
}

# has out|err TEXT: fails unless the output of the latest exits() has the text
has() {
	grep -qF -e "$2" "$dir/$1" || fail "no '$2' in: $(head -c 400 "$dir/$1")"
}

# out_holds EXPRESSION: fails unless the JavaScript expression is true; `it` is the JSON output of the latest exits()
out_holds() {
	[ "$(json "$dir/out" "$1")" = true ] || fail "not true: $1: $(head -c 600 "$dir/out")"
}

# build_id FILE: prints the build id of an ELF file, or nothing
build_id() {
	readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p'
}

# debug_path ID: prints the path of the debug file of that build id, below a directory such as /usr/lib/debug
debug_path() {
	echo ".build-id/$(echo "$1" | cut -c 1-2)/$(echo "$1" | cut -c 3-).debug"
}

# helper_pid: prints the pid of the program's helper, which has the directory $run open
helper_pid() {
	helper_exe=$(readlink -f "$VIGNETTED")
	for fd in /proc/[0-9]*/fd/0; do
		pid=${fd#/proc/}; pid=${pid%%/*}
		[ "$(readlink "/proc/$pid/exe" 2>/dev/null)" = "$helper_exe" ] || continue
		# Not the finisher: a child of the helper, or, if the helper was killed, a process of another name.
		[ "$(cat "/proc/$pid/comm")" = vignetted ] || continue
		parent=$(parent "$pid")
		[ "$(readlink "/proc/$parent/exe" 2>/dev/null)" != "$helper_exe" ] || continue
		readlink "/proc/$pid/fd/"* 2>/dev/null | grep -qx "$run" && echo "$pid"
	done
	return 0
}
