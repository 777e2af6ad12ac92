#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Views of several profiles, or of a directory of profiles, as one.  Two programs are recorded one after the other.  The
# sums of the merged profile are those of the two profiles, and the views keep the processes apart.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node
. "$SRCDIR/tests/views/recorded.sh"
cd "$dir"

# Both programs have a function work(), and print their pid.
cat >program.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline, noclone)) static void work(long n)
{
	static volatile unsigned sum; for (long i = 0; i < n; i++) sum += sum >> 3;
}
int main(int argc, char **argv)
{
	printf("pid %d\n", (int)getpid());
	fflush(stdout);
	work(50000000 * atol(argv[argc - 1]));
	return 0;
}
END
mkdir both
for name in alpha beta; do
	$CC -g -O1 -Wl,--build-id=sha1 -o $name program.c
	record_until 20 both/$name.vgp ./$name --rate 500
	sed -n 's/^pid //p' log.recorded >$name.pid
	"$VGTOOL" report --json both/$name.vgp >$name.json
done
alpha=$(cat alpha.pid) beta=$(cat beta.pid)

# sums JSON...: prints the sums over the reports: samples, wall time, CPU time and the self time of work()
sums() {
	node -e 'const reports = process.argv.slice(1).map((name) => JSON.parse(require("fs").readFileSync(name)));
		const work = (it) => it.functions.filter((row) => row.name === "work").reduce((sum, row) => sum + row.self_ns, 0);
		const values = (it) => [it.samples, it.wall_ns, it.cpu_ns, it.functions ? work(it) : 0];
		console.log(values(reports[0]).map((value, i) => reports.reduce((sum, it) => sum + values(it)[i], 0)).join(" "));
	' "$@"
}
both=$(sums alpha.json beta.json)
# same JSON: fails unless the sums of a report are those of the two profiles
same() {
	[ "$(sums "$1")" = "$both" ] || fail "$1: samples, times and work() are $(sums "$1"), not $both: $(cat "$1")"
}

# ---- report ----
"$VGTOOL" report --json both >directory.json
same directory.json
"$VGTOOL" report --json both/alpha.vgp both/beta.vgp >files.json
cmp directory.json files.json || fail "a directory and its files have different reports"
"$VGTOOL" report --json --by process both >processes.json
[ "$(sums processes.json)" = "${both% *} 0" ] || fail "the processes have $(sums processes.json), not $both"
[ "$(json processes.json 'it.processes.map((row) => row.name + row.pid).sort().join()')" = "alpha$alpha,beta$beta" ] ||
	fail "not the processes alpha $alpha and beta $beta: $(cat processes.json)"
[ "$(json processes.json 'it.processes.find((row) => row.name === "alpha").cpu_ns')" = \
	"$(json alpha.json it.cpu_ns)" ] ||
	fail "alpha does not have its own CPU time: $(cat processes.json)"
"$VGTOOL" report --json --thread "$beta" both >thread.json
[ "$(json thread.json 'it.cpu_ns + it.threads[0].process')" = "$(json beta.json it.cpu_ns)beta" ] ||
	fail "--thread $beta: $(cat thread.json)"
exits 0 "$VGTOOL" report both
has out 'alpha and others: 2 processes, '
has out "thread $beta [beta]: "
exits 0 "$VGTOOL" report --by process both
has out "  $alpha alpha"
has out "  $beta beta"
exits 0 "$VGTOOL" report --by process both/beta.vgp
has out "  $beta beta"

# ---- the other views ----
cat >lines.awk <<'END'
{ value = $NF; sub(/ [^ ]*$/, ""); sums[$0] += value } END { for (line in sums) print line, sums[line] }
END
"$VGTOOL" folded both | awk -f lines.awk | sort >merged
for name in alpha beta; do "$VGTOOL" folded both/$name.vgp; done | awk -f lines.awk | sort >summed
# The numbers can differ, because the lines of each file are rounded to microseconds.
[ "$(sed 's/ [0-9]*$//' merged)" = "$(sed 's/ [0-9]*$//' summed)" ] ||
	fail "folded: other stacks: $(diff merged summed)"
"$VGTOOL" folded --threads both >threads
grep -q "^alpha $alpha: " threads && grep -q "^beta $beta: " threads || fail "folded --threads: $(head -n 3 threads)"

