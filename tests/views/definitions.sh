#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What the views count, where profilers differ.  An inlined function counts as a function.  Its time is in total, and
# not in self, of the function that contains it.  Total counts a recursive function once per sample.  A function that
# ends in a tail call is not in the stacks below that call.  A function of a static library belongs to the program.  The
# lines of a function add up to the function.  bench/views.sh compares the same views with perf.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
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
int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		container();
		caller();
		recursive(5);
		library_loop(100000);
	}
}
END_OF_SOURCE
$CC -O2 -g -c library.c
ar rcs liblibrary.a library.o
$CC -O2 -g -DROUNDS=3000 -Wl,--build-id=sha1 -o program program.c -L. -llibrary
"$VGTOOL" symbols -o store program >/dev/null
"$VIGNETTED" --capture "$(build_capture)" --budget 0 --mode cpu --rate 999 -o raw.vgp -- ./program 2>err ||
	fail "$(cat err)"
"$VGTOOL" resolve -s store -o named.vgp raw.vgp 2>/dev/null

# Each comparison is of two views of the same samples, so that it is exact.

# view FILE ARGUMENT...: writes the JSON of the report with these options to the file
view() {
	file=$1
	shift
	"$VGTOOL" report --json "$@" named.vgp >"$file" || fail "report $*"
}
# true_in FILE EXPRESSION: fails unless the expression is true.  `it` is the JSON of the file, row(NAME) its first row
# of that name, sum(ROWS, NAME) the self time of the rows of that name, and other(FILE) the JSON of another file
true_in() {
	json "$1" "const rows = it.rows ?? it.functions;
		const row = (name) => rows.find((entry) => entry.name === name);
		const sum = (rows, name) => rows.reduce((sum, row) => sum + (row.name === name ? row.self_ns : 0), 0);
		const other = (file) => JSON.parse(require('fs').readFileSync(file));
		$2" >value
	[ "$(cat value)" = true ] || fail "$1: $2: $(cat value) $(cat "$1")"
}
view functions
view tree --tree --min 0
view lines --by line
view callers --callers target --min 0

true_in functions "row('container').total_ns === row('container').self_ns + row('inlined').total_ns"
true_in functions "row('inlined').self_ns > 5 * row('container').self_ns"
true_in functions "row('recursive').total_ns > 0 && row('recursive').total_ns === row('recursive').self_ns"
true_in tree "row('recursive').total_ns === sum(other('functions').functions, 'recursive')"
true_in tree "[2, 3, 4, 5].includes(rows.filter((entry) => entry.name === 'recursive').length)"
true_in callers "rows[0].name === 'target' && rows[1].name === 'caller' && row('passes_on') === undefined"
true_in callers "rows[1].total_ns === rows[0].total_ns && rows[0].total_ns > 0"
true_in functions "row('library_loop').module === 'program' && row('library_loop').self_ns > 0"
true_in functions "rows.every((entry) => entry.self_ns === sum(other('lines').lines, entry.name))"
