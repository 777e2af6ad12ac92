#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Views of vgtool report on a program whose structure is known.  Trees, callers and callees agree with this structure.
# The test also checks filters, rows of each kind, the width of lines, colours and the pager.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node script strace
. "$SRCDIR/tests/views/recorded.sh"
cd "$dir"
unset COLUMNS NO_COLOR PAGER || true

# The main thread runs work() below parse() and print(), and below nest(), which calls itself four times.  Two
# other threads sleep.  The loop in work() is in line 10.
cat >program.c <<'END'
#include <pthread.h>
#include <unistd.h>

static volatile unsigned sum;
#define CODE __attribute__((noinline, noclone)) static void
#define NO_TAIL_CALL __asm__ volatile("")

CODE work(long n)
{
	for (long i = 0; i < n; i++) sum += sum >> 3;
}
CODE parse_a_number_with_a_name_that_is_much_longer_than_what_fits_into_a_narrow_terminal(void) { work(300000); NO_TAIL_CALL; }
CODE parse(void) { parse_a_number_with_a_name_that_is_much_longer_than_what_fits_into_a_narrow_terminal(); NO_TAIL_CALL; }
CODE print(void) { work(200000); NO_TAIL_CALL; }
CODE nest(int depth)
{
	if (depth > 0)
		nest(depth - 1);
	else
		work(100000);
	NO_TAIL_CALL;
}
static void *sleeper(void *unused)
{
	for (;;)
		sleep(1000);
	return unused;
}
int main(void)
{
	pthread_t threads[2];

	/* With two sleepers the threads wait for at least two thirds of the time.  The loop makes no system call, so
	 * all CPU time is work()'s. */
	for (int i = 0; i < 2; i++) {
		pthread_create(&threads[i], NULL, sleeper, NULL);
		pthread_setname_np(threads[i], "sleeper");
	}
	for (;;) {
		parse();
		print();
		nest(4);
	}
}
END
$CC -D_GNU_SOURCE -g -O1 -pthread -Wl,--build-id=sha1 -o program program.c
"$VGTOOL" symbols -o store program >/dev/null
long=parse_a_number_with_a_name_that_is_much_longer_than_what_fits_into_a_narrow_terminal

./program & program=$!
pids="$pids $program"
# The sleepers use no CPU time once they sleep.
asleep() {
	[ "$(cat /proc/$program/task/*/comm | grep -cx sleeper)" = 2 ] &&
		[ "$(cat /proc/$program/task/*/stat | grep -c '(sleeper) S')" = 2 ]
}
await 120 "the two sleepers sleep" asleep
# parse() has a half of the time, and nest() a sixth.  With 350 samples their shares are outside of the bounds below with
# probabilities of 6e-13 (parse below 30 % or above 70 %), 2e-10 (nest below 5 %) and 1e-15 (nest above 35 %), by
# Chernoff's bound.
duration=1
enough() {
	"$VIGNETTED" --capture "$(build_capture)" --budget 0 --thread-names --rate 1999 --duration $duration -o raw.vgp \
		--pid $program 2>err || fail "$(cat err)"
	duration=$((2 * duration))
	[ "$(effective raw.vgp)" -ge 350 ]
}
again "350 samples on a CPU" enough
"$VGTOOL" resolve -s store -o named.vgp raw.vgp 2>/dev/null
"$VGTOOL" report --json --weight cpu named.vgp >report
end $program

# ---- the structure ----