"$VGTOOL" chrome both >chrome.json
[ "$(json chrome.json 'it.traceEvents.filter((event) => event.name === "process_name")
	.map((event) => event.args.name + event.pid).join()')" = "alpha$alpha,beta$beta" ] || fail "chrome: processes"
# beta was recorded after alpha, so its samples are later.
[ "$(json chrome.json "Math.max(...it.samples.filter((sample) => sample.tid === $alpha).map((sample) => sample.ts)) <
	Math.min(...it.samples.filter((sample) => sample.tid === $beta).map((sample) => sample.ts))")" = true ] ||
	fail "chrome: the samples of alpha are not before those of beta"
"$VGTOOL" speedscope both >speedscope.json
json speedscope.json 'it.profiles.map((profile) => profile.name).join()' >names
grep -q "alpha $alpha: .*,beta $beta: .*,all threads$" names || fail "speedscope: $(cat names)"
[ "$(json speedscope.json 'it.profiles.filter((profile) => profile.type === "sampled")
	.reduce((sum, profile) => sum + (profile.name === "all threads" ? -1 : 1) * profile.endValue, 0)')" = 0 ] ||
	fail "speedscope: the time of all threads is not the sum of the threads' times"

# process_names OPTION...: prints the names of the processes in the trace
process_names() {
	"$VGTOOL" chrome "$@" >named.json
	json named.json 'it.traceEvents.filter((event) => event.name === "process_name")
		.map((event) => event.args.name).join()'
}
[ "$(process_names --name 'a=b c' both/alpha.vgp both/beta.vgp)" = 'a=b c,beta' ] || fail "--name: one of two profiles"
[ "$(process_names --name one both/beta.vgp --name two both/alpha.vgp)" = one,two ] || fail "--name: two profiles"
[ "$(process_names --name all both)" = all,all ] || fail "--name: a directory"
[ "$(process_names --name alone both/beta.vgp)" = alone ] || fail "--name: one profile"
"$VGTOOL" speedscope --name one --name two both/alpha.vgp both/beta.vgp >speedscope.json
json speedscope.json '[it.name, ...it.profiles.map((profile) => profile.name)].join()' >names
grep -q "^one and others,one $alpha: .*,two $beta: " names || fail "speedscope --name: $(cat names)"
exits 2 "$VGTOOL" chrome --name one --name two both
has err '--name: more names (2) than profiles (1)'
exits 2 "$VGTOOL" chrome --name '' both

exits 0 "$VGTOOL" annotate work both
has out 'work [alpha]: '
has out 'work [beta]: '
[ "$(info both processes)" = 2 ] && [ "$(info both samples)" = "${both%% *}" ] || fail "info: $("$VGTOOL" info both)"
exits 0 "$VGTOOL" info both
has out 'processes      2'
exits 0 "$VGTOOL" summary both

# ---- profiles that were resolved, and profiles that were not ----
"$VGTOOL" symbols -o store alpha beta >/dev/null
mkdir mixed elsewhere
"$VGTOOL" resolve -s store -o mixed/alpha.vgp both/alpha.vgp 2>err
cp both/beta.vgp mixed
(cd elsewhere && exits 0 "$VGTOOL" report --json -s ../store ../mixed)
[ "$(sums out)" = "$both" ] || fail "a resolved and an unresolved profile: $(cat out)"

# ---- files that cannot be read or merged ----
cp both/alpha.vgp mixed
echo rubbish >mixed/rubbish.vgp
exits 0 "$VGTOOL" report --json mixed
has err 'mixed/rubbish.vgp: not a profile'
cmp out directory.json || fail "a file that is no profile changes the report"
exits 1 "$VGTOOL" report mixed/alpha.vgp mixed/rubbish.vgp
has err 'mixed/rubbish.vgp: not a profile'
rm mixed/rubbish.vgp mixed/beta.vgp
# A pipe of a directory must not be opened: that would wait for a writer.
mkfifo mixed/pipe.vgp
record_until 1 mixed/cpu.vgp ./beta --mode cpu
exits 1 "$VGTOOL" report mixed
has err 'mixed/cpu.vgp: its mode is cpu, but that of mixed/alpha.vgp is wall'
exits 1 "$VGTOOL" report elsewhere
has err 'elsewhere: no profiles in this directory; their names end with .vgp'
exits 1 "$VGTOOL" report both nowhere.vgp
has err 'nowhere.vgp: cannot open'
exits 2 "$VGTOOL" report
exits 1 "$VGTOOL" dump both
has err 'both: is a directory; this command reads files'
mkdir many
i=0
while [ $i -le 4096 ]; do : >many/$i.vgp; i=$((i + 1)); done
exits 1 "$VGTOOL" report many
has err 'many: more than 4096 profiles'
