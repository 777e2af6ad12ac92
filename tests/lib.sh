# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What the test scripts share.  Each begins with
#
#     set -eu
#     . "${SRCDIR:?}/tests/lib.sh"
#
# and has then a temporary directory, $dir.  When the script ends, the processes in $pids are killed, the function
# at_end() is called if the script has one, and the directory is removed.
: "${BUILDDIR:?run me by make check}" "${SRCDIR:?}" "${VIGNETTED:?}" "${VGTOOL:?}"
dir=$(mktemp -d)
pids=

finish() {
	for process in $pids ${pid-}; do kill -9 "$process" 2>/dev/null || true; done
	! command -v at_end >/dev/null || at_end || true
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM

# fail MESSAGE...: ends the script; the test has failed
fail() {
	printf 'FAIL: %s\n' "$*"
	exit 1
}

# skip REASON...: ends the script; the test cannot be made here
skip() {
	echo "$*"
	exit 77
}

# await SECONDS WHAT COMMAND...: runs the command until it succeeds.  Fails with WHAT if it does not within that time,
# which is a bound for a very slow machine, not an expectation.
await() {
	await_end=$(($(date +%s) + $1)) await_what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt $await_end ] || fail "not within the time: $await_what"
		sleep 0.02
	done
}

# gone PID: the process has ended; a zombie has, too
gone() {
	case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in '' | Z*) ;; *) return 1 ;; esac
}

# json FILE EXPRESSION: the value of a JavaScript expression in which `it` is the file's JSON; "-" is standard input
json() {
	node -e 'const it = JSON.parse(require("fs").readFileSync(process.argv[1] === "-" ? 0 : process.argv[1], "utf8"));
		const value = eval(process.argv[2]);
		console.log(typeof value === "object" ? JSON.stringify(value) : value);' "$1" "$2"
}

# info PROFILE KEY: a value of `vgtool info --json`
info() {
	"$VGTOOL" info --json "$1" | json - "it.$2"
}

