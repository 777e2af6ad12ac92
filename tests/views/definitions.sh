#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What the views count, where profilers differ.  An inlined function counts as a function.  Its time is in total, and
# not in self, of the function that contains it.  Total counts a recursive function once per sample.  A function that
# ends in a tail call is not in the stacks below that call.  A function of a static library belongs to the program.  The
# lines of a function add up to the function.  bench/views.sh compares the same views with perf.
#
# Frames that were found by instructions are counted, and --no-instruction-frames removes them and their callers from
# every view.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node go
. "$SRCDIR/tests/views/recorded.sh"
export HOME="$dir" PPROF_TMPDIR="$dir"
cd "$dir"
cat >library.c <<'END_OF_SOURCE'
extern volatile unsigned sum;
void library_loop(long n)
{
	for (long i = 0; i < n; i++) sum += sum >> 7;
}
END_OF_SOURCE
cat >program.c <<'END_OF_SOURCE'
#define CODE __attribute__((noinline, noclone)) static void
#define NO_TAIL_CALL __asm__ volatile("")

#include <stdlib.h>
volatile unsigned sum;
void library_loop(long n);

static inline __attribute__((always_inline)) void inlined(long n)
{
	for (long i = 0; i < n; i++) sum += sum >> 3;
}
CODE container(void) { inlined(100000); NO_TAIL_CALL; }
CODE target(long n)
{
	for (long i = 0; i < n; i++) sum += sum >> 5;
}
CODE passes_on(long n) { target(n + 1); }
CODE caller(void) { passes_on(100000); NO_TAIL_CALL; }
CODE recursive(int depth)
{
	for (long i = 0; i < 20000; i++) sum += sum >> 9;
	if (depth > 1)
		recursive(depth - 1);
	NO_TAIL_CALL;
}
int main(int argc, char **argv)
{
	for (int i = 400 * atoi(argv[argc - 1]); i > 0; i--) {
		container();
		caller();
		recursive(5);
		library_loop(100000);
	}
}
END_OF_SOURCE
$CC -O2 -g -c library.c
ar rcs liblibrary.a library.o
$CC -O2 -g -Wl,--build-id=sha1 -o program program.c -L. -llibrary
"$VGTOOL" symbols -o store program >/dev/null
# Each of the four functions has a quarter of the time.  With 200 samples one of them has none with a probability of
# 4 * 0.75^200 = 4e-25, and none is below the outermost of five recursive calls with 0.8^200 = 4e-20.
record_until 200 raw.vgp ./program --capture "$(build_capture)" --mode cpu --rate 1999
"$VGTOOL" resolve -s store -o named.vgp raw.vgp 2>/dev/null

# Each comparison is of two views of the same samples, so that it is exact.

# view FILE ARGUMENT...: writes the JSON of the report with these options to the file
view() {
	file=$1
	shift
	"$VGTOOL" report --json "$@" named.vgp >"$file" || fail "report $*"
}
# all_true: reads lines `FILE: EXPRESSION`, and fails unless all expressions are true.  `it` is the JSON of the file,
# row(NAME) its first row of that name, sum(ROWS, NAME) the self time of the rows of that name, and other(FILE) the JSON
# of another file
all_true() {
	node -e 'const fs = require("fs"), other = (file) => JSON.parse(fs.readFileSync(file));
		const sum = (rows, name) => rows.reduce((sum, row) => sum + (row.name === name ? row.self_ns : 0), 0);
		for (const line of fs.readFileSync(0, "utf8").trim().split("\n")) {
			const [, file, expression] = /^(\w+): (.*)$/.exec(line);
			const it = other(file), rows = it.rows ?? it.functions, row = (name) => rows.find((entry) => entry.name === name);
			if (eval(expression) === true)
				continue;
			console.error(`${line}: not true: ${fs.readFileSync(file)}`);
			process.exit(1);
		}' 2>log || fail "$(cat log)"
}
view functions
view tree --tree --min 0
view lines --by line
view callers --callers target --min 0

all_true <<'END'
functions: row('container').total_ns === row('container').self_ns + row('inlined').total_ns
functions: row('inlined').self_ns > 5 * row('container').self_ns
functions: row('recursive').total_ns > 0 && row('recursive').total_ns === row('recursive').self_ns
tree: row('recursive').total_ns === sum(other('functions').functions, 'recursive')
tree: [2, 3, 4, 5].includes(rows.filter((entry) => entry.name === 'recursive').length)
callers: rows[0].name === 'target' && rows[1].name === 'caller' && row('passes_on') === undefined
callers: rows[1].total_ns === rows[0].total_ns && rows[0].total_ns > 0
functions: row('library_loop').module === 'program' && row('library_loop').self_ns > 0
functions: rows.every((entry) => entry.self_ns === sum(other('lines').lines, entry.name))
END

