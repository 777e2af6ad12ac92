#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Every source from which vgtool symbols reads, with programs that are compiled here.  vgtool names the source, and
# gives the functions, files, lines and inlined calls that llvm-symbolizer finds in the whole program.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs "${CXX%% *}" clang ld.lld llvm-symbolizer llvm-objcopy llvm-dwp dwp dwz xz rustc debuginfod curl python3 "${SENTRY_CLI:?}"
sources="$fixtures/sources.c $fixtures/sources_more.c"
unset DEBUGINFOD_URLS

# marked NAME: prints "NAME FILE:LINE" for the line of the fixture with the comment "line: NAME"
marked() {
	(cd "$fixtures" && grep -n "line: $1\b" sources*.c sources.rs) |
		awk -F : -v name="$1" '{ print name " " $1 ":" $2; exit }'
}
chain="$(marked inner) $(marked middle) $(marked hidden)"

# run NAME BINARY OPTION...: writes $dir/NAME.sym, and sets $source to the source that vgtool names
run() {
	name=$1 binary=$2; shift 2
	rm -rf "$dir/store"
	source=
	"$VGTOOL" symbols -o "$dir/store" "$@" "$binary" >"$dir/$name.progress" 2>"$dir/$name.err" ||
		grep -q ': no function has a name; ' "$dir/$name.err" ||
		fail "$name: $(cat "$dir/$name.progress" "$dir/$name.err")"
	source=$(sed -n '1s/.* from \(.*\) -> .*/\1/p' "$dir/$name.progress")
	find "$dir/store" -name '*.sym' -exec cp {} "$dir/$name.sym" \;
}

# base FILE: prints the address of the file's first segment
base() {
	readelf -lW "$1" 2>/dev/null | awk '$1 == "LOAD" { print $3; exit }'
}

# addresses REFERENCE NAME...: prints the address in REFERENCE of every byte of these functions
addresses() {
	reference=$1; shift
	nm -S --defined-only "$reference" | awk -v wanted=" $* " '
		NF == 4 && index(wanted, " " $4 " ") { print "0x" $1, "0x" $2 }' |
	while read -r start bytes; do
		at=$((start)) end=$((start + bytes))
		while [ $at -lt $end ]; do printf '%x\n' $at; at=$((at + 1)); done
	done
}

# lookup NAME BINARY: prints the frames of the addresses on standard input, according to vgtool's symbol file
lookup() {
	offset=$(($(base "$2")))
	while read -r address; do printf '%x\n' $((0x$address - offset)); done |
		awk -f "$fixtures/sources_lookup.awk" "$dir/$1.sym" - | cut -d ' ' -f 2-
}

# reference FILE OPTION...: prints the frames of the addresses on standard input, according to llvm-symbolizer
reference() {
	file=$1; shift
	sed 's/^/0x/' | llvm-symbolizer --obj="$file" --inlines --basenames "$@" | awk '
		NF == 0 { print line; line = ""; half = 0; next }
		half == 0 { name = $0; sub(/\.constprop\.0$/, "", name); half = 1; next }
		{ sub(/:[0-9]+$/, ""); sub(/^[^ ]*:0$/, "??:0"); line = line (line == "" ? "" : " ") name " " $0; half = 0 }'
}

# frames NAME BINARY WHOLE OPTION...: compares the frames of vgtool's symbol file with those of llvm-symbolizer for
# WHOLE
frames() {
	name=$1 binary=$2 whole=$3; shift 3
	addresses "$whole" $functions >"$dir/$name.addresses"
	[ "$(wc -l <"$dir/$name.addresses")" -ge 20 ] || fail "$name: too few addresses to compare"
	lookup "$name" "$binary" <"$dir/$name.addresses" >"$dir/$name.ours"
	reference "$whole" "$@" <"$dir/$name.addresses" >"$dir/$name.theirs"
	paste -d '\n' "$dir/$name.theirs" "$dir/$name.ours" >"$dir/$name.both"
	awk 'NR % 2 { theirs = $0; next } $0 != theirs { print "  < " theirs "\n  > " $0 }' \
		"$dir/$name.both" >"$dir/$name.differ"
	[ ! -s "$dir/$name.differ" ] ||
		fail "$name: differs from llvm-symbolizer ($(wc -l <"$dir/$name.differ") lines): $(head -n 6 "$dir/$name.differ")"
}

