#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Counters from the command line to the views, from outside, without privileges and without descriptors.  TIMING: they are
# attributed to functions closely.
set -eu
: "${VGCTL:?}" "${CC:?}"
. "${SRCDIR:?}/tests/lib.sh"
SRCDIR=$(cd "$SRCDIR" && pwd)
chmod 755 "$dir"
cd "$dir"

# The program that listens ends when its input does, and its helper with it.
host=
at_end() {
	exec 7>&-
	[ -z "$host" ] || (await 20 "the listening program ends" gone $host)
}

# between VALUE LEAST MOST WHAT
between() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ] || fail "$4: $1 is not $2 to $3"; }

# refuses SENTENCE COMMAND...: with that sentence, and leaves no file
refuses() {
	sentence=$1
	shift
	! timeout 60 "$@" 2>log || fail "$* has begun"
	grep -q "$sentence" log || fail "$* does not say: $sentence"
	[ ! -e no.vgp ] && [ ! -e no.vgp.part ] || fail "$* has left a file"
}

$CC -O1 -g -pthread -o pages "$SRCDIR/tests/fixtures/pages.c"
"$VGTOOL" symbols -o symbols pages >log 2>&1 || fail "symbols"
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)

# ---- functions by counter: one touches 4000 pages, another spins ----
if ! timeout 60 "$VIGNETTED" -o all.vgp --rate 199 --counter page-faults --counter cs,task-clock \
	-- ./pages 2>log; then
	# Nothing to try but that it says why, where this machine forbids all of it.
	grep -q 'cannot be counted: ' log || fail "no counters, and no reason"
	[ ! -e all.vgp ] || fail "a profile without its counters"
	exit 0
fi
"$VGTOOL" resolve -s symbols -o named.vgp all.vgp 2>log || fail "resolve"
"$VGTOOL" info named.vgp | grep -q '^counters  *page-faults, context-switches, task-clock$' ||
	fail "info does not name them"
[ "$(info named.vgp counters)" = '["page-faults","context-switches","task-clock"]' ] || fail "info --json"
counts=$(records named.vgp 'it.filter((r) => r.kind === "count" && r.thread === 0 && r.after_us >= 0 &&
	r.values.length === 3 && r.values.every((value) => value >= 0)).length')
[ "$counts" -ge 1 ] || fail "dump has no counts"

# self COUNTER FUNCTION: by the report
self() {
	"$VGTOOL" report --json --counter "$1" named.vgp |
		json - "(it.functions.find((f) => f.name === '$2') ?? {}).self ?? 0"
}

# counted PROFILE COUNTER: by the report
counted() { "$VGTOOL" report --json --counter "$2" "$1" | json - it.counted; }

# step PROFILE INDEX: the most that a counter of the header went on between two readings
step() {
	records "$1" 'Math.max(0, ...it.filter((r) => r.kind === "count").map((r) => r.values['$2']))'
}

between "$(counted named.vgp page-faults)" 4000 4400 "page faults"
# What was counted between two readings goes to the functions that were sampled there, and a reading comes after its sample.
# So the beginning and the end of a function shift up to two steps each.  Steps are small where the recorder has its CPU
# time, and may be large on a busy machine.
faults=$((4 * $(step named.vgp 0))) clock=$((4 * $(step named.vgp 2)))
echo "four steps are up to $faults page faults, $clock ns; $counts readings"
# The bounds of a machine that is not busy.
[ -z "${TIMING-}" ] || faults=800 clock=50000000
between "$(self page-faults touch)" $((4000 - faults)) $((4400 + faults)) "page faults of touch"
between "$(self task-clock spin)" $((195000000 - clock)) $((600000000 + clock)) "nanoseconds of spin"
"$VGTOOL" report --counter page-faults named.vgp >report
# Others cannot have more.
if [ $faults -lt 1800 ]; then
	[ "$(awk '/%/ { print $NF == "[pages]" ? $(NF - 1) : $NF; exit }' report)" = touch ] ||
		fail "touch is not the first: $(cat report)"
fi
[ "$(counted named.vgp cs)" = "$(counted named.vgp context-switches)" ] ||
	fail "report does not know the name that was asked for"
"$VGTOOL" report --by interval --counter faults named.vgp | grep -q 'no interval' ||
	fail "report --by interval"
[ "$("$VGTOOL" report --by interval --json --counter faults named.vgp | json - it.counted)" = \
	"$(counted named.vgp page-faults)" ] || fail "report --by interval --json has not what was counted"
"$VGTOOL" chrome named.vgp >chrome.json
points=$(json chrome.json '(it.traceEvents ?? it).filter((e) => e.ph === "C" && e.name.startsWith("page-faults, ")).length')
[ "$points" -ge 10 ] || [ "$points" -ge $((counts / 2)) ] || fail "chrome has no track: $points points"
! "$VGTOOL" report --counter cycles named.vgp 2>log || fail "it has no cycles"
grep -q 'named.vgp: has no counter cycles: it has page-faults, context-switches, task-clock$' log ||
	fail "report does not say what it has"

