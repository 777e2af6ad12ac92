#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Symbol stores: symbols are saved in parallel and listed, missing symbols are named, and one or many profiles are
# resolved from symbol files and from binaries.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
. "$SRCDIR/tests/views/recorded.sh"
needs node strace

# --- a program with two libraries, and its profiles ---
cat >"$dir/program.c" <<'END'
#include <stdlib.h>
int work_one(int), work_two(int);
int main(int argc, char **argv)
{
	int sum = 0;

	for (int i = 0; i < (argc > 1 ? 100 * atoi(argv[1]) : 0); i++)
		sum += work_one(i) + work_two(i);
	return sum == 1;
}
END
for name in one two; do
	cat >"$dir/$name.c" <<END
static inline __attribute__((always_inline)) int inner_$name(int i)
{
	for (volatile int n = 0; n < 1200000; n++)
		i += n;
	return i;
}
int work_$name(int i);
int work_$name(int i) { return inner_$name(i); }
END
	mkdir -p "$dir/built/$name"
	$CC -O1 -g -shared -fPIC -Wl,--build-id -Wl,-soname,lib$name.so "$dir/$name.c" \
		-o "$dir/built/$name/lib$name.so"
	cp "$dir/built/$name/lib$name.so" "$dir/lib$name.so"
done
$CC -O1 -g -Wl,--build-id "$dir/program.c" -L"$dir" -lone -ltwo -Wl,-rpath,"$dir" -o "$dir/built/program"
cp "$dir/built/program" "$dir/program"
strip "$dir/program" "$dir/libone.so" "$dir/libtwo.so"

# Each library has half of the CPU time.  It has less than a tenth of 60 samples with a probability of 1e-10.
record_until 60 "$dir/a.vgp" "$dir/program" --mode cpu --rate 1999
record_until 60 "$dir/b.vgp" "$dir/program" --mode cpu --rate 1999

# --- symbols: in parallel, with ordered output, also if files fail ---
mkdir "$dir/bad"
cp -r "$dir/built" "$dir/bad/good"
head -c 3000 "$dir/built/program" >"$dir/bad/half"
echo text >"$dir/bad/text"
exits 1 "$VGTOOL" symbols -j 4 -o "$dir/store" "$dir/bad" "$dir/nowhere"
has err "bad/half"
has err "2 of 5 files failed"
has err "failed: $dir/nowhere"
[ "$(wc -l <"$dir/out")" = 3 ] || fail "not three lines: $(cat "$dir/out")"
cp "$dir/out" "$dir/first"
exits 1 "$VGTOOL" symbols -j 1 -o "$dir/store" "$dir/bad" "$dir/nowhere"
cmp "$dir/out" "$dir/first" || fail "the output with -j 1 differs"
for jobs in 0 x 1025 ''; do
	exits 2 "$VGTOOL" symbols -j "$jobs" -o "$dir/store" "$dir/built"
done
# Two runs at the same time
"$VGTOOL" symbols -o "$dir/twice" "$dir/built" >/dev/null & other=$!
pids=$other
exits 0 "$VGTOOL" symbols -o "$dir/twice" "$dir/built"
wait $other || fail "one of two runs at the same time fails"
pids=
diff -r "$dir/store" "$dir/twice" || fail "two runs at the same time make a different store"

# --- symbols: a file in which no function has a name is reported ---
echo 'int data = 1;' >"$dir/data.c"
$CC -shared -fPIC -nostdlib -Wl,--build-id "$dir/data.c" -o "$dir/libdata.so"
for nameless in program libdata.so; do
	exits 1 "$VGTOOL" symbols "$dir/$nameless"
	has err "$nameless: no function has a name"
	grep -q '^MODULE' "$dir/out" || fail "$nameless: its symbol file was not written"
done
exits 1 "$VGTOOL" symbols -o "$dir/nameless" "$dir/program" "$dir/libone.so"
has err "program: no function has a name"
has err "failed: $dir/program"
has out libone.so
mkdir "$dir/found"
cp "$dir/program" "$dir/libdata.so" "$dir/libone.so" "$dir/found"
exits 0 "$VGTOOL" symbols -o "$dir/nameless" "$dir/found"
has out "program "