# whole NAME BINARY SOURCE WHOLE OPTION...: reads the symbols of BINARY, which must come from SOURCE, and compares their
# names, files, lines and inlined calls with those of WHOLE
whole() {
	name=$1 binary=$2 expected=$3 whole=$4; shift 4
	run "$name" "$binary" "$@"
	case $source in
	$expected) ;;
	*) fail "$name: read from '$source', not from '$expected'" ;;
	esac
	frames "$name" "$binary" "$whole"
	grep -qxF "$chain" "$dir/$name.ours" || fail "$name: no address is at '$chain'"
	echo "$name: $source, $(wc -l <"$dir/$name.ours") addresses"
}

functions="hidden exported elsewhere main _start"

# ---- DWARF in the file: compilers, versions, compression ----
for version in 2 3 4 5; do
	$CC -O2 -g -gdwarf-$version $sources -o "$dir/gcc$version"
	whole "gcc$version" "$dir/gcc$version" DWARF "$dir/gcc$version"
	clang -O2 -g -gdwarf-$version $sources -o "$dir/clang$version"
	whole "clang$version" "$dir/clang$version" DWARF "$dir/clang$version"
done
$CC -O2 -g -no-pie $sources -o "$dir/fixed"
whole fixed "$dir/fixed" DWARF "$dir/fixed"
for kind in zlib-gabi zlib-gnu zstd; do
	objcopy --compress-debug-sections=$kind "$dir/gcc5" "$dir/$kind"
	readelf -tW "$dir/$kind" | grep -qE "COMPRESSED|ZSTD|zdebug" || fail "$kind: not compressed"
	whole $kind "$dir/$kind" DWARF "$dir/gcc5"
done
readelf -tW "$dir/zstd" | grep -q ZSTD || fail "zstd: objcopy does not write it"

# ---- DWARF in another file ----
# apart NAME BINARY: writes the binary's debug information to $dir/NAME/program.debug, and the stripped binary to
# $dir/NAME/program
apart() {
	mkdir -p "$dir/$1"
	objcopy --only-keep-debug "$2" "$dir/$1/program.debug"
	strip -o "$dir/$1/program" "$2"
}
# filed DIRECTORY FILE: moves a debug file to the path of its build id
filed() {
	place=$1/$(debug_path "$(build_id "$2")")
	mkdir -p "${place%/*}"
	mv "$2" "$place"
}
# no_debug NAME BINARY OPTION...: fails unless the source is .dynsym
no_debug() {
	run "$@"
	[ "$source" = .dynsym ] || fail "$1: read from '$source'"
}

apart buildid "$dir/gcc5"
no_debug buildid-none "$dir/buildid/program"
[ -s "$dir/buildid-none.err" ] || fail "buildid-none: no message that function names are missing"
filed "$dir/buildid/tree" "$dir/buildid/program.debug"
mkdir "$dir/nothing"
whole buildid "$dir/buildid/program" "DWARF in $dir/buildid/tree/.build-id/*" "$dir/gcc5" \
	--debug-dir="$dir/nothing" --debug-dir="$dir/buildid/tree"
# A file with only a symbol table is used only if there is no file with DWARF, whatever the order of the directories.
mkdir "$dir/bare"
objcopy --strip-debug "$dir/gcc5" "$dir/bare/program.debug"
cp "$dir/buildid/program" "$dir/bare/program"
filed "$dir/bare/tree" "$dir/bare/program.debug"
whole bare-first "$dir/buildid/program" "DWARF in $dir/buildid/tree/.build-id/*" "$dir/gcc5" \
	--debug-dir="$dir/bare/tree" --debug-dir="$dir/buildid/tree"
objcopy --only-keep-debug "$dir/gcc5" "$dir/bare/linked.debug"
(cd "$dir/bare" && objcopy --add-gnu-debuglink=linked.debug program linked)
whole bare-linked "$dir/bare/linked" "DWARF in $dir/bare/linked.debug" "$dir/gcc5" \
	--debug-dir="$dir/bare/tree"
