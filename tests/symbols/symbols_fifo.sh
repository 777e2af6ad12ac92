#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A binary names other files: split units (.dwo), a package (.dwp), the file of dwz, a debug file.  If such a file is a
# FIFO, no command opens it, and the rest is read.  A FIFO would hold the command for ever.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs clang dwz llvm-dwarfdump node objcopy strace
cd "$dir"

cat >program.c <<'END'
struct pair { long first, second; struct pair *next; };
static struct pair pair;
int twice(int value)
{
	pair.first += value;
	return 2 * value;
}
int main(int argc, char **argv)
{
	volatile long sum = 0;

	(void)argv;
	for (long i = 0; i < 300000000; i++)
		sum += i;
	return twice(argc) == 3 && sum == 0;
}
END
for version in 4 5; do
	mkdir split$version
	(
		cd split$version
		clang -g -gdwarf-$version -gsplit-dwarf -Wl,--build-id=sha1 ../program.c -o program
		dwo=$(llvm-dwarfdump --debug-info program | sed -n 's/.*dwo_name.*("\(.*\)")/\1/p')
		rm "$dwo"
		mkfifo "$dwo"
	)
done
mkdir package dwz debug-link by-id by-id/.build-id
clang -g -gdwarf-5 -gsplit-dwarf -Wl,--build-id=sha1 program.c -o package/program
rm -f package/*.dwo ./*.dwo
mkfifo package/program.dwp
$CC -g -Wl,--build-id=sha1 program.c -o dwz/program
cp dwz/program dwz/other
cp dwz/program debug-link/program
(
	cd dwz
	dwz -m common program other
	rm common
	mkfifo common
)
(
	cd debug-link
	objcopy --only-keep-debug program program.debug
	objcopy --strip-debug --add-gnu-debuglink=program.debug program
	rm program.debug
	mkfifo program.debug
)
id=$(build_id debug-link/program)
first=$(echo "$id" | cut -c1-2) rest=$(echo "$id" | cut -c3-)
mkdir "by-id/.build-id/$first"
mkfifo "by-id/.build-id/$first/$rest.debug"

# examined COMMAND...: fails unless the command ends by itself, and examines a FIFO but opens none.  No FIFO has a
# writer, so an open(2) that does not wait succeeds, and one that waits is shown as unfinished.
fifo='"[^"]*\(common\|\.dwo\|\.dwp\|\.debug\)"'
examined() {
	# LeakSanitizer cannot trace a process that strace traces.
	ASAN_OPTIONS=detect_leaks=0 exits 0 strace -f -qq -e trace=open,openat -o trace "$@"
	grep "$fifo" trace | grep -q 'O_PATH.* = [0-9]' || fail "$*: no FIFO is examined: $(grep -c . trace) calls"
	! grep "$fifo" trace | grep -v O_PATH || fail "$*: a FIFO is opened"
}
for program in split4/program split5/program package/program dwz/program debug-link/program; do
	examined "$VGTOOL" symbols --debug-dir="$dir/by-id" $program
	grep -qE '^(FUNC|PUBLIC) ' out || fail "$program: no symbols"
	examined "$VGTOOL" symbols -o store --debug-dir="$dir/by-id" $program
done

# Commands that read the program of a profile
recorded --quiet --rate 500 -o p.vgp -- split5/program
for command in report "annotate main" "resolve -s split5 -o out.vgp" "pprof -s split5 -o out.pb.gz" \
	"firefox -o out.json.gz"; do
	examined "$VGTOOL" $command p.vgp
done
exits 0 "$VGTOOL" record -o q.vgp --rate 500 -- split5/program
