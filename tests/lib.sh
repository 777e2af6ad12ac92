# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What tests of recordings share; sourced by them: $dir, which is gone with the script, as is the
# process $pid.
: "${BUILDDIR:?}" "${SRCDIR:?}" "${VIGNETTED:?}" "${VGTOOL:?}"
dir=$(mktemp -d)
pid=
trap 'kill $pid 2>/dev/null || true; rm -rf "$dir"' EXIT

fail() {
	echo "FAIL: $*"
	exit 1
}

# named PROFILE WEIGHT OUT FILE...: its functions with names from those files
named() {
	profile=$1 weight=$2 out=$3
	shift 3
	"$VGTOOL" symbols -o "$dir/symbols" "$@" >"$dir/log"
	"$VGTOOL" resolve -s "$dir/symbols" "$profile" -o "$dir/named.vgp" 2>"$dir/log"
	"$VGTOOL" report --json --weight "$weight" "$dir/named.vgp" >"$dir/report"
	node "$SRCDIR/tests/functions.mjs" "$dir/report" >"$out"
}

# told KEY: a number of the profile's that was recorded last
told() {
	sed 's/.*"'"$1"'":\([0-9]*\),.*/\1/' "$dir/info"
}

# waits CALL STACK HZ CAPTURE PROGRAM [ARGUMENT]: records it for three seconds, into $waits how many samples
# are of waits in the call, as the pattern says it; each of their stacks must be as the other says
waits() {
	call=$1 stack=$2 hz=$3 capture=$4
	shift 4
	"$VGTOOL" symbols -o "$dir/symbols" "$1" >"$dir/log"
	"$@" & pid=$!
	"$VIGNETTED" --pid $pid --capture $capture --rate $hz --duration 3 -o "$dir/out.vgp" 2>"$dir/log" ||
		fail "$*, $capture: $(cat "$dir/log")"
	kill $pid
	wait $pid 2>/dev/null || true
	"$VGTOOL" info --json "$dir/out.vgp" >"$dir/info"
	"$VGTOOL" resolve -s "$dir/symbols" "$dir/out.vgp" -o "$dir/named.vgp" 2>"$dir/log"
	"$VGTOOL" folded --weight samples "$dir/named.vgp" | grep "$call" >"$dir/waits" || true
	waits=$(awk '{ waits += $NF } END { print waits + 0 }' "$dir/waits")
	wrong=$(grep -v "$stack" "$dir/waits" || true)
	[ -z "$wrong" ] || fail "$*, $capture: stacks that never were: $wrong"
	[ "$waits" -ge 100 ] || fail "$*, $capture: too few: $(cat "$dir/info")"
}