run bare "$dir/bare/program" --debug-dir="$dir/bare/tree"
case $source in
".symtab in $dir/bare/tree/.build-id/"*) ;;
*) fail "bare: read from '$source'" ;;
esac
# A debug file of another build is refused, although it is at the path for this build id.
clang -O1 -g -Wl,--build-id $sources -o "$dir/other-build"
cp "$dir/other-build" "$(find "$dir/buildid/tree" -name '*.debug')"
no_debug buildid-other "$dir/buildid/program" --debug-dir="$dir/buildid/tree"

# linked NAME BINARY: does what apart() does, and adds a .gnu_debuglink
linked() {
	apart "$1" "$2"
	(cd "$dir/$1" && objcopy --add-gnu-debuglink=program.debug program)
}
linked link "$dir/gcc5"
whole link "$dir/link/program" "DWARF in $dir/link/program.debug" "$dir/gcc5"
mkdir "$dir/link/.debug"
mv "$dir/link/program.debug" "$dir/link/.debug"
whole link-below "$dir/link/program" "DWARF in $dir/link/.debug/program.debug" "$dir/gcc5"
mkdir -p "$dir/tree$dir/link" "$dir/flat"
mv "$dir/link/.debug/program.debug" "$dir/tree$dir/link"
no_debug link-gone "$dir/link/program"
whole link-tree "$dir/link/program" "DWARF in $dir/tree$dir/link/program.debug" "$dir/gcc5" \
	--debug-dir="$dir/tree"
mv "$dir/tree$dir/link/program.debug" "$dir/flat"
whole link-flat "$dir/link/program" "DWARF in $dir/flat/program.debug" "$dir/gcc5" \
	--debug-dir="$dir/flat"

# Without a build id, the debug link's checksum decides whether a debug file is used; the module's id is the text id.
$CC -O2 -g -Wl,--build-id=none $sources -o "$dir/unnumbered"
linked crc "$dir/unnumbered"
whole crc "$dir/crc/program" "DWARF in $dir/crc/program.debug" "$dir/unnumbered"
ours=$(awk '{ print tolower($4); exit }' "$dir/crc.sym")
theirs=$("$SENTRY_CLI" debug-files check "$dir/unnumbered" | sed -n 's/.*Debug ID: *//p' | tr -d -)
[ -n "$theirs" ] && [ "$ours" = "${theirs}0" ] || fail "crc: id $ours, sentry-cli has $theirs"
printf x >>"$dir/crc/program.debug"
no_debug crc-wrong "$dir/crc/program"

# ---- symbol tables ----
# names NAME BINARY SOURCE WHOLE FUNCTION...: fails unless vgtool names the function at each byte of these
# functions, and names nothing at the bytes of the other functions
names() {
	name=$1 binary=$2 expected=$3 whole=$4; shift 4
	run "$name" "$binary"
	[ "$source" = "$expected" ] || fail "$name: read from '$source', not '$expected'"
	addresses "$whole" hidden exported elsewhere main >"$dir/$name.addresses"
	lookup "$name" "$binary" <"$dir/$name.addresses" >"$dir/$name.ours"
	wanted=" $* "
	reference "$whole" --no-inlines <"$dir/$name.addresses" | awk -v wanted="$wanted" '
		{ print (index(wanted, " " $1 " ") ? $1 : "??") " ??:0" }' >"$dir/$name.theirs"
	cmp -s "$dir/$name.ours" "$dir/$name.theirs" ||
		fail "$name: names differ: $(diff "$dir/$name.theirs" "$dir/$name.ours" | head -n 6)"
	echo "$name: $source, $(wc -l <"$dir/$name.ours") addresses"
}
# Only a symbol table, compressed: distributions call this mini debug information.
$CC -O2 -rdynamic $sources -o "$dir/plain"
$CC -O2 $sources "$fixtures/sources_labels.S" -o "$dir/labels"
$CC -O2 -g $sources "$fixtures/sources_labels.S" -o "$dir/labels-lines"
strip -o "$dir/stripped" "$dir/plain"
names symtab "$dir/plain" .symtab "$dir/plain" hidden exported elsewhere main
names dynsym "$dir/stripped" .dynsym "$dir/plain" exported elsewhere main
objcopy --only-keep-debug "$dir/plain" "$dir/mini"
nm "$dir/plain" --format=posix --defined-only | awk '$2 ~ /[Tt]/ { print $1 }' | sort >"$dir/all"
nm -D "$dir/plain" --format=posix --defined-only | awk '{ print $1 }' | sort >"$dir/dynamic"
comm -23 "$dir/all" "$dir/dynamic" >"$dir/keep"
grep -qx hidden "$dir/keep" || fail "minidebug: hidden is exported"
objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols="$dir/keep" \
	"$dir/mini" 2>/dev/null
