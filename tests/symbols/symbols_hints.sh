#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# What vgtool says when it has no symbols, or too few: a stripped file, another build.  If a file has only
# Go's build id, the recorder and vgtool must make the same id for the file.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node
cd "$dir"
cat >work.c <<'END'
#include <time.h>
int exported(int n) { volatile int i; for (i = 0; i < n; i++) ; return i; }
static __attribute__((noinline)) int hidden(int n) { volatile int i; for (i = 0; i < n; i++) ; return i; }
int main(void)
{
	for (clock_t end = clock() + CLOCKS_PER_SEC / 5; clock() < end;)
		exported(10000), hidden(10000);
	return 0;
}
END
# note TEXT: prints a note as Go's linker writes it into .note.go.buildid
note() {
	printf "\\004\\000\\000\\000\\$(printf %03o ${#1})\\000\\000\\000\\004\\000\\000\\000Go\\000\\000%s" "$1"
}
cc -g -O1 -rdynamic -Wl,--build-id=none -o plain work.c
note abcDEF/ghi123/jkl456/mno789x >first.note
note abcDEF/ghi123/jkl999/mno789x >second.note
mkdir first second
for build in first second; do
	objcopy --add-section .note.go.buildid=$build.note --set-section-flags .note.go.buildid=readonly plain \
		$build/program
	readelf -SW $build/program | grep -q 'note.go.buildid *NOTE' || fail "objcopy made no note section"
done

# ---- Go's build id ----
recorded --rate 997 -o a.vgp -- first/program
"$VGTOOL" symbols -o store first/program >log
for store in store first; do
	"$VGTOOL" resolve -s $store -o named.vgp a.vgp 2>log || fail "resolve: $(cat log)"
	! grep -q 'program: no symbols' log || fail "resolve from $store: $(cat log)"
	"$VGTOOL" report named.vgp | grep -q hidden || fail "no name from $store: $("$VGTOOL" report named.vgp)"
done
# Both programs have the same .text.
"$VGTOOL" symbols -o other second/program >log
[ "$(ls store/program)" != "$(ls other/program)" ] || fail "two builds have one id"

# ---- another build ----
sentence='program: symbols of another build ([0-9A-F]*) are in the store; build id [0-9a-f]* is needed$'
! "$VGTOOL" missing -s other a.vgp >out 2>log || fail "missing succeeds"
grep -q "^vgtool missing: $sentence" log || fail "missing, another build: $(cat log)"
"$VGTOOL" resolve -s other -o none.vgp a.vgp 2>log || fail "resolve: $(cat log)"
grep -q "^vgtool resolve: $sentence" log || fail "resolve, another build: $(cat log)"
"$VGTOOL" resolve -s second -o none.vgp a.vgp 2>log || fail "resolve: $(cat log)"
grep -q 'program: second/program is another build; build id [0-9a-f]* is needed$' log || fail "resolve: $(cat log)"
! "$VGTOOL" missing -s first a.vgp >out 2>log || true
! grep -q 'another build' log || fail "the right build is called another one: $(cat log)"

# ---- a stripped file ----
mkdir stripped
objcopy -S first/program stripped/program
"$VGTOOL" symbols -o bare stripped/program >out 2>log || fail "symbols: $(cat log)"
grep -qE '^vgtool symbols: stripped/program: stripped: [1-9][0-9]* functions from its dynamic symbol table; ' log ||
	fail "symbols of a stripped file: $(cat log)"
grep -q '^INFO STRIPPED$' bare/program/*/program.sym || fail "the symbol file does not say that the file is stripped"
! grep -rq 'INFO STRIPPED' store || fail "an unstripped file is called stripped"
for store in bare stripped; do
	"$VGTOOL" missing -s $store a.vgp >out 2>log || true
	! grep -q ' program ' out || fail "vgtool missing -s $store: $(cat out)"
	grep -qE \
		'^vgtool missing: program: names only of exported functions: its file is stripped; the module is in [0-9]+ sample' \
		log || fail "vgtool missing -s $store: $(cat log)"
	"$VGTOOL" missing --json -s $store a.vgp 2>log | json - 'it.exported_only[0]' | grep -qx program ||
		fail "missing --json"
	"$VGTOOL" resolve -s $store -o bare.vgp a.vgp 2>log || fail "resolve: $(cat log)"
	grep -q '1 of these modules has names only of exported functions: it is stripped$' log ||
		fail "resolve: $(cat log)"
	"$VGTOOL" report bare.vgp | grep -q exported || fail "no exported name from $store"
done
