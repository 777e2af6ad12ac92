#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# With damaged input vgtool symbols prints one message and exits with 1, or leaves the damaged part out.  It is never
# killed by a signal and never hangs.  MUTATIONS is the number of damaged copies of each of the seven files (default
# 150, or 25 for a sanitized vgtool).  The copies are made with the seeds SEED (default 1), SEED + 1 and so on.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs clang llvm-dwp xz /usr/bin/python3

# A sanitized vgtool starts slowly, and the fuzzers test the same code with more inputs.
MUTATIONS=${MUTATIONS:-$([ -z "${SANITIZE-}" ] && echo 150 || echo 25)}
SEED=${SEED:-1}

# run FILE WHAT: runs vgtool symbols on the file and sets $status, which must be 0 or 1.  With status 1 there must be
# one message on standard error and no output.  If only function names are missing, output is allowed.
run() {
	status=0
	timeout $life_s "$VGTOOL" symbols "$1" >"$dir/out" 2>"$dir/err" || status=$?
	case $status in
	0)
		[ ! -s "$dir/err" ] || fail "$2: status 0 with an error message: $(head -1 "$dir/err")"
		head -1 "$dir/out" | grep -q '^MODULE ' || fail "$2: status 0 without a MODULE record"
		;;
	1)
		[ "$(wc -l <"$dir/err")" = 1 ] || fail "$2: not one message"
		grep -q '^vgtool symbols: ' "$dir/err" || fail "$2: the message has no prefix"
		[ ! -s "$dir/out" ] || grep -q ': no function has a name; ' "$dir/err" ||
			fail "$2: status 1 with output"
		;;
	*)
		fail "$2: status $status"
		;;
	esac
}

# expect STATUS FILE: fails unless vgtool symbols exits with that status
expect() {
	run "$2" "$2"
	[ "$status" = "$1" ] || fail "$2: status $status, not $1"
}

# misused ARGUMENT...: fails unless the status is 2, with a message before the usage
misused() {
	exits 2 "$VGTOOL" symbols "$@"
	head -1 "$dir/err" | grep -q '^vgtool symbols: ' || fail "symbols $*: no message"
}

$CC -O2 "$fixtures/mutate.c" -o "$dir/mutate"
for version in 4 5; do
	$CC -O2 -g -gdwarf-$version "$fixtures/symbols_plain_more.c" "$fixtures/symbols_plain.c" \
		-o "$dir/program$version" -lpthread
done
$CC -O2 -g -gz=zlib "$fixtures/symbols_plain_more.c" "$fixtures/symbols_plain.c" \
	-o "$dir/program-gz" -lpthread
$CC -O2 -g -c "$fixtures/symbols_plain_more.c" -o "$dir/object.o"
strip -o "$dir/program-stripped" "$dir/program5"

expect 1 "$dir/missing"
: >"$dir/empty"
expect 1 "$dir/empty"
mkfifo "$dir/fifo"
expect 1 "$dir/fifo"
expect 1 /dev/null

# A directory tree that is deeper than the longest path, without symbols.
deep=$dir/deep
half=$(printf 'd/%.0s' $(seq 1020))
mkdir -p "$deep/$half" "$dir/lower/$half"
mv "$dir/lower" "$deep/$half"
exits 1 "$VGTOOL" symbols -o "$dir/store" "$deep"
has err 'too long'
expect 1 "$dir/object.o"
head -c 100 "$dir/program5" >"$dir/cut"
expect 1 "$dir/cut"
head -c 64 "$dir/program5" >"$dir/header"
expect 1 "$dir/header"
head -c 5000 "$dir/program5" >"$dir/half"
expect 1 "$dir/half"
cp "$dir/program5" "$dir/holes"
truncate -s 2G "$dir/holes"
expect 1 "$dir/holes"
grep -q 'MiB of holes; at most 1024 are read' "$dir/err" || fail "holes: $(cat "$dir/err")"
# e_shnum is 0: the number of sections is in a section header.
cp "$dir/program5" "$dir/sections"
printf '\0\0' | dd of="$dir/sections" bs=1 seek=60 conv=notrunc 2>/dev/null
expect 1 "$dir/sections"
grep -q 'more sections than a linked file can have' "$dir/err" || fail "sections: $(cat "$dir/err")"
misused
misused --no-such-option "$dir/program5"
misused -o
misused -o '' "$dir/program5"
misused "$dir/program4" "$dir/program5"
misused "$dir"
status=0
"$VGTOOL" symbols "$dir/program5" >/dev/full 2>"$dir/err" || status=$?
[ "$status" = 1 ] && [ "$(wc -l <"$dir/err")" = 1 ] && grep -q 'No space' "$dir/err" ||
	fail "a full disk: status $status, $(cat "$dir/err")"
expect 0 "$dir/program5"
expect 1 "$dir/program-stripped"
head -1 "$dir/out" | grep -q '^MODULE ' || fail "stripped: $(cat "$dir/err")"
expect 0 "$dir/program-gz"
[ "$(grep -c '^FUNC ' "$dir/out")" -gt 5 ] || fail "compressed sections: no functions"

# Compressed sections of 64 MiB of zeros each, in a file of 400 KB.  They count as empty, and take no memory.
strip -g -o "$dir/program-small" "$dir/program5"
truncate -s 64M "$dir/zeros"
objcopy $(for name in info abbrev line str ranges addr; do echo "--add-section .debug_$name=$dir/zeros"; done) \
	"$dir/program-small" "$dir/program-large"