xz -k "$dir/mini"
objcopy --add-section .gnu_debugdata="$dir/mini.xz" "$dir/stripped" "$dir/minidebug"
names minidebug "$dir/minidebug" ".dynsym and .gnu_debugdata" "$dir/plain" \
	hidden exported elsewhere main
head -c 200 "$dir/mini.xz" >"$dir/cut.xz"
objcopy --add-section .gnu_debugdata="$dir/cut.xz" "$dir/stripped" "$dir/minidebug-cut"
names minidebug-cut "$dir/minidebug-cut" .dynsym "$dir/plain" exported elsewhere main
grep -q ': 1 damaged' "$dir/minidebug-cut.progress" || fail "minidebug-cut: the damage is not counted"
# A debug file may have only a symbol table.
apart tableonly "$dir/plain"
filed "$dir/tableonly/tree" "$dir/tableonly/program.debug"
run tableonly "$dir/tableonly/program" --debug-dir="$dir/tableonly/tree"
case $source in
".symtab in $dir/tableonly/tree/.build-id/"*) ;;
*) fail "tableonly: read from '$source'" ;;
esac
grep -q '^PUBLIC .* hidden$' "$dir/tableonly.sym" || fail "tableonly: no PUBLIC hidden"

# Labels in assembly code and functions that are chosen at load time have names.  Labels within functions have none.
run labels "$dir/labels"
for name in bare_label chosen; do
	address=$(nm "$dir/labels" | awk -v name=$name '$3 == name { print $1 }')
	found=$(echo "$address" | lookup labels "$dir/labels")
	[ "$found" = "$name ??:0" ] || fail "labels: $name is called '$found'"
done
! grep -q 'mark_within' "$dir/labels.sym" || fail "labels: a label within a function has a PUBLIC record"
# With debug information these labels also have lines.
run labels-lines "$dir/labels-lines"
address=$(nm "$dir/labels-lines" | awk '$3 == "bare_label" { print $1 }')
found=$(echo "$address" | lookup labels-lines "$dir/labels-lines")
line=$(($(grep -n '^bare_label:' "$fixtures/sources_labels.S" | cut -d : -f 1) + 1))
[ "$found" = "bare_label sources_labels.S:$line" ] || fail "labels-lines: '$found', not line $line"
! grep -q 'mark_within' "$dir/labels-lines.sym" || fail "labels-lines: a label within a function has a record"

# ---- stubs of the procedure linkage table, as objdump names them ----
cat >"$dir/calls.c" <<'EOF'
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words)
{
	int (*volatile print)(const char *) = puts;
	atexit((void (*)(void))abort);
	return print(words[count - 1]) + puts("x") + (getenv(words[0]) != NULL);
}
EOF
for options in "" "-Wl,-z,now" "-fcf-protection -Wl,-z,ibtplt" "-no-pie -fuse-ld=lld" \
	"-Wl,-z,now -Wl,-z,ibt -fcf-protection"; do
	name=plt$(echo "$options" | tr -dc a-z)
	$CC -O2 $options "$dir/calls.c" -o "$dir/$name"
	run "$name" "$dir/$name"
	objdump -d "$dir/$name" | awk '/^[0-9a-f]+ <.*@plt>:$/ { print $1 " " substr($2, 2, length($2) - 3) }' \
		>"$dir/$name.stubs"
	grep -q 'getenv@plt' "$dir/$name.stubs" || fail "$name: objdump shows no stub"
	while read -r address stub; do
		found=$(echo "$address" | lookup "$name" "$dir/$name")
		[ "$found" = "$stub ??:0" ] || fail "$name: $stub is called '$found'"
	done <"$dir/$name.stubs"
	echo "$name: $(wc -l <"$dir/$name.stubs") stubs"
