#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Names for programs that are not simply on this machine's disk: in a chroot, in a container's namespaces, replaced or
# removed while they run, or in memory only.  `record` has the names, and so has a view of an unresolved profile while
# the program runs.  Then the index of a symbol store: a second run opens no file of the store that it does not need.
# Needs root or user namespaces.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node unshare setpriv strace /usr/bin/python3
. "$SRCDIR/tests/views/recorded.sh"
cd "$dir"
export XDG_CACHE_HOME="$dir/cache"
unset VGTOOL_SYMBOLS

cat >library.c <<'END'
__attribute__((noinline)) void in_library(void)
{
	for (volatile int i = 0; i < 100000; i++)
		;
}
END
cat >program.c <<'END'
#include <unistd.h>
void in_library(void);
__attribute__((noinline)) static void in_program(void)
{
	for (volatile int i = 0; i < 1000000; i++)
		in_library();
}
int main(void)
{
	alarm(3000); /* longer than all steps of the test together */
	for (;;)
		in_program();
}
END
$CC -O1 -fPIC -shared -Wl,--build-id=sha1 -o libodd.so library.c
# The directory of the library is in none of the lists of directories.
$CC -O1 -Wl,--build-id=sha1 -Wl,-rpath,/odd -o odd program.c -L. -lodd
mkdir -p jail/odd jail/tmp jail/proc
for file in $(ldd odd | grep -o '/[^ ]*' | grep -v libodd); do
	mkdir -p "jail${file%/*}"
	cp -L "$file" "jail$file"
done
mv odd libodd.so jail/odd/

# Root runs without the capabilities that open any mapped file.  Neither root in a container nor other users have them.
users='' limited=''
if [ "$(id -u)" = 0 ]; then
	limited='setpriv --bounding-set=-all,+sys_ptrace,+dac_override,+dac_read_search'
else
	users=-Ur
fi

# program_of PID: prints the pid of the process or descendant that has loaded the library
program_of() {
	! grep -q libodd "/proc/$1/maps" || { echo "$1"; return; }
	for child in $(cat "/proc/$1/task/$1/children"); do program_of "$child"; done
}
found() { [ -n "$(program_of "$1")" ]; }

# start COMMAND...: starts the command, and sets $odd to the pid of the program
start() {
	"$@" >log 2>&1 & starter=$!
	pids="$pids $starter"
	await 120 "the program of $*" found $starter
	odd=$(program_of $starter)
	# It may still be in the dynamic linker.
	await 600 "the program of $* works" worked $odd 50
}

# odd_end: ends the program
odd_end() {
	kill -s KILL "$odd"
	wait $starter 2>/dev/null || true
}

# named TEXT...: fails unless the latest exits() has shown these functions
named() {
	for function in "$@"; do has out "  $function"; done
}
program='in_program  [odd]'
library='in_library  [libodd.so]'

# recorded [COMMAND...]: records the program by a vgtool that the command starts, until it has samples
recorded() { again "a sample" sampled "$@" "$VGTOOL" record; }
sampled() {
	reported "$@" --rate 997 --budget 0 --duration 1 --pid $odd && ! grep -q '^no samples' out
}

chroot_part() {
	start unshare $users chroot ../jail /odd/odd
	recorded $limited
	named "$program" "$library"
	again "a sample" sampled $limited "$VGTOOL" record --unresolved -o raw.vgp
	! grep -q 'in_[lp]' out || fail "--unresolved shows names: $(cat out)"
	# A view of the profile finds the files of running programs.
	exits 0 $limited "$VGTOOL" report raw.vgp
	named "$program" "$library"
	exits 0 "$VGTOOL" resolve -s . raw.vgp -o none.vgp
	exits 0 "$VGTOOL" report --unresolved none.vgp
	! grep -q 'in_[lp]' out || fail "resolve uses files outside the stores: $(cat out)"
	odd_end
}

# What container programs do: overlayfs, pivot_root(2), and a new process namespace.
container_part() {
	mkdir layers
	cat >container <<-'END'
	set -e
	mount -t tmpfs tmpfs layers
	mkdir layers/upper layers/work layers/root
	mount -t overlay overlay -o lowerdir=../jail,upperdir=layers/upper,workdir=layers/work layers/root
	mount -t proc proc layers/root/proc
	mkdir layers/root/old
	cd layers/root
	pivot_root . old
	exec /odd/odd
	END
	start unshare $users -mpf --kill-child sh container
	recorded $limited
	named "$program" "$library"
	again "a sample" sampled "$VGTOOL" record --unresolved -o raw.vgp
	exits 0 $limited "$VGTOOL" report raw.vgp
	named "$program" "$library"
	odd_end
}