# --- store: both layouts; damaged files are named ---
exits 0 "$VGTOOL" store "$dir/store"
has out "libone.so"
has out "3 symbol files"
code=$(build_id "$dir/program" | tr a-f A-F)
mkdir -p "$dir/old/program/$code"
cp "$dir"/store/program/*/program.sym "$dir/old/program/$code/"
exits 0 "$VGTOOL" store --json "$dir/store" "$dir/old"
out_holds 'it.damaged === 0'
out_holds 'it.modules.map(m => m.name).sort().join(" ") === "libone.so libtwo.so program program"'
out_holds 'it.modules.every(m => m.functions > 0 && m.lines > 0 && m.problem === null)'
out_holds 'it.modules.every(m => m.code_id.length === 40 && m.debug_id.length === 33)'
cp -r "$dir/store" "$dir/damaged"
sym=$(echo "$dir"/damaged/libone.so/*/libone.so.sym)
head -c 300 "$sym" >"$dir/cut" && mv "$dir/cut" "$sym"
echo 'FUNC zz' >>"$(echo "$dir"/damaged/libtwo.so/*/libtwo.so.sym)"
mv "$dir"/damaged/program/* "$dir/damaged/program/0000000000000000000000000000000A0"
mkdir -p "$dir/damaged/empty/0"
: >"$dir/damaged/empty/0/empty.sym"
exits 1 "$VGTOOL" store "$dir/damaged"
has err "libone.so.sym: "
has err "libtwo.so.sym: 1 damaged record"
has err "program.sym: in the wrong directory"
has err "empty.sym: empty file"
has out "4 damaged"
exits 1 "$VGTOOL" store "$dir/nowhere"
exits 1 "$VGTOOL" store "$dir/program"
has err "$dir/program"
exits 1 "$VGTOOL" store /dev/null
has err "/dev/null"
exits 2 "$VGTOOL" store
# Other directories are listed although one cannot be read.
cp -r "$dir/store" "$dir/closed"
chmod -R a+rX "$dir"
chmod 0 "$dir"/closed/libone.so/*
if [ "$(id -u)" = 0 ]; then
	exits 1 setpriv --reuid 65533 --regid 65533 --clear-groups "$VGTOOL" store "$dir/closed"
else
	exits 1 "$VGTOOL" store "$dir/closed"
fi
has err "vgtool store: $(echo "$dir"/closed/libone.so/*): cannot read"
has out libtwo.so

# --- store --prune: by age and size, the oldest first; nothing but symbol files ---
now=$(date +%s)
aged() {
	rm -rf "$dir/aged"
	cp -r "$dir/store" "$dir/aged"
	echo text >"$dir/aged/README"
	# A day has 24 hours, also if the clocks were changed.
	touch -d @$((now - 40 * 86400)) "$dir"/aged/program/*/program.sym
	touch -d @$((now - 10 * 86400)) "$dir"/aged/libone.so/*/libone.so.sym
}
left() {
	(cd "$dir/aged" && find . -name '*.sym*' | sed 's,.*/,,' | sort | tr '\n' ' ')
}
size() {
	stat -c %s "$dir"/store/"$1"/*/"$1".sym
}
for wrong in '' '--older-than 30d --json' '--max-size 1x' '--older-than never' "--max-size 1G $dir/store"; do
	exits 2 "$VGTOOL" store --prune $wrong "$dir/store"
done
exits 2 "$VGTOOL" store --max-size 1G "$dir/store"
exits 2 "$VGTOOL" store --prune --max-size 1G
for wrong in "$dir/nowhere" "$dir/program"; do
	exits 1 "$VGTOOL" store --prune --max-size 0 "$wrong"
	has err "$wrong: cannot "
done
aged
exits 0 "$VGTOOL" store --prune --older-than 30d --dry-run "$dir/aged"
has out "would remove $(echo "$dir"/aged/program/*/program.sym): "
has out ", 40 days old"
has out "would remove 1 of 3 symbol files"
[ "$(left)" = "libone.so.sym libtwo.so.sym program.sym " ] || fail "--dry-run has left $(left)"
exits 0 "$VGTOOL" store --prune --older-than 30d "$dir/aged"
has out "removed 1 of 3 symbol files"
[ "$(left)" = "libone.so.sym libtwo.so.sym " ] || fail "--older-than has left $(left)"
[ ! -e "$dir/aged/program" ] || fail "an empty directory was left"
exits 0 "$VGTOOL" store --prune --max-size $(($(size libone.so) + $(size libtwo.so))) "$dir/aged"
has out "removed 0 of 2 symbol files, 0 bytes of"
exits 0 "$VGTOOL" store --prune --max-size $(($(size libone.so) + $(size libtwo.so) - 1)) "$dir/aged"
[ "$(left)" = "libtwo.so.sym " ] || fail "--max-size has left $(left)"
aged
exits 0 "$VGTOOL" store --prune --older-than 30d --max-size 0 "$dir/aged"
[ "$(ls "$dir/aged")" = README ] || fail "left: $(ls "$dir/aged")"
# A file that another process is writing is kept.
aged
sym=$(echo "$dir"/aged/libone.so/*/libone.so.sym)
started "$dir/locked" sh -c 'exec 9>"$1"; flock 9; echo locked; exec sleep 600' sh "$sym.part"
exits 0 "$VGTOOL" store --prune --max-size 0 "$dir/aged"
[ "$(left)" = "libone.so.sym libone.so.sym.part " ] || fail "a file is being written, and left is $(left)"
stopped $started
# A symbol file is removed although there is no room for the writer's lock.
aged
# LeakSanitizer cannot trace a process that strace traces.
ASAN_OPTIONS=detect_leaks=0 exits 0 strace -qq -o "$dir/log" -P libone.so.sym.part -e trace=openat -e inject=openat:error=ENOSPC \
	"$VGTOOL" store --prune --older-than 5d "$dir/aged"
grep -q ENOSPC "$dir/log" || fail "ENOSPC was not injected: $(cat "$dir/log")"
[ "$(left)" = "libtwo.so.sym " ] || fail "without room for a lock, prune has left $(left)"
# Prunes at the same time remove no more than one of them.
mkdir "$dir/many"
for i in $(seq 300); do
	mkdir -p "$dir/many/n$i/0"
	head -c 10240 /dev/zero >"$dir/many/n$i/0/n$i.sym"
done
for other in 1 2 3; do
	"$VGTOOL" store --prune --max-size 2050K "$dir/many" >"$dir/many.$other" 2>&1 &
	pids="$pids $!"
done
for other in $pids; do wait $other || fail "one of three prunes fails: $(cat "$dir"/many.?)"; done
pids=
[ "$(ls "$dir/many" | wc -l)" = 205 ] || fail "three prunes have left $(ls "$dir/many" | wc -l) files"
# Everybody who can read the store can hold its lock.  A prune does not wait for ever.
started "$dir/locked" sh -c 'exec 9<"$1"; flock 9; echo locked; exec sleep 600' sh "$dir/many"
ASAN_OPTIONS=detect_leaks=0 exits 1 strace -f -qq -o "$dir/log" -e trace=clock_nanosleep \
	-e inject=clock_nanosleep:retval=0 "$VGTOOL" store --prune --max-size 0 "$dir/many"
[ "$(grep -c 'tv_nsec=100000000.*INJECTED' "$dir/log")" = 600 ] || fail "prune waits in another way: $(tail -n 1 "$dir/log")"
has err 'many: not pruned: for a minute, another process has held the lock of this directory'
stopped $started
# A prune that is killed leaves whole files only.  The next one removes the rest, with the .part files of killed writers.
for call in 1 2 3 4 5 6; do
	aged
	strace -qq -o "$dir/log" -e trace=unlinkat -e inject=unlinkat:signal=KILL:when=$call \
		"$VGTOOL" store --prune --max-size 0 "$dir/aged" >"$dir/out" && fail "prune was not killed" || true
	[ -e "$dir/aged/libtwo.so" ] || fail "prune was killed too late"
	exits 0 "$VGTOOL" store "$dir/aged"
	has out "; 0 damaged"
	exits 0 "$VGTOOL" store --prune --max-size 0 "$dir/aged"
	[ "$(find "$dir/aged" -type f)" = "$dir/aged/README" ] || fail "left after a kill: $(find "$dir/aged")"
done
# Symbols are saved while other processes prune.
mkdir "$dir/busy"
for other in 1 2; do
	(while [ ! -e "$dir/saved" ]; do "$VGTOOL" store --prune --max-size 0 "$dir/busy"; done) >"$dir/busy.$other" 2>&1 &
	pids="$pids $!"
done
for turn in 1 2 3 4 5 6; do
	exits 0 "$VGTOOL" symbols -o "$dir/busy" "$dir/built"
done
: >"$dir/saved"
for other in $pids; do wait $other || fail "prune fails while symbols are saved: $(cat "$dir"/busy.?)"; done
pids=
# Binaries in the same directory are found by the index, before and after.
mkdir -p "$dir/mixed/binaries"
cp -r "$dir/store/." "$dir/mixed"
cp "$dir/built/program" "$dir/mixed/binaries"
exits 0 "$VGTOOL" resolve -s "$dir/mixed" -o "$dir/before.vgp" "$dir/a.vgp"
exits 0 "$VGTOOL" store --prune --max-size 0 "$dir/mixed"
cmp "$dir/mixed/binaries/program" "$dir/built/program" || fail "prune has changed a binary"
exits 0 "$VGTOOL" resolve -s "$dir/mixed" -o "$dir/after.vgp" "$dir/a.vgp"
"$VGTOOL" report --json --unresolved "$dir/after.vgp" >"$dir/after.json"
grep -q '"main"' "$dir/after.json" || fail "the program in a pruned store is not found"
! grep -q '"work_one"' "$dir/after.json" || fail "a symbol file that was removed gives names"

# --- missing ---
mkdir "$dir/part"
cp -r "$dir/store/program" "$dir/store/libone.so" "$dir/part"
exits 1 "$VGTOOL" missing -s "$dir/part" "$dir/a.vgp" "$dir/b.vgp"
has out " libtwo.so $(build_id "$dir/libtwo.so") "
sort -c -k 2,2nr "$dir/out" || fail "not sorted by weight: $(cat "$dir/out")"
! grep -q -e libone.so -e ' program ' "$dir/out" || fail "modules with symbols are listed as missing: $(cat "$dir/out")"
exits 1 "$VGTOOL" missing --json -s "$dir/part" "$dir/a.vgp"
two='it.missing.find(m => m.name === "libtwo.so")'
out_holds "0.1 * it.samples < $two.samples && $two.samples < 0.9 * it.samples"
out_holds "$two.build_id.length === 40 && $two.debug_id.length === 33"
exits 2 "$VGTOOL" missing "$dir/a.vgp"
exits 2 "$VGTOOL" missing -s "$dir/part"
exits 1 "$VGTOOL" missing -s "$dir/part" "$dir/nowhere"
# With the system's libraries nothing is missing.
exits 0 "$VGTOOL" missing -s "$dir/store" -s /lib/x86_64-linux-gnu/libc.so.6 \
	-s /lib64/ld-linux-x86-64.so.2 "$dir/a.vgp"

# --- resolve: from symbol files, from binaries and from debug files, with equal results ---
names() {
	records "$1" 'it.filter(record => record.kind === "function").map(record => record.name).join("\n")' | sort -u
}
exits 0 "$VGTOOL" resolve -s "$dir/store" -o "$dir/sym.vgp" "$dir/a.vgp"
for name in main work_one inner_one work_two inner_two; do
	names "$dir/sym.vgp" | grep -qx $name || fail "no function $name"
done
exits 0 "$VGTOOL" resolve -s "$dir/built" -o "$dir/elf.vgp" "$dir/a.vgp"
"$VGTOOL" report --json "$dir/sym.vgp" >"$dir/sym.json"
"$VGTOOL" report --json "$dir/elf.vgp" >"$dir/elf.json"
cmp "$dir/sym.json" "$dir/elf.json" || fail "binaries give other names than their symbol files"
for name in one two; do
	place=$dir/debug/$(debug_path "$(build_id "$dir/lib$name.so")")
	mkdir -p "${place%/*}"
	objcopy --only-keep-debug "$dir/built/$name/lib$name.so" "$place"
done
exits 0 "$VGTOOL" resolve -s "$dir/debug" -s "$dir/built/program" -o "$dir/debug.vgp" "$dir/a.vgp"
"$VGTOOL" report --json "$dir/debug.vgp" >"$dir/debug.json"
cmp "$dir/sym.json" "$dir/debug.json" || fail "debug files give other names than symbol files"
# A file with debug information is preferred to one with only a symbol table.
for name in one two; do
	place=$dir/bare/$(debug_path "$(build_id "$dir/lib$name.so")")
	mkdir -p "${place%/*}"
	objcopy --strip-debug "$dir/built/$name/lib$name.so" "$place"
done
exits 0 "$VGTOOL" resolve -s "$dir/bare" -s "$dir/built" -o "$dir/bare.vgp" "$dir/a.vgp"
"$VGTOOL" report --json "$dir/bare.vgp" >"$dir/bare.json"
cmp "$dir/sym.json" "$dir/bare.json" || fail "a file with only a symbol table is preferred"
# If one directory has stripped and whole copies, the whole copies are used.
exits 0 "$VGTOOL" resolve -s "$dir" -o "$dir/all.vgp" "$dir/a.vgp"
"$VGTOOL" report --json "$dir/all.vgp" >"$dir/all.json"
cmp "$dir/sym.json" "$dir/all.json" || fail "a directory with all copies gives other names"

# --- a symbol file in the folder of another module is not used, and frames keep their addresses ---
mkdir -p "$dir/misplaced/libone.so/x"
cp "$dir"/store/libtwo.so/*/libtwo.so.sym "$dir/misplaced/libone.so/x/libone.so.sym"
mv "$dir/misplaced/libone.so/x" "$dir/misplaced/libone.so/$(basename "$(dirname "$dir"/store/libone.so/*/*.sym)")"
exits 0 "$VGTOOL" resolve -s "$dir/misplaced" -o "$dir/misplaced.vgp" "$dir/a.vgp"
has err "not used: its MODULE record"
[ -z "$(names "$dir/misplaced.vgp")" ] || fail "the misplaced symbol file was used: $(names "$dir/misplaced.vgp")"
"$VGTOOL" report --unresolved "$dir/misplaced.vgp" >"$dir/report"
grep -q 'libone.so+0x' "$dir/report" || fail "frames without symbols have no addresses"

# --- many profiles ---
cp "$dir/b.vgp" "$dir/c.vgp"
echo nothing >"$dir/bad.vgp"
exits 1 "$VGTOOL" resolve -s "$dir/store" -o "$dir/named" "$dir/a.vgp" "$dir/bad.vgp" "$dir/b.vgp" "$dir/c.vgp"
has err "bad.vgp: not a profile"
[ "$(ls "$dir/named" | tr '\n' ' ')" = "a.vgp b.vgp c.vgp " ] || fail "resolve has written: $(ls "$dir/named")"
exits 0 "$VGTOOL" resolve -s "$dir/store" -o "$dir/b1.vgp" "$dir/b.vgp"
cmp "$dir/named/a.vgp" "$dir/sym.vgp" || fail "the first of many profiles differs from the same profile resolved alone"
cmp "$dir/named/b.vgp" "$dir/b1.vgp" || fail "the second of many profiles differs from the same profile resolved alone"
exits 0 "$VGTOOL" resolve -s "$dir/store" -o "$dir/named" "$dir/named/a.vgp" "$dir/named/b.vgp"
"$VGTOOL" report --json "$dir/named/a.vgp" >"$dir/again.json"
cmp "$dir/again.json" "$dir/sym.json" || fail "a profile resolved again in place differs"
exits 0 "$VGTOOL" resolve -s "$dir/store" -o "$dir/slash/" "$dir/a.vgp"
cmp "$dir/slash/a.vgp" "$dir/sym.vgp" || fail "-o with a slash at the end has not made a directory"
mkdir "$dir/other"
cp "$dir/a.vgp" "$dir/other"
exits 1 "$VGTOOL" resolve -s "$dir/store" -o "$dir/named" "$dir/a.vgp" "$dir/other/a.vgp"
has err "would both be written"
exits 2 "$VGTOOL" resolve -s "$dir/store" "$dir/a.vgp" "$dir/b.vgp"
exits 2 "$VGTOOL" resolve -s "$dir/store" -o '' "$dir/a.vgp"
has err "--output: the value is empty; must be"
exits 2 "$VGTOOL" speedscope -o '' "$dir/a.vgp"
has err "--output: the value is empty; must be"
exits 2 "$VGTOOL" resolve -s '' -o "$dir/x" "$dir/a.vgp"