done

# ---- functions that linkers drop, fold and move ----
$CC -O2 -g -ffunction-sections -Wl,--gc-sections $sources -o "$dir/collected"
! nm "$dir/collected" | grep -q dropped || fail "collected: the linker has not dropped dropped()"
whole collected "$dir/collected" DWARF "$dir/collected"
! grep -qE '(FUNC|PUBLIC) .*dropped' "$dir/collected.sym" || fail "collected: dropped has a record"
for linker in bfd lld; do
	clang -O2 -g -ffunction-sections -fuse-ld=$linker -Wl,--gc-sections $sources \
		-o "$dir/collected-$linker"
	whole collected-$linker "$dir/collected-$linker" DWARF "$dir/collected-$linker"
	! grep -qE '(FUNC|PUBLIC) .*dropped' "$dir/collected-$linker.sym" ||
		fail "collected-$linker: dropped has a record"
done
clang -O2 -g -ffunction-sections -fuse-ld=lld -Wl,--icf=all $sources -o "$dir/icf"
whole icf "$dir/icf" DWARF "$dir/icf"
[ "$(grep -cE '^FUNC .* folded_[ab]$' "$dir/icf.sym")" -ge 1 ] || fail "icf: no folded function"
[ "$(nm "$dir/icf" | awk '/ folded_/ { print $1 }' | sort -u | wc -l)" = 1 ] || fail "icf: not folded"
$CC -O2 -g -flto $sources -o "$dir/lto-gcc"
clang -O2 -g -flto -fuse-ld=lld $sources -o "$dir/lto-clang"
for name in lto-gcc lto-clang; do
	functions="hidden.constprop.0 exported.constprop.0 $functions" whole $name "$dir/$name" DWARF "$dir/$name"
	! grep -q '^FUNC .* elsewhere$' "$dir/$name.sym" || fail "$name: elsewhere() was not moved into the other unit"
	grep -q "^elsewhere sources_more.c:" "$dir/$name.ours" || fail "$name: elsewhere is not inlined"
done

# ---- any machine: 32 and 64 bit, little and big endian ----
machine() {
	target=$1 arch=$2; shift 2
	for unit in sources sources_more; do
		clang --target="$target" "$@" -O2 -g -ffreestanding -fPIC -DFREESTANDING -c \
			"$fixtures/$unit.c" -o "$dir/$unit.o"
	done
	ld.lld -X -e _start "$dir/sources.o" "$dir/sources_more.o" -o "$dir/$target"
	whole "$target" "$dir/$target" DWARF "$dir/$target"
	[ "$(awk '{ print $3; exit }' "$dir/$target.sym")" = "$arch" ] ||
		fail "$target: $(head -n 1 "$dir/$target.sym")"
	objcopy=llvm-objcopy
	$objcopy --strip-debug "$dir/$target" "$dir/$target-plain"
	run "$target-plain" "$dir/$target-plain"
	address=$(nm "$dir/$target" | awk '$3 == "hidden" { print $1 }')
	found=$(echo "$address" | lookup "$target-plain" "$dir/$target-plain")
	[ "$source, $found" = ".symtab, hidden ??:0" ] || fail "$target: $source has $found"
}
machine powerpc64-linux-gnu ppc64 -mabi=elfv2
machine powerpc64le-linux-gnu ppc64
machine i386-linux-gnu x86
machine armv7-linux-gnueabihf arm
machine mips-linux-gnu mips
machine mips64el-linux-gnuabi64 mips
machine aarch64-linux-gnu arm64
machine riscv64-linux-gnu riscv -mno-relax

# ---- dwz: two programs share a third file ----
mkdir "$dir/dwz"
for which in one two; do
	$CXX -O2 -g -D"WHICH_$which" "$fixtures/symbols_names.cc" -o "$dir/dwz/$which"
	cp "$dir/dwz/$which" "$dir/dwz/$which.whole"
	"$VGTOOL" symbols "$dir/dwz/$which" | grep -v '^INFO' >"$dir/dwz/$which.expected"
