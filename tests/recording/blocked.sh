#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A thousand threads that wait: known where, complete, and not stopped once their stacks are known.  And
# where again, for another recording, when stops have made the kernel take calls up again.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
seconds=5
[ -z "${SOAK-}" ] || seconds=60
threads=1000
mkfifo "$dir/ready"
"$BUILDDIR/tests/recording/blocked" $threads >"$dir/ready" &
pid=$!
read -r line <"$dir/ready"
[ "$line" = blocked ] || fail "the threads do not block"
"$VIGNETTED" --pid $pid -o "$dir/blocked.vgp" --rate 99 --duration $seconds
"$VGTOOL" info --json "$dir/blocked.vgp" >"$dir/info"

# "stops" as it stood at each checkpoint, a second apart.
"$VGTOOL" dump "$dir/blocked.vgp" | sed -n '/"kind":"stats"/s/.*"stops":\([0-9]*\).*/\1/p' >"$dir/stops"
[ "$(wc -l <"$dir/stops")" -ge 4 ] || fail "too few checkpoints: $(cat "$dir/stops")"
later=$(($(tail -1 "$dir/stops") - $(sed -n 2p "$dir/stops")))
echo "stops in the first second: $(sed -n 2p "$dir/stops"), later: $later"
[ $later = 0 ] || fail "sleeping threads were stopped: $(cat "$dir/stops")"

samples=$(sed 's/.*"samples":\([0-9]*\),.*/\1/' "$dir/info")
complete=$(sed 's/.*"stacks_complete":\([0-9]*\),.*/\1/' "$dir/info")
echo "$samples samples, $complete complete"
[ "$samples" -ge $((threads * 10 * seconds)) ] || fail "too few samples: $(cat "$dir/info")"
[ "$samples" = "$complete" ] || fail "incomplete stacks: $(cat "$dir/info")"

# calls FILE: a fifth of the threads waits in each; main is in pause(2)
calls() {
	samples=$("$VGTOOL" info --json "$1" | sed 's/.*"samples":\([0-9]*\),.*/\1/')
	"$VGTOOL" report --json "$1" >"$dir/report"
	node "$SRCDIR/tests/functions.mjs" "$dir/report" >"$dir/functions"
	for call in futex poll epoll_wait read clock_nanosleep; do
		self=$(awk -v name="[$call]" '$5 == name { print $1 }' "$dir/functions")
		echo "[$call]: ${self:-none}"
		[ $((${self:-0} * 51)) -ge $((samples * 10)) ] || fail "[$call] has ${self:-no} samples of $samples"
	done
}
calls "$dir/blocked.vgp"
"$VIGNETTED" --pid $pid -o "$dir/again.vgp" --rate 99 --duration 1
calls "$dir/again.vgp"