# ---- instruction frames: the caller of bare() has unwind information, and bare() has none ----
cat >bare.c <<'END_OF_SOURCE'
void spin(void);
void bare(long turns)
{
	for (long i = 0; i < turns; i++) {
		spin();
		__asm__ volatile("");
	}
}
END_OF_SOURCE
# The program calls bare(), and as ./both then spin(), too.
cat >calls_bare.c <<'END_OF_SOURCE'
#include <stdlib.h>
#include <string.h>
#define CODE __attribute__((noinline, noclone)) void
volatile unsigned sum;
void bare(long turns);
CODE spin(void)
{
	for (long i = 0; i < 100000; i++) sum += sum >> 7;
}
CODE above_bare(long turns) { bare(turns); __asm__ volatile(""); }
CODE above_spin(long turns)
{
	for (long i = 0; i < turns; i++) {
		spin();
		__asm__ volatile("");
	}
}
int main(int argc, char **argv)
{
	long turns = 400 * atol(argv[argc - 1]);

	above_bare(turns);
	if (strstr(argv[0], "both") != NULL)
		above_spin(turns);
	return 0;
}
END_OF_SOURCE
$CC -O2 -g -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables -c bare.c
$CC -O2 -g -Wl,--build-id=sha1 -o calls_bare calls_bare.c bare.o
"$VGTOOL" symbols -o store calls_bare >/dev/null
# recorded OUT PROGRAM: records the program
recorded() {
	record_until 100 unnamed.vgp "$2" --capture "$(build_capture)" --mode cpu --rate 1999
	"$VGTOOL" resolve -s store -o "$1" unnamed.vgp 2>/dev/null
}
# samples PATTERN FILE: prints the number of samples in those stacks of a folded file
samples() { awk -v pattern="$1" '$0 ~ pattern { sum += $NF } END { print sum + 0 }' "$2"; }
ln -s calls_bare both
recorded both.vgp ./both
"$VGTOOL" folded --weight samples both.vgp >whole
"$VGTOOL" folded --weight samples --no-instruction-frames both.vgp >short
bare=$(samples ';bare[; ]' whole) called=$(samples ';main;above_bare;bare[; ]' whole)
spin=$(samples ';main;above_spin;spin ' whole) all=$(samples . whole)
[ "$called" -gt 0 ] && [ "$spin" -gt 0 ] || fail "too few stacks: $(cat whole)"
[ "$(samples '^[^;]*;bare[; ]' short)" = "$bare" ] || fail "not all stacks end at bare(): $(cat short)"
grep -q '^\[stack incomplete: no unwind information\];bare;spin ' short || fail "no reason: $(cat short)"
[ "$(samples ';main;above_spin;spin ' short)" = "$spin" ] || fail "another stack is shorter: $(cat short)"
[ "$(samples . short)" = "$all" ] || fail "samples are missing: $(cat short)"
counted=$(info both.vgp stacks_by_instructions)
[ "$counted" -ge "$called" ] && [ "$counted" -le $((all - spin)) ] ||
	fail "$counted stacks by instructions: $(cat whole)"
"$VGTOOL" info both.vgp | grep -q "^  stacks by instructions  *$counted (" || fail "$("$VGTOOL" info both.vgp)"

# Every view.  Only stacks in bare(), because their callers are then nowhere.
recorded bare.vgp ./calls_bare
cp bare.vgp old.vgp
for command in report 'report --tree' 'report --json' folded flamegraph chrome firefox aggregate \
	'diff --by total --json old.vgp'; do
	"$VGTOOL" $command bare.vgp >made && gzip -cdf <made >whole || fail "$command"
	"$VGTOOL" $command --no-instruction-frames bare.vgp >made && gzip -cdf <made >short || fail "$command"
	grep -aq above_bare whole || fail "$command does not show the caller"
	grep -aq spin short || fail "$command shows no function"
	! grep -aq above_bare short || fail "$command shows the caller"
done
# These views list functions without samples, too.
"$VGTOOL" speedscope --no-instruction-frames bare.vgp >short
json short 'it.profiles.flatMap((one) => one.samples.flat()).map((frame) => it.shared.frames[frame].name).join()' >shown
grep -q 'bare,spin' shown && ! grep -q above_bare shown || fail "speedscope: $(cat short)"
"$VGTOOL" pprof --no-instruction-frames -o short.pb.gz bare.vgp
go tool pprof -top -nodefraction=0 short.pb.gz >short 2>err || fail "pprof: $(cat err)"
grep -q ' bare$' short && ! grep -q above_bare short || fail "pprof: $(cat short)"
"$VGTOOL" report --json --weight wall --no-instruction-frames bare.vgp >report.json
"$VGTOOL" view --no-instruction-frames bare.vgp >page.html
node "$SRCDIR/tests/views/view.mjs" judge page.html report.json >judged 2>&1 || fail "view: $(cat judged)"
"$VGTOOL" annotate above_bare bare.vgp >whole || fail "annotate"
! "$VGTOOL" annotate --no-instruction-frames above_bare bare.vgp >short 2>err || fail "annotate: $(cat short)"
grep -q above_bare err || fail "annotate: $(cat err)"
