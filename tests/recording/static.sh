#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Stacks of programs linked with -static.  These have .eh_frame and no .eh_frame_hdr, and musl and busybox have code
# without unwind information.  Each stack is right and complete, also of stripped programs, and while the program waits.
# Modules without a build id have their text id, as in `vgtool symbols`.
set -eu
: "${CC:?}"
. "${SRCDIR:?}/tests/lib.sh"
needs node "${CXX%% *}" musl-gcc busybox
cc=${CC%% *}

top=$dir
cat >"$dir/known.c" <<'END'
#include <stdio.h>
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) void leaf(long turns) { for (long i = 0; i < turns; i++) sink += i; }
__attribute__((noinline)) void f3(long turns) { leaf(turns); sink++; }
__attribute__((noinline)) void f2(long turns) { f3(turns); sink++; }
__attribute__((noinline)) void f1(long turns) { f2(turns); sink++; }
__attribute__((noinline)) void waits(void) { nanosleep(&(struct timespec){ 0, 1000000 }, NULL); sink++; }
int main(int argc, char **argv)
{
	puts(argv[0]);
	fflush(stdout);
	for (;;) {
		f1(300000);
		if (argc > 1)
			waits();
	}
}
END

cat >"$dir/throws.cc" <<'END'
#include <stdexcept>
#include <cstdio>
#include <thread>
static volatile unsigned long sink;
static void spin(long turns) { for (long i = 0; i < turns; i++) sink = sink + i; }
__attribute__((noinline)) void leaf(long turns) { spin(turns); throw std::runtime_error("leaf"); }
__attribute__((noinline)) void f3(long turns) { leaf(turns); sink = sink + 1; }
__attribute__((noinline)) void f2(long turns) { try { f3(turns); } catch (const std::exception &) { spin(turns); } }
__attribute__((noinline)) void f1(long turns) { f2(turns); sink = sink + 1; }
__attribute__((noinline)) void thread_main() { for (;;) f1(100000); }
int main(int, char **argv)
{
	std::thread other(thread_main);
	puts(argv[0]);
	fflush(stdout);
	thread_main();
}
END

shown_in=

# record CAPTURE STACKS PROGRAM [ARGUMENT...]: records at least that many stacks into $dir/out.vgp.  If $shown_in is
# set, one of them matches $shown, with that program's names.  The program prints a line when it has started.
record() {
	capture=$1 wanted=$2
	shift 2
	started "$dir/line" "$@"
	# It may still be in the write of the line.  Only its own functions use CPU time.
	await 600 "$1 uses CPU time" worked $started 50
	record_started "$@"
}
# record_started NAME...: records the program that was started as $started, and ends it
record_started() {
	# 0.15 s are enough, unless the machine is very slow or busy.
	lengthen "0.15 0.6 2.4 10 40 160" stacks_recorded ||
		fail "$*, $capture: fewer than $wanted stacks${shown_in:+, or none that matches '$shown'}: $(cat "$dir/log.recorded")"
	stopped $started
}
stacks_recorded() {
	some_recorded --pid $started --capture $capture --rate 997 --duration $long -o "$dir/out.vgp" || return 1
	"$VGTOOL" info --json "$dir/out.vgp" >"$dir/info" && [ "$(info_value stacks)" -ge $wanted ] || return 1
	[ -z "$shown_in" ] || stacks "$shown_in" | grep -q "$shown"
}

# complete WHAT SPARE PERCENT: fails if more than SPARE stacks and PERCENT of the recorded ones are incomplete
complete() {
	stacks=$(info_value stacks)
	lacking=$((stacks - $(info_value stacks_complete)))
	echo "$1: $lacking of $stacks stacks are incomplete"
	if [ $lacking -gt $(($2 + stacks * $3 / 100)) ]; then
		"$VGTOOL" dump "$dir/out.vgp" >"$dir/dump"
		fail "$1: expected at most $(($2 + stacks * $3 / 100)): $(info_value stack_ends) $(node "$SRCDIR/tests/recording/incomplete.mjs" "$dir/dump")"
	fi
}

# module_id NAME: prints the build id of a module in the profile
module_id() {
	records "$dir/out.vgp" "it.find((record) => record.kind === 'module' && record.name === '$1').build_id"
}