done
(cd "$dir/dwz" && dwz -m shared.debug one two)
readelf -SW "$dir/dwz/one" | grep -q gnu_debugaltlink || fail "dwz: nothing is shared"
dwz_check() {
	name=$1 expected=$2; shift 2
	run "$name" "$dir/dwz/one" "$@"
	case $source in $expected) ;; *) fail "$name: read from '$source'" ;; esac
	grep -v '^INFO' "$dir/$name.sym" | sed '1s/.*//' >"$dir/$name.ours"
	sed '1s/.*//' "$dir/dwz/one.expected" | cmp - "$dir/$name.ours" ||
		fail "$name: differs from the whole program"
	echo "$name: $source"
}
dwz_check dwz "DWARF and $dir/dwz/shared.debug"
filed "$dir/dwz/tree" "$dir/dwz/shared.debug"
dwz_check dwz-tree "DWARF and $dir/dwz/tree/.build-id/*" --debug-dir="$dir/dwz/tree"
# Another file at the shared file's path is not used, and no function gets a wrong name.
cp "$dir/gcc5" "$dir/dwz/shared.debug"
run dwz-other "$dir/dwz/one"
[ "$source" = DWARF ] || fail "dwz-other: read from '$source'"
grep -E '^(FUNC|INLINE_ORIGIN) ' "$dir/dwz-other.sym" | sed -E 's/^INLINE_ORIGIN [0-9]* //; s/^FUNC (m )?[^ ]* [^ ]* [^ ]* //' |
	grep -v '^<name omitted>' | sort -u >"$dir/dwz/names"
sed -nE 's/^INLINE_ORIGIN [0-9]* //p; s/^FUNC (m )?[^ ]* [^ ]* [^ ]* //p' "$dir/dwz/one.expected" |
	sort -u | comm -23 "$dir/dwz/names" - >"$dir/dwz/wrong"
[ ! -s "$dir/dwz/wrong" ] || fail "dwz-other: wrong names: $(head -n 3 "$dir/dwz/wrong")"

