#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Perf counters, from the command line to the views; in remote recordings; without privileges and with few descriptors.
# TIMING: the counts of the functions are within fixed bounds, which hold on a machine that is not busy.
set -eu
: "${VGCTL:?}" "${CC:?}"
. "${SRCDIR:?}/tests/lib.sh"
needs node
SRCDIR=$(cd "$SRCDIR" && pwd)
chmod 755 "$dir"
cd "$dir"

# The listening program ends when its input ends, and its helper then ends, too.
host=
at_end() {
	exec 7>&-
	[ -z "$host" ] || (await 120 "the listening program ends" exited $host)
}

# between VALUE LEAST MOST WHAT
between() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ] || fail "$4: $1 is not $2 to $3"; }

# refuses MESSAGE COMMAND...: the command fails with that message and leaves no file
refuses() {
	message=$1
	shift
	! timeout $life_s "$@" 2>log || fail "$* has begun"
	grep -q "$message" log || fail "$* does not print: $message"
	[ ! -e no.vgp ] && [ ! -e no.vgp.part ] || fail "$* has left a file"
}

$CC -O1 -g -pthread -o pages "$SRCDIR/tests/fixtures/pages.c"
"$VGTOOL" symbols -o symbols pages >log 2>&1 || fail "symbols"
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)

# step PROFILE INDEX: prints the largest difference between two successive reads of a counter.  INDEX is the counter's
# index in the header.
step() {
	"$VGTOOL" dump "$1" | sed -n '/"kind":"perf_counters"/s/.*"values":\[\([0-9,]*\)\].*/\1/p' |
		cut -d , -f $(($2 + 1)) | sort -n | tail -n 1
}

# ---- functions by counter: one touches 4000 pages, another spins for 200 ms ----
# A count between two reads is attributed to the functions that were sampled between them, and a read is later than its
# sample.  So the begin and the end of a function shift by a step.  Steps are small if the helper gets enough CPU time.
# tests/unit/check_counters.c has exact counts, between readings that it asks for.
small_steps() {
	some_recorded -o all.vgp --rate 199 --counter page-faults --counter cs,task-clock -- ./pages &&
		[ "$(step all.vgp 0)" -le 1000 ] && [ "$(step all.vgp 2)" -le 80000000 ]
}
if ! timeout $life_s "$VIGNETTED" -o all.vgp --rate 199 --counter page-faults --counter cs,task-clock -- true 2>log &&
	grep -q 'cannot be counted: ' log; then
	# This machine allows no perf counters: only the message is tested.
	[ ! -e all.vgp ] || fail "a profile without its counters"
	exit 0
fi
again "steps of at most 1000 page faults and 80 ms" small_steps
"$VGTOOL" resolve -s symbols -o named.vgp all.vgp 2>log || fail "resolve"
"$VGTOOL" info named.vgp | grep -q '^counters  *page-faults, context-switches, task-clock$' ||
	fail "vgtool info does not name the counters"
[ "$(info named.vgp counters)" = '["page-faults","context-switches","task-clock"]' ] || fail "info --json"
counts=$(records named.vgp 'it.filter((r) => r.kind === "perf_counters" && r.thread === 0 && r.after_us >= 0 &&
	r.values.length === 3 && r.values.every((value) => value >= 0)).length')
[ "$counts" -ge 1 ] || fail "dump has no perf_counters records"

# self COUNTER FUNCTION: prints the function's own count in the report
self() {
	"$VGTOOL" report --json --counter "$1" named.vgp |
		sed -n "/^{\"name\":\"$2\",/{s/.*\"self\":\([0-9]*\),.*/\1/p;q}" | grep . || echo 0
}

# total PROFILE COUNTER: prints the report's sum of the counter over all functions
total() { "$VGTOOL" report --json --counter "$2" "$1" | sed -n '1s/.*"counter_total":\([0-9]*\),.*/\1/p'; }

between "$(total named.vgp page-faults)" 4000 4400 "page faults; reads: $(records named.vgp 'it.filter((r) =>
	r.kind === "perf_counters").map((r) => r.thread + ":" + r.values[0]).join(" ")') $(info named.vgp lost) $(cat log.recorded)"
faults=$(self page-faults touch) clock=$(self task-clock spin)
echo "$faults page faults of touch, $clock ns of spin; $counts reads, steps up to $(step named.vgp 0) page faults"
[ "$faults" -ge 2000 ] || fail "expected 2000 page faults in touch or more, got $faults"
[ "$clock" -gt 20000000 ] || fail "expected more than 20 ms of task-clock in spin, got $clock ns"
if [ -n "${TIMING-}" ]; then
	between "$faults" 3200 5200 "page faults of touch"
	between "$clock" 145000000 650000000 "nanoseconds of spin"
	"$VGTOOL" report --counter page-faults named.vgp >report
	[ "$(awk '/%/ { print $NF == "[pages]" ? $(NF - 1) : $NF; exit }' report)" = touch ] ||
		fail "touch is not the first: $(cat report)"
fi
[ "$(total named.vgp cs)" = "$(total named.vgp context-switches)" ] ||
	fail "report does not know the counter by the name of the command line"
"$VGTOOL" report --by interval --counter faults named.vgp | grep -q 'no interval' ||
	fail "report --by interval has no row 'no interval'"
[ "$("$VGTOOL" report --by interval --json --counter faults named.vgp | json - it.counter_total)" = \
	"$(total named.vgp page-faults)" ] || fail "report --by interval --json has another sum"