# ---- a thread that executes a program becomes the first one ----
timeout 60 "$VIGNETTED" -o exec.vgp --rate 199 --counter page-faults,cs -- ./pages again 2>log || fail "exec"
between "$(counted exec.vgp page-faults)" 3500 4500 "page faults behind an execve"

# ---- what cannot be counted ----
refuses 'there is no counter page-fault: ' "$VIGNETTED" -o no.vgp --counter page-fault -- ./pages
refuses 'the counter faults is named twice' "$VIGNETTED" -o no.vgp --counter page-faults,faults -- ./pages
refuses 'more than 4 counters' "$VIGNETTED" -o no.vgp --counter cs,faults,migrations \
	--counter task-clock,minor-faults -- ./pages
refuses 'cannot be counted in 1 thread: that takes 4 descriptors, and the helper has 3 for it$' \
	sh -c 'ulimit -n 15; exec "$@"' - "$VIGNETTED" -o no.vgp --counter faults,task-clock,cs,minor-faults \
	-- ./pages

# What was counted since the latest sample of a process that ends is told at its end.
"$VIGNETTED" --rate 1 -o seldom.vgp --counter page-faults -- ./pages 2>log || fail "page-faults, seldom"
between "$(counted seldom.vgp page-faults)" 3500 4500 "page faults, seldom sampled"

# Nobody special: the level decides.
if [ "$(id -u)" = 0 ]; then
	mkdir -m 777 open
	as_nobody() {
		(cd open && timeout 60 setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
			--bounding-set=-all "$VIGNETTED" -o no.vgp "$@" -- ../pages 2>../log)
	}
	rc=0
	as_nobody --counter context-switches || rc=$?
	if [ "$paranoid" -gt 1 ]; then
		[ $rc != 0 ] || fail "nobody counts context switches, at level $paranoid"
		grep -q "^vignetted: context-switches cannot be counted: kernel.perf_event_paranoid is $paranoid" log ||
			fail "context-switches at level $paranoid"
		! as_nobody --counter page-faults || fail "nobody counts the kernel's page faults"
	else
		[ $rc = 0 ] || fail "context-switches at level $paranoid"
	fi
	if [ "$paranoid" = 2 ]; then
		grep -q 'allowed would be page-faults:u$' log || fail "no hint"
	fi
	if [ "$paranoid" -le 2 ]; then
		as_nobody --counter page-faults:u,task-clock || fail "page-faults:u at level $paranoid"
		between "$(counted open/no.vgp page-faults:u)" 4000 4400 "nobody's page faults"
	fi
fi

# ---- from outside, in a session that begins when the helper is confined ----
mkfifo in
: >out
timeout 100 "$BUILDDIR/tests/recording/sessions" "$dir/run" 0 own.vgp <in >out 2>&1 7>&- &
exec 7>in
await 20 "the program listens" grep -qx "listen ok" out
host=$(basename run/*.sock .sock)
vgctl() { timeout 60 "$VGCTL" --directory run "$@"; }
rc=0
vgctl begin "$host" -o no.vgp --counter nonsense 2>log || rc=$?
[ $rc = 2 ] || fail "nonsense is not refused: $rc"
vgctl begin "$host" -o outside.vgp --counter task-clock --counter page-faults:u >log || fail "begin"
vgctl begin "$host" -o other.vgp --counter context-switches >log || fail "a second begin"
sleep 1                                         # it computes
vgctl end "$host" 1 >log || fail "end"
sleep 0.3                                       # it computes
vgctl end "$host" 2 >log || fail "end of the second"
clock=$(counted outside.vgp task-clock)
cpu=$("$VGTOOL" report --json --counter task-clock outside.vgp | json - it.cpu_ns)
# The counter and the samples begin and end up to one step apart.
step=$(step outside.vgp 0)
between "$clock" $((cpu * 8 / 10 - 20000000 - 2 * step)) $((cpu * 12 / 10 + 20000000 + 2 * step)) \
	"task-clock beside the samples' CPU time"
"$VGTOOL" info other.vgp | grep -q '^counters  *context-switches$' || fail "the second session's"
# What this machine's processor does not count is refused from outside too, and the helper goes on.
if ! vgctl begin "$host" -o no.vgp --counter instructions:u >/dev/null 2>log; then
	grep -q 'instructions:u cannot be counted: ' log || fail "no reason"
	[ ! -e no.vgp ] && [ ! -e no.vgp.part ] || fail "a file is left"
fi
vgctl list | grep -q "^$host " || fail "the helper is gone"