# ---- split DWARF ----
code() {
	objcopy -O binary --only-section=.text "$1" /dev/stdout
}
# split NAME COMPILER VERSION: compiles $dir/NAME/program, with .dwo files beside it
split() {
	mkdir "$dir/$1"
	(cd "$dir/$1" && $2 -O2 -g -gdwarf-$3 -gsplit-dwarf $sources -o program)
	ls "$dir/$1" | grep -q 'dwo$' || fail "$1: no .dwo"
}
for version in 4 5; do
	for compiler in "$CC" clang; do
		kind=dwo-${compiler%% *}$version
		split "$kind" "$compiler" $version
		# llvm-symbolizer 14 misses inlined calls in split DWARF.  So the results are compared with those of
		# the same code whose DWARF is not split.
		joined=$dir/${compiler%% *}$version
		[ "$joined" != "$dir/cc$version" ] || joined=$dir/gcc$version
		code "$dir/$kind/program" >"$dir/code-a"; code "$joined" >"$dir/code-b"
		cmp "$dir/code-a" "$dir/code-b" || fail "$kind: -gsplit-dwarf changes the code"
		whole "$kind" "$dir/$kind/program" DWARF "$joined"

		mkdir "$dir/$kind/parts"
		for packer in dwp llvm-dwp; do
			# The dwp of binutils does not know DWARF 5, and the dwp of LLVM 14 never ends for GCC's files.
			case $packer$kind in dwp*5 | llvm-dwpdwo-cc5 | llvm-dwpdwo-gcc5) continue ;; esac
			(cd "$dir/$kind" && timeout $life_s $packer -e program -o "program.$packer")
		done
		mv "$dir/$kind"/*.dwo "$dir/$kind/parts"
		for packed in "$dir/$kind"/program.*dwp; do
			[ -e "$packed" ] || continue
			[ "$packed" = "$dir/$kind/program.dwp" ] || mv "$packed" "$dir/$kind/program.dwp"
			whole "$kind-${packed##*.}" "$dir/$kind/program" "DWARF and $dir/$kind/program.dwp" \
				"$joined"
			objcopy --compress-debug-sections=zlib-gabi "$dir/$kind/program.dwp"
			whole "$kind-${packed##*.}-zlib" "$dir/$kind/program" \
				"DWARF and $dir/$kind/program.dwp" "$joined"
			mkdir -p "$dir/$kind/tree"
			mv "$dir/$kind/program.dwp" "$dir/$kind/tree"
			whole "$kind-${packed##*.}-tree" "$dir/$kind/program" \
				"DWARF and $dir/$kind/tree/program.dwp" "$joined" \
				--debug-dir="$dir/$kind/tree"
		done
	done
done

# ---- Rust, both manglings ----
for mangling in legacy v0; do
	RUSTC_BOOTSTRAP=1 rustc -Z unstable-options -C symbol-mangling-version=$mangling -O -g \
		"$fixtures/sources.rs" -o "$dir/rust-$mangling"
	mangled=$(nm "$dir/rust-$mangling" | awk '/[0-9]area/ { print $3; exit }')
	case $mangling$mangled in
	legacy_ZN* | v0_R*) ;;
	*) fail "rust-$mangling: area is called '$mangled'" ;;
	esac
	run "rust-$mangling" "$dir/rust-$mangling"
	[ "$source" = DWARF ] || fail "rust-$mangling: read from '$source'"
	addresses "$dir/rust-$mangling" "$mangled" | lookup "rust-$mangling" "$dir/rust-$mangling" \
		>"$dir/rust-$mangling.ours"
	line=$(marked area)
	found="<sources::shapes::Square as sources::shapes::Area>::area ${line#* }"
	grep -qxF "$found" "$dir/rust-$mangling.ours" || fail "rust-$mangling: no address is at '$found'"
	grep -qE '^FUNC .* sources::shapes::largest(::<sources::shapes::Square>)?$' \
		"$dir/rust-$mangling.sym" || fail "rust-$mangling: no FUNC largest"
	echo "rust-$mangling: $found"
done

# ---- debuginfod: this test runs its own server ----
exits 1 "$VGTOOL" symbols --debuginfod "$dir/buildid/program"
has err 'DEBUGINFOD_URLS names no server'
mkdir "$dir/served"
apart debuginfod "$dir/gcc5"
mv "$dir/debuginfod/program.debug" "$dir/served"
export XDG_CACHE_HOME="$dir/cache"
id=$(build_id "$dir/gcc5")
served() { curl -sf -o /dev/null "$url/buildid/$id/debuginfo" || exited $server; }
# Another process may take the port before the server does.
for try in 1 2 3; do
	url=http://127.0.0.1:$(free_port)
	debuginfod -p "${url##*:}" -d :memory: -F "$dir/served" >"$dir/debuginfod.log" 2>&1 & server=$!
	pids=$server
	await 120 "debuginfod has the file or has ended" served
	! exited $server || continue
	break
done
! exited $server || fail "debuginfod: the server does not start: $(tail -n 3 "$dir/debuginfod.log")"
export DEBUGINFOD_URLS="$url"
no_debug debuginfod-unasked "$dir/debuginfod/program"
whole debuginfod "$dir/debuginfod/program" "DWARF in $dir/cache/vignette/*" "$dir/gcc5" --debuginfod
whole debuginfod-bare "$dir/debuginfod/program" "DWARF in $dir/cache/*" "$dir/gcc5" --debuginfod \
	--debug-dir="$dir/bare/tree"
run debuginfod-bare-unknown "$dir/tableonly/program" --debuginfod --debug-dir="$dir/tableonly/tree"
case $source in
".symtab in $dir/tableonly/tree/.build-id/"*) ;;
*) fail "debuginfod-bare-unknown: read from '$source'" ;;
esac
# It is not an error if no server has the file.  It is an error if the server does not answer.
no_debug debuginfod-unknown "$dir/stripped" --debuginfod
stopped "$server"
rm -rf "$dir/cache"
# Nobody listens at port 1.  The ended server's port may by now belong to another process.
url=http://127.0.0.1:1
export DEBUGINFOD_URLS="$url"
exits 1 "$VGTOOL" symbols --debuginfod "$dir/debuginfod/program"
[ "$(wc -l <"$dir/err")" = 2 ] || fail "debuginfod, the server has ended: not exactly two messages: $(cat "$dir/err")"
has err "$url: "
has err 'debuginfod: a server could not be asked'