# view EXPRESSION ARGUMENT...: the expression is true; `it` is the JSON of `vgtool report --weight cpu ARGUMENT...`, and
# `rows` its rows.  The function row(NAME) returns the first row of that name, and above(ROW) the ROW's parent in the
# tree.  judged() judges all of them.
mkdir views
view() {
	view=views/$(($(ls views | wc -l) / 2))
	echo "$1" >$view.expression
	shift
	echo "$*" >>$view.expression
	"$VGTOOL" report --json --weight cpu "$@" "${profile:-named.vgp}" >$view.json || fail "report $*"
}
judged() {
	node -e 'const { readFileSync, existsSync } = require("fs"), text = (name) => readFileSync(name, "utf8");
		for (let i = 0; existsSync(`views/${i}.json`); i++) {
			const it = JSON.parse(text(`views/${i}.json`));
			const rows = it.rows ?? it.functions ?? it.lines ?? it.modules ?? it.files ?? it.threads;
			const row = (name) => rows.find((entry) => entry.name === name);
			const above = (entry) => rows.slice(0, rows.indexOf(entry)).findLast((other) => other.depth < entry.depth);
			const [, expression, options] = /^(.*)\n(.*)\n$/s.exec(text(`views/${i}.expression`));
			if (eval(expression) === true)
				continue;
			console.error(`report ${options}: not true: ${expression}: ${text(`views/${i}.json`).slice(0, 3000)}`);
			process.exit(1);
		}' 2>log || fail "$(cat log)"
}
view "above(row('parse')) === row('main') && above(row('print')) === row('main') && above(row('$long')) === row('parse')" --tree
view "row('parse').total_ns > 0.3 * it.cpu_ns && row('parse').total_ns < 0.7 * it.cpu_ns" --tree
view "row('nest').total_ns > 0.05 * it.cpu_ns && row('nest').total_ns < 0.35 * it.cpu_ns" --tree
view "rows.filter((entry) => entry.name === 'nest').length === 5" --tree
view "row('main').total_ns <= it.cpu_ns && rows.every((entry) => entry.self_ns <= entry.total_ns)" --tree
# With --min 0 no row is left out.  So a row's self time and the totals of its callees add up to the row's total.
view "rows.every((entry, at) => {
		let sum = entry.self_ns;
		for (let i = at + 1; i < rows.length && rows[i].depth > entry.depth; i++)
			sum += rows[i].depth === entry.depth + 1 ? rows[i].total_ns : 0;
		return sum === entry.total_ns;
	})" --tree --min 0
view "rows.filter((entry) => entry.depth === 0)[0].name === 'work' && above(row('print')) === row('work')" --inverted
view "rows.filter((entry) => entry.depth === 1).map((entry) => entry.name).sort().join() === 'nest,$long,print'" --callers work
view "rows[1].name === 'main' && rows[1].total_ns === rows[0].total_ns && it.matches === 1" --callers nest
view "rows.map((entry) => entry.name).join() === 'nest,nest,nest,nest,nest,work'" --callees nest
view "rows[0].name === '^(print|nest)' && it.matches === 2 && rows[0].total_ns < it.cpu_ns &&
	above(row('work')) !== undefined" --callees '^(print|nest)'
view "row('work').self_ns > it.cpu_ns * 0.9 && row('nest').total_samples <= it.samples" --by function
view "row('work').line === 10 && row('work').self_ns > it.cpu_ns * 0.8" --by line
view "row('program').self_ns > it.cpu_ns * 0.8" --by module
view "rows.some((entry) => entry.name.endsWith('program.c') && entry.self_ns > it.cpu_ns * 0.8)" --by file
view "rows.length === 3 && rows[0].cpu_ns > 0 && rows[1].name === 'sleeper' && rows[2].name === 'sleeper'" --by thread

# ---- filters ----
view "row('print') === undefined && row('main').total_ns === it.cpu_ns && it.cpu_ns < it.unfiltered_ns" --match '^parse$'
view "it.cpu_ns === 0 && it.threads.length === 2" --thread sleeper
view "it.cpu_ns === it.unfiltered_ns" --on-cpu
view "it.cpu_ns === 0 && it.wall_ns > 0" --off-cpu
view "row('print').total_ns === it.cpu_ns && it.cpu_ns > 0" --on-cpu --match print
view "it.wall_ns + JSON.parse(text(\`views/\${i + 1}.json\`)).wall_ns === JSON.parse(text('report')).wall_ns" --time ..0.5
view "it.wall_ns > 0" --time 0.5..
# The story of events_write.c has a sample every millisecond.  The reply is in 5 to 8 of the 10 ms of each request.
"$BUILDDIR/tests/views/events_write" story story.vgp
profile=story.vgp
view "it.wall_ns === 30e6 && row('reply_it').total_ns === 9e6" --time 0.0205..0.0505
view "it.wall_ns === 9e6 && row('reply_it').total_ns === it.cpu_ns" --time 0.0205..0.0505 --on-cpu --match reply_it
profile=
judged

exits 1 "$VGTOOL" report --match nothing_matches named.vgp
grep -q 'named.vgp: the filter leaves no samples: functions that match nothing_matches' err || fail "$(cat err)"
[ ! -s out ] || fail "a filter that leaves nothing prints $(cat out)"
exits 1 "$VGTOOL" report --thread nobody named.vgp
exits 1 "$VGTOOL" report --callers nobody named.vgp
grep -q 'no function matches nobody' err || fail "$(cat err)"
exits 1 "$VGTOOL" report --callers print --match '^nest$' named.vgp
has err 'named.vgp: --callers: no sample is in a function that matches print'
# --match knows the names that report prints, also those of modules without symbols.
mkdir empty
(cd empty && exits 0 "$VGTOOL" report --match "^.program.\$" ../raw.vgp)
for wrong in '--by name' '--time 1' '--time 2..1' '--match (' '--min 101' '--on-cpu --off-cpu' '--tree --inverted' \
	'--tree --by thread' '--limit 0'; do
	exits 2 "$VGTOOL" report $wrong named.vgp