# stacks FILE: prints the folded stacks, with the symbols of that file
stacks() {
	store=$dir/symbols.${1##*/}
	[ -d "$store" ] || "$VGTOOL" symbols -o "$store" "$1" >"$dir/log"
	"$VGTOOL" resolve -s "$store" "$dir/out.vgp" -o "$dir/named.vgp" 2>"$dir/log"
	"$VGTOOL" folded --weight samples "$dir/named.vgp"
}

# known WHAT FILE PATTERN SOME: fails unless every stack matches, and some match SOME, too
known() {
	stacks "$2" >"$dir/folded"
	wrong=$(grep -vE "$3" "$dir/folded" || true)
	[ -z "$wrong" ] || fail "$1: stacks that the program never had: $wrong"
	grep -q "$4" "$dir/folded" || fail "$1: no stack matches $4: $(cat "$dir/folded")"
}

$cc -O2 -static "$dir/known.c" -o "$dir/glibc"
$cc -O2 -static -Wl,--build-id=none "$dir/known.c" -o "$dir/anonymous"
$CXX -O2 -static -pthread "$dir/throws.cc" -o "$dir/throws"
musl-gcc -O2 -static "$dir/known.c" -o "$dir/musl"
musl-gcc -O2 "$dir/known.c" -o "$dir/musl_dynamic"
[ -z "$(build_id "$dir/anonymous")$(build_id "$dir/musl")" ] || fail "anonymous and musl have a build id"
for file in glibc throws musl; do
	! readelf -SW "$dir/$file" | grep -q ' \.eh_frame_hdr ' || fail "$file has .eh_frame_hdr, so the test proves nothing"
	mkdir -p "$dir/stripped"
	strip -o "$dir/stripped/$file" "$dir/$file"
done

# The functions between _start and main depend on the C library.  The leaf frame may be in any function of known.c.
frames='main(;f1(;f2(;f3(;leaf)?)?)?)?(;waits(;[^;]*)*)? [0-9]+$'

# busy_and_waiting CAPTURE FILE...: records these programs of known.c, while they run and while they wait
busy_and_waiting() {
	capture=$1
	shift
	for file in "$@"; do
		record $capture 60 "$top/$file"
		complete "$file, $capture" 0 0
		known "$file, $capture" "$top/${file#stripped/}" "^_start;([^;]*;)*$frames" ';f1;f2;f3;leaf '
		shown_in=$top/${file#stripped/} shown=';waits;.*\['
		record $capture 60 "$top/$file" waits
		shown_in=
		complete "$file, which waits, $capture" 0 0
		known "$file, which waits, $capture" "$top/${file#stripped/}" "^_start;([^;]*;)*$frames" "$shown"
	done
}

# throws_and_busybox CAPTURE
throws_and_busybox() {
	# Some stacks may be incomplete: libgcc overwrites its own frame while it installs the context of an exception
	# handler (3 of 18,000 samples), and busybox has code that was written by hand (1 of 25,000).  If it were 1 of 200,
	# more than 10 + 1 % would be incomplete with a probability below 1e-9 (Poisson).
	# The other thread may have all the samples of a short recording.
	shown_in=$top/throws shown=';main;thread_main();f1(long);f2(long);f3(long);leaf(long)'
	record $1 100 "$top/stripped/throws"
	shown_in=
	complete "throws, $1" 10 1
	record $1 100 busybox sh -c 'echo begins; while :; do i=$((i + 1)); done'
	complete "busybox sh, $1" 10 1
	record $1 100 busybox awk 'BEGIN { print "begins"; fflush(); while (1) a[i++ % 1000] = substr("" i, 2) }'
	complete "busybox awk, $1" 10 1
}

# A build id in a section that no PT_NOTE segment covers, as Go's linker writes it.  Here PT_NOTE is replaced by
# PT_NULL.
id_without_segment() {
	node -e '
		const fs = require("fs"), [from, to] = process.argv.slice(1), file = fs.readFileSync(from);
		const at = Number(file.readBigUInt64LE(32)), count = file.readUInt16LE(56);
		for (let i = 0; i < count; i++)
			if (file.readUInt32LE(at + 56 * i) === 4)
				file.writeUInt32LE(0, at + 56 * i);
		fs.writeFileSync(to, file, { mode: 0o755 });' "$top/glibc" "$dir/uncovered"
	record auto 100 "$dir/uncovered"
	id=$(module_id uncovered)
	[ "$id" = "$(build_id "$top/glibc")" ] || fail "not the build id of the section, but: $id"
}

# A library without a build id gets its text id from the file at its path.  If another file has replaced
# this file since the library was loaded, the other file is not used.
library_by_path() {
	echo '__attribute__((noinline)) void library_spin(volatile long *x) { for (long i = 0; i < 300000; i++) *x += i; }' \
		>"$dir/library.c"
	cat >"$dir/user.c" <<'END'
#include <stdio.h>
void library_spin(volatile long *x);
int main(void)
{
	volatile long sink = 0;
	puts("begins");
	fflush(stdout);
	for (;;)
		library_spin(&sink);
}
END
	$cc -O2 -shared -fPIC -Wl,--build-id=none "$dir/library.c" -o "$dir/library.so"
	$cc -O2 "$dir/user.c" -o "$dir/user" "$dir/library.so" -Wl,-rpath,"$dir"
	record auto 100 "$dir/user"
	stacks "$dir/library.so" >"$dir/folded"
	grep -q ';library_spin ' "$dir/folded" || fail "library.so has no symbols: $(cat "$dir/folded")"
	started "$dir/line" "$dir/user"
	cp "$dir/library.so" "$dir/other.so"
	mv "$dir/other.so" "$dir/library.so"
	wanted=100
	record_started "$dir/user"
	id=$(module_id library.so)
	[ -z "$id" ] || fail "the id of another file: $id"
}

timers() {
	busy_and_waiting auto glibc stripped/musl
	throws_and_busybox auto
}
stops() {
	busy_and_waiting stop glibc stripped/musl
	throws_and_busybox stop
	id_without_segment
}
stops_more() {
	busy_and_waiting stop anonymous musl musl_dynamic stripped/glibc
	library_by_path
}
# More parts would take longer: a program that gets too little CPU time is recorded again, for longer.
side_by_side timers stops stops_more