objcopy --compress-debug-sections=zlib "$dir/program-large" "$dir/program-zeros"
rm "$dir/program-large" "$dir/zeros"
/usr/bin/python3 -c '
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=open("/dev/null", "w")).returncode
print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
' "$VGTOOL" symbols "$dir/program-zeros" >"$dir/peak"
read -r status peak <"$dir/peak"
[ "$status" = 0 ] || fail "compressed zeros: status $status"
# Without the limit it takes 260 MiB.  A sanitizer takes more.
[ -n "${SANITIZE-}" ] || [ "$peak" -lt 65536 ] || fail "compressed zeros: $peak KiB of memory"
expect 0 "$dir/program-zeros"
[ "$(grep -c '^PUBLIC \|^FUNC ' "$dir/out")" -gt 5 ] || fail "compressed zeros: $(cat "$dir/out" "$dir/err")"

# Directories and names about as long as the longest path, and longer: paths are truncated to 4,096 characters.
characters() {
	printf "%${1}s" | tr ' ' n
}
# long_path DWARF DIRECTORY NAME: compiles a program whose only file is NAME in DIRECTORY, and checks its path
long_path() {
	(cd "$dir" && printf '# 1 "%s"\nint f(void) { return 1; }\n' "$3" >long.c &&
		$CC -g -gdwarf-"$1" -shared -nostdlib "-fdebug-prefix-map=$PWD=$2" long.c -o long)
	expect 0 "$dir/long"
	{ printf '%s/%s' "$2" "$3" | head -c 4096; echo; } >"$dir/wanted"
	sed -n 's/^FILE 0 //p' "$dir/out" | cmp -s - "$dir/wanted" ||
		fail "DWARF $1, a directory of ${#2} and a name of ${#3} characters: wrong path"
}
for version in 4 5; do
	for length in 4092 4093 4094 4095 4096 4097 4500 9000; do
		long_path $version "/$(characters $((length - 1)))" x.c
		long_path $version /d "$(characters $length)"
		long_path $version "/$(characters $length)" "$(characters $length)"
		[ $length -lt 4095 ] || long_path $version "$(characters $length)" x.c
	done
done

# Unwind information that overflows 64 bits: the damaged entries are left out, and the four good ones are written.
$CC -shared -nostdlib "$fixtures/symbols_overflow.s" -o "$dir/overflow.so"
expect 0 "$dir/overflow.so"
[ "$(grep -c '^STACK CFI' "$dir/out")" = 4 ] || fail "overflow.so: $(grep '^STACK CFI' "$dir/out")"
"$VGTOOL" symbols -o "$dir/store" "$dir/overflow.so" >"$dir/out" 2>&1 || fail "overflow.so: status $?"
grep -q '^overflow.so: 20 damaged parts left out' "$dir/out" || fail "overflow.so: $(cat "$dir/out")"

# nested LEVELS LEAVES FUNCTIONS DAMAGED: fails unless a tree of that depth has so many functions and damaged parts
nested() {
	$CC -shared -nostdlib "-Wa,--defsym,LEVELS=$1,--defsym,LEAVES=$2" "$fixtures/symbols_nested.s" -o "$dir/nested.so"
	exits 0 "$VGTOOL" symbols -o "$dir/store" "$dir/nested.so"
	has out " $3 functions"
	[ "$(cat "$dir/out" "$dir/err" | grep -c '1 damaged parts left out')" = "$4" ] ||
		fail "nested $*: $(cat "$dir/out" "$dir/err")"
}
# In a tree without DW_AT_sibling, the leaves are skipped once for each level.  A tree of the usual depth is read.  A deep
# one makes more work than its size allows.  Of one that is too deep, what comes before is kept.
nested 20 100000 1 0
nested 1000 100000 0 1
nested 3000 10 1 1

# Compressed debug information, and debug information in another file.
objcopy --compress-debug-sections=zstd "$dir/program5" "$dir/program-zstd"
nm --format=posix "$dir/program5" | awk '$2 == "t" { print $1 }' >"$dir/keep"
objcopy -S --keep-symbols="$dir/keep" "$dir/program5" "$dir/mini"
xz "$dir/mini"
objcopy --add-section .gnu_debugdata="$dir/mini.xz" "$dir/program-stripped" "$dir/program-mini"
mkdir "$dir/split"
(cd "$dir/split" && clang -O2 -g -gdwarf-5 -gsplit-dwarf "$fixtures/symbols_plain_more.c" \
	"$fixtures/symbols_plain.c" -o program -lpthread && llvm-dwp -e program -o package &&
	rm ./*.dwo)

mkdir "$dir/dwo" "$dir/whole"
(cd "$dir/dwo" && clang -O2 -g -gdwarf-5 -gsplit-dwarf "$fixtures/symbols_plain_more.c" \
	"$fixtures/symbols_plain.c" -o program -lpthread && mv ./*.dwo ../whole)

seed=$SEED
damaged=0
while [ "$seed" -lt $((SEED + MUTATIONS)) ]; do
	"$dir/mutate" "$dir/split/package" "$dir/split/program.dwp" "$seed"
	run "$dir/split/program" "a package, seed $seed"
	for whole in "$dir"/whole/*.dwo; do "$dir/mutate" "$whole" "$dir/dwo/${whole##*/}" "$seed"; done
	run "$dir/dwo/program" "split units, seed $seed"
	for program in program4 program5 program-gz program-stripped program-zstd program-mini; do
		"$dir/mutate" "$dir/$program" "$dir/mutant" "$seed"
		run "$dir/mutant" "$program, seed $seed"
		[ "$status" = 0 ] || damaged=$((damaged + 1))
	done
	seed=$((seed + 1))
done
# If no damaged file is refused, the test proves nothing.
[ "$damaged" -gt 0 ] || fail "no damaged file was refused"
echo "$((8 * MUTATIONS)) damaged files: $damaged refused"