done

# ---- text ----
"$VGTOOL" report named.vgp >text
grep -q '^not on a CPU: .*% of wall time' text || fail "two threads sleep, and no line says so: $(cat text)"
grep -q '^2 threads used no CPU time' text || fail "no line counts the threads that sleep: $(cat text)"
grep -q 'of cpu time' text || fail "two threads sleep, and the report is of wall time: $(cat text)"
grep -q "$long" text || fail "a name is cut, and the output is not a terminal"
! grep -q "$(printf '\033')" text || fail "colours, and the output is not a terminal"
"$VGTOOL" report --weight wall named.vgp | grep -q '\[clock_nanosleep\]' || fail "--weight wall shows no waiting"
"$VGTOOL" report --match '^print$' named.vgp | grep -q '^filter: functions that match ^print$: .*% of all' ||
	fail "the heading does not say the filter"
"$VGTOOL" report --callees pars named.vgp | grep -q '2 functions that match pars, added up: ' ||
	fail "the heading does not say that functions are added up"
"$VGTOOL" report --unresolved --by line raw.vgp | grep -q '^100.0% of the time is in code without source lines' ||
	fail "no sentence says that the profile has no lines"
for columns in 40 80 120; do
	for view in '' --tree --inverted '--callers work' '--callees main' '--by line' '--by file' '--by thread' \
		'--match a_very_long|parse|print|nest|work --time 0..1000 --on-cpu'; do
		COLUMNS=$columns "$VGTOOL" report $view named.vgp >text
		[ $columns = 40 ] || [ "$(wc -L <text)" -le $columns ] || fail "$view: a line of $(wc -L <text) columns: $(cat text)"
	done
	[ $columns = 120 ] || ! grep -q "$long" text || fail "in $columns columns the name is not cut"
done

# ---- a terminal ----

# terminal COMMAND: prints what the command prints on a terminal of 80 columns
terminal() { script -qec "stty columns 80 rows 24; $1" /dev/null </dev/null | tr -d '\r'; }
export TERM=xterm
terminal "PAGER='sed s/^/paged:/' '$VGTOOL' report named.vgp" >text
! grep -qv '^paged:' text || fail "a line does not come from the pager: $(cat text)"
grep -q "$(printf '\033')\[1m" text || fail "no colours on a terminal: $(cat text)"
[ "$(sed -e "s/$(printf '\033')\[[0-9]*m//g" -e 's/^paged://' text | wc -L)" -le 80 ] || fail "a line is too long: $(cat text)"
terminal "NO_COLOR=1 PAGER='sed s/^/paged:/' '$VGTOOL' report --no-pager --tree named.vgp" >text
! grep -q "paged\|$(printf '\033')" text || fail "NO_COLOR or --no-pager is ignored: $(cat text)"
[ "$(wc -L <text)" -le 80 ] || fail "a line is too long: $(cat text)"
terminal "PAGER=false '$VGTOOL' report named.vgp; echo status \$?" | grep -q 'status 0' || fail "a pager that exits early"
terminal "PAGER='cat >/dev/null' '$VGTOOL' report --match nothing named.vgp; echo status \$?" >text
grep -q 'status 1' text && grep -q 'leaves no samples' text || fail "a pager hides a failure: $(cat text)"
# The reader is confined before it opens the profile, and is not the process that executes the pager.
terminal "PAGER='cat >/dev/null' strace -f -qq -o trace -e trace=openat,execve,seccomp '$VGTOOL' report named.vgp" >/dev/null
reader=$(sed -n 's/^\([0-9]*\) .*"[^"]*named.vgp".*O_RDONLY.*/\1/p' trace | tail -n 1)
[ -n "$reader" ] || fail "no process opens the profile: $(cat trace)"
! grep "^$reader .*execve" trace || fail "the reader executes a program"
[ -n "${SANITIZE-}" ] || grep -q "^$reader .*seccomp(SECCOMP_SET_MODE_FILTER" trace || fail "the reader is not confined"