"$VGTOOL" chrome named.vgp >chrome.json
points=$(json chrome.json '(it.traceEvents ?? it).filter((e) => e.ph === "C" && e.name.startsWith("page-faults, ")).length')
[ "$points" -ge 10 ] || [ "$points" -ge $((counts / 2)) ] || fail "chrome has no track of the counter: $points points"
! "$VGTOOL" report --counter cycles named.vgp 2>log || fail "report of a counter that was not recorded"
grep -q 'named.vgp: no perf counter cycles; it was recorded with page-faults, context-switches, task-clock$' log ||
	fail "report does not name the recorded counters"

# ---- a thread that executes a program becomes the first thread ----
# The counters of the first thread open again with its next sample.  If the helper has no CPU until then, page faults are
# missing.
execve_counted() {
	some_recorded -o exec.vgp --rate 199 --counter page-faults,cs -- ./pages again || return 1
	faults=$(total exec.vgp page-faults)
	[ "$faults" -ge 3500 ] && [ "$faults" -le 4500 ]
}
again "3500 to 4500 page faults with an execve" execve_counted

# ---- counters that are refused ----
refuses 'counter page-fault: unknown name' "$VIGNETTED" -o no.vgp --counter page-fault -- ./pages
refuses 'counter faults: it is named twice' "$VIGNETTED" -o no.vgp --counter page-faults,faults -- ./pages
refuses 'counter minor-faults: it is one too many; use at most 4' "$VIGNETTED" -o no.vgp --counter cs,faults,migrations \
	--counter task-clock,minor-faults -- ./pages
refuses 'cannot be counted in 1 thread: that needs 4 descriptors, and 3 are available ' \
	sh -c 'ulimit -n 15; exec "$@"' - "$VIGNETTED" -o no.vgp --counter faults,task-clock,cs,minor-faults \
	-- ./pages

# When a process ends, the counts since its latest sample are written.
recorded --rate 1 -o seldom.vgp --counter page-faults -- ./pages
between "$(total seldom.vgp page-faults)" 3500 4500 "page faults in a recording with few samples"

# Without privileges, the setting kernel.perf_event_paranoid decides what may be counted.
if [ "$(id -u)" = 0 ]; then
	mkdir -m 777 open
	as_nobody() {
		(cd open && timeout $life_s setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
			--bounding-set=-all "$VIGNETTED" -o no.vgp "$@" -- ../pages 2>../log)
	}
	rc=0
	as_nobody --counter context-switches || rc=$?
	if [ "$paranoid" -gt 1 ]; then
		[ $rc != 0 ] || fail "the user nobody counts context switches at level $paranoid"
		grep -q "^vignetted: context-switches cannot be counted: kernel.perf_event_paranoid is $paranoid" log ||
			fail "no message about the level $paranoid"
		! as_nobody --counter page-faults || fail "the user nobody counts the kernel's page faults"
	else
		[ $rc = 0 ] || fail "context-switches are refused at level $paranoid"
	fi
	if [ "$paranoid" = 2 ]; then
		grep -q '; use page-faults:u$' log || fail "the message has no hint"
	fi
	if [ "$paranoid" -le 2 ]; then
		as_nobody --counter page-faults:u,task-clock || fail "page-faults:u is refused at level $paranoid"
		between "$(total open/no.vgp page-faults:u)" 4000 4400 "nobody's page faults"
	fi
fi

# ---- remote recordings, which begin after the helper was confined ----
mkfifo in
: >out
timeout $life_s "$BUILDDIR/tests/recording/sessions" "$dir/run" 0 own.vgp <in >out 2>&1 7>&- &
exec 7>in
await 120 "the program listens" grep -qx "listen ok" out
host=$(basename run/*.sock .sock)
vgctl() { timeout $life_s "$VGCTL" --directory run "$@"; }
rc=0
vgctl begin "$host" -o no.vgp --counter nonsense 2>log || rc=$?
[ $rc = 2 ] || fail "vgctl begin with an unknown counter: status $rc"
vgctl begin "$host" -o remote.vgp --counter task-clock --counter page-faults:u >log || fail "the first begin failed"
vgctl begin "$host" -o other.vgp --counter context-switches >log || fail "the second begin failed"
before=$(used_ms "$host")
await 120 "the program runs" worked "$host" $((before + 500))
vgctl end "$host" 1 >log || fail "the first end failed"
await 120 "the program runs" worked "$host" $((before + 600))
vgctl end "$host" 2 >log || fail "the second end failed"
clock=$(total remote.vgp task-clock)
cpu=$("$VGTOOL" report --json --counter task-clock remote.vgp | sed -n '1s/.*"cpu_ns":\([0-9]*\),.*/\1/p')
# The counter's time and the samples' time begin and end up to one step apart.
step=$(step remote.vgp 0)
between "$clock" $((cpu * 8 / 10 - 20000000 - 2 * step)) $((cpu * 12 / 10 + 20000000 + 2 * step)) \
	"task-clock compared with the samples' CPU time"
[ "$clock" -gt 0 ] || fail "the counter task-clock is 0"
"$VGTOOL" info other.vgp | grep -q '^counters  *context-switches$' || fail "other.vgp has another counter"
# A counter that this CPU does not have is refused in a remote recording, too, and the helper continues.
if ! vgctl begin "$host" -o no.vgp --counter instructions:u >/dev/null 2>log; then
	grep -q 'instructions:u cannot be counted: ' log || fail "no reason for instructions:u"
	[ ! -e no.vgp ] && [ ! -e no.vgp.part ] || fail "a file is left"
fi
vgctl status "$host" >status || fail "the helper has ended"