replaced_part() {
	cp ../jail/odd/* .
	start env LD_LIBRARY_PATH=. ./odd
	cp odd other
	strip --remove-section=.note.gnu.build-id other
	mv other odd
	rm libodd.so
	recorded $limited
	named "$program"
	if [ "$(id -u)" = 0 ]; then
		recorded
		named "$program" "$library"
		again "a sample" sampled "$VGTOOL" record --unresolved -o raw.vgp
		exits 0 "$VGTOOL" report raw.vgp
		named "$program" "$library"
	fi
	odd_end
}

memory_part() {
	cat >execute.py <<-'END'
	import os
	file = os.memfd_create("odd")
	os.write(file, open("../jail/odd/odd", "rb").read())
	os.environ["LD_LIBRARY_PATH"] = "../jail/odd"
	os.execve(file, ["odd"], os.environ)
	END
	start /usr/bin/python3 execute.py
	recorded $limited
	named 'in_program  [memfd:odd]' "$library"
	odd_end
}

# The store is made early, because an index opens files again that were changed less than 2 s before it was made.
mkdir -p store/deep/er
cp jail/odd/odd store/deep/program
cp jail/odd/libodd.so store/deep/er/library
echo text >store/text
$CC -O1 -fPIC -shared -Wl,--build-id=sha1 -o store/deep/unused -x c - <<'END'
int unused(void) { return 0; }
END
side_by_side chroot_part container_part replaced_part memory_part

# ---- the index of a store ----
raw=$dir/chroot_part/raw.vgp
# No program of this build runs any more.
exits 0 "$VGTOOL" report "$raw"
! grep -q 'in_[lp]' out || fail "names without files: $(cat out)"
# reported: fails unless the report with the store has the names
reported() {
	exits 0 "$VGTOOL" report -s store "$raw"
	named "$program" "$library"
}
# traced: as reported(); the opened files are in the file `calls`
traced() {
	# LeakSanitizer cannot trace a process that strace traces.
	ASAN_OPTIONS=detect_leaks=0 exits 0 strace -f -qq -o calls -e trace=openat,open "$VGTOOL" report -s store "$raw"
	named "$program" "$library"
}
opens_program_only() {
	traced
	! grep -qE '"store/.*(unused|text)"' calls
}
# program_unnamed REASON: fails if the report has a name of the program
program_unnamed() {
	exits 0 "$VGTOOL" report -s store "$raw"
	named "$library"
	! grep -q in_program out || fail "names of a file that was $1: $(cat out)"
}
rm -rf "$XDG_CACHE_HOME"
traced
grep -q '"store/deep/unused"' calls || fail "the first run does not read the store: $(cat calls)"
grep -q '"store/text"' calls || fail "the first run does not read all files: $(cat calls)"
index=$(find "$XDG_CACHE_HOME/vignette/indexes" -name index)
[ "$(stat -c %a "$index")" = 600 ] || fail "others can read the index: $(stat -c %a "$index")"
[ "$(stat -c %a "$XDG_CACHE_HOME/vignette/indexes")" = 700 ] || fail "others can read the directory of the indexes"
await 120 'a run that opens no other file of the store' opens_program_only
! grep -q '"store/deep/er", .*O_DIRECTORY' calls || fail "the current index is made again: $(cat calls)"
before=$(stat -c '%i %y' "$index")
reported
[ "$(stat -c '%i %y' "$index")" = "$before" ] || fail "the current index is written again"

# A file that is removed, added, moved or overwritten is noticed.
rm store/deep/program
program_unnamed removed
cp jail/odd/odd store/added
reported
mv store/deep store/moved
reported
cp store/moved/unused store/added
program_unnamed overwritten
cat jail/odd/odd >store/added
reported

# A damaged index is replaced, and a cache that cannot be used is no error.
for damage in 'truncate -s 100' 'truncate -s 0' 'truncate -s 1T' 'cp jail/odd/odd' 'ln -sf /etc/passwd' 'rm -f'; do
	$damage "$index"
	reported
	[ ! -L "$index" ] || fail "$damage: the index is still a link"
	[ "$(head -c 12 "$index")" = 'vgtool index' ] || fail "$damage: the index was not replaced"
done
for cache in "$dir/store/text" /proc; do
	XDG_CACHE_HOME=$cache reported
done
# Several runs at the same time.
rm -rf "$XDG_CACHE_HOME"
runs=
for run in 1 2 3; do
	"$VGTOOL" report -s store "$raw" >out.$run 2>&1 & runs="$runs $!"
done
for run in $runs; do wait "$run" || fail "one of several runs fails: $(cat out.?)"; done
for run in 1 2 3; do grep -qF "  $program" out.$run || fail "no names in run $run: $(cat out.$run)"; done