# free_port: a TCP port that nobody has, from the kernel
free_port() {
	/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# named PROFILE WEIGHT OUT FILE...: the profile's functions, symbolized with the symbols of those files
named() {
	profile=$1 weight=$2 out=$3
	shift 3
	"$VGTOOL" symbols -o "$dir/symbols" "$@" >"$dir/log"
	"$VGTOOL" resolve -s "$dir/symbols" "$profile" -o "$dir/named.vgp" 2>"$dir/log"
	"$VGTOOL" report --json --weight "$weight" "$dir/named.vgp" >"$dir/report"
	node "$SRCDIR/tests/functions.mjs" "$dir/report" >"$out"
}

# told KEY: a number of $dir/info, which is of the latest profile
told() {
	json "$dir/info" "it.$1"
}

# waits CALL STACK HZ CAPTURE PROGRAM [ARGUMENT]: records the program until there are 100 samples of waits in that call
# (a pattern) and sets $waits to their number.  The stack of each must match the other pattern.
waits() {
	call=$1 stack=$2 hz=$3 capture=$4
	shift 4
	"$VGTOOL" symbols -o "$dir/symbols" "$1" >"$dir/log"
	# Two seconds are enough, unless the machine is very slow.
	for seconds in 2 4 8 16 32; do
		"$@" & waiting=$!
		pids="$pids $waiting"
		"$VIGNETTED" --pid $waiting --capture $capture --rate $hz --duration $seconds -o "$dir/out.vgp" 2>"$dir/log" ||
			fail "$*, $capture: $(cat "$dir/log")"
		end $waiting
		"$VGTOOL" info --json "$dir/out.vgp" >"$dir/info"
		"$VGTOOL" resolve -s "$dir/symbols" "$dir/out.vgp" -o "$dir/named.vgp" 2>"$dir/log"
		"$VGTOOL" folded --weight samples "$dir/named.vgp" | grep "$call" >"$dir/waits" || true
		waits=$(awk '{ waits += $NF } END { print waits + 0 }' "$dir/waits")
		wrong=$(grep -v "$stack" "$dir/waits" || true)
		[ -z "$wrong" ] || fail "$*, $capture: stacks that never were: $wrong"
		[ "$waits" -lt 100 ] || return 0
	done
	fail "$*, $capture: too few: $(cat "$dir/info")"
}

# end PROCESS...: kills processes that the script started, and waits until they are gone
end() {
	kill -9 "$@" 2>/dev/null || true
	for ended in "$@"; do wait "$ended" 2>/dev/null || true; done
}

# executed PROCESS: it is no longer the shell's child that has yet to execute its program
executed() {
	[ "$(readlink "/proc/$1/exe")" != "$(readlink /proc/$$/exe)" ]
}

# build_capture: what the tests record with.  Timers in the one build of the check, stops in the other.
build_capture() {
	if [ -n "${SANITIZE-}" ]; then echo stop; else echo auto; fi
}

# helper_with_pid: makes $dir/helper, which is vignetted and writes its pid into $dir/pid
helper_with_pid() {
	cat >"$dir/helper" <<-END
	#!/bin/sh
	echo \$\$ >"$dir/pid"
	exec "$VIGNETTED" "\$@"
	END
	chmod +x "$dir/helper"
}

# started FILE COMMAND...: starts the command, whose output goes into the file, and waits for the first line of it.
# $started is its number, which is in $pids, too.
started() {
	started_out=$1
	shift
	: >"$started_out"
	"$@" >"$started_out" & started=$!
	pids="$pids $started"
	await 60 "the first line of $*" started_or_gone
	[ -s "$started_out" ] || fail "$* has ended"
}
started_or_gone() {
	[ -s "$started_out" ] || gone "$started"
}

# stopped PID...: ends these processes and waits for them; $pids has them no more
stopped() {
	for process in "$@"; do
		kill "$process" 2>/dev/null || true
		wait "$process" 2>/dev/null || true
		pids=$(echo " $pids " | sed "s/ $process / /")
	done
}

# holds PROFILE CONDITION: a JavaScript condition holds, in which `it` is the JSON of `vgtool info`.  The profile may
# still be written: `await` with this waits until enough is recorded, however slow the machine is.
holds() {
	"$VGTOOL" info --json "$1" 2>"$dir/log.holds" >"$dir/holds" && [ "$(json "$dir/holds" "$2")" = true ]
}

# ended PROFILE REASON: the profile can be read, gives this reason for its end, and has samples
ended() {
	"$VGTOOL" info --json "$1" >"$dir/info" 2>"$dir/log" || fail "$1 cannot be read: $(cat "$dir/log")"
	[ "$(json "$dir/info" it.end_reason)" = "$2" ] || fail "$1 does not say: $2: $(cat "$dir/info")"
	[ "$(json "$dir/info" it.samples)" -gt 0 ] || fail "$1 has no samples"
}

# records PROFILE EXPRESSION: the value of a JavaScript expression in which `it` is the array of all records
records() {
	"$VGTOOL" dump "$1" | sed '1s/^/[/; $!s/$/,/; $s/$/]/' | json - "$2"
}

# wire_version: of the messages between libvgctl, vgctl and the helper
wire_version() {
	sed -n 's/.*VG_WIRE_VERSION = \([0-9]*\),.*/\1/p' "$SRCDIR/libvgctl/wire.h"
}

# The compilers, each perhaps with options, and the folder of the programs that tests compile
CC=${CC:-cc} CXX=${CXX:-c++} fixtures=$SRCDIR/tests/fixtures

# exits STATUS COMMAND...: runs the command, with its output in $dir/out and $dir/err.  Fails if the exit status is
# another; 124 is that of a command that hangs.
exits() {
	exits_wanted=$1 status=0
	shift
	timeout 120 "$@" >"$dir/out" 2>"$dir/err" || status=$?
	[ "$status" = "$exits_wanted" ] || fail "$*: status $status, not $exits_wanted: $(head -c 400 "$dir/err")"
}

# has out|err TEXT: the output of the latest exits() has the text
has() {
	grep -qF -e "$2" "$dir/$1" || fail "no '$2' in: $(head -c 400 "$dir/$1")"
}

# out_holds EXPRESSION: the JavaScript expression is true, where `it` is the JSON in the output of the latest exits()
out_holds() {
	[ "$(json "$dir/out" "$1")" = true ] || fail "not so: $1: $(head -c 600 "$dir/out")"
}

# build_id FILE: of an ELF file; nothing if it has none
build_id() {
	readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p'
}

# debug_path ID: where in a directory like /usr/lib/debug the debug file of that build id is
debug_path() {
	echo ".build-id/$(echo "$1" | cut -c 1-2)/$(echo "$1" | cut -c 3-).debug"
}
