#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The code that reads untrusted bytes, in the sanitized build: each fuzzer's function on its corpus, on the inputs that
# tests/fuzz/seeds.sh makes, and on changed copies of both (tests/fuzz/replay.c).  The inputs are the same in each run.
# `make fuzz` searches for new ones.
#
# The compiler's flags are in FUZZ_FLAGS and FUZZ_LIBS.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
. "$SRCDIR/tests/fuzz/seeds.sh"
[ -n "${SANITIZE-}" ] || skip "needs the sanitized build"
needs xz objcopy
: "${FUZZ_LIBS:?}"
out=$dir
cd "$SRCDIR"
flags="-g -O1 -std=gnu11 -fsanitize=address,undefined -fno-sanitize-recover=undefined -I$SRCDIR
	-DVG_LIBEXECDIR=\"/fuzz\" ${FUZZ_FLAGS-}"
archives="$BUILDDIR/vignetted/libvignetted.a $BUILDDIR/vgtool/libvgtool.a $BUILDDIR/libvgctl/libwire.a
	$BUILDDIR/profile/libprofile.a $BUILDDIR/symbols/libsymbols.a $BUILDDIR/base/libbase.a"

# replay NAME CHANGES [SOURCE...]: the fuzzer's inputs, and CHANGES changed copies of each.  The sources are compiled
# with the small bounds that fuzz_NAME.c wants.
replay() {
	name=$1 changes=$2
	shift 2
	$CC $flags -DVG_UNWIND_ROWS_LOG=6 -DVG_MEMORY_PAGES=2 -o "$dir/replay_$name" tests/fuzz/replay.c \
		"tests/fuzz/fuzz_$name.c" "$@" $archives $FUZZ_LIBS -lm
	seeds $name
	mkdir -p "$dir/$name"
	cd "$dir/$name"
	"$dir/replay_$name" "$changes" $(find "$SRCDIR/tests/fuzz/corpus/$name" "$dir/seeds/$name" -type f 2>/dev/null | sort) \
		>log 2>&1 || {
		mkdir -p "$BUILDDIR/fuzz"
		head -c "$(od -A n -t d8 replay-length | tr -d ' ')" replay-input >"$BUILDDIR/fuzz/found-$name-replay"
		fail "fuzz_$name, expected no finding; the input is $BUILDDIR/fuzz/found-$name-replay: $(tail -n 60 log)"
	}
	echo "$name: $(tail -n 1 log)"
	cd "$SRCDIR"
}
replay sym 200
replay elf 30
replay profile 200
replay wire 2000
replay ring 500
replay unwind 500 vignetted/target/memory.c vignetted/unwind/rows.c
replay code 50 vignetted/target/memory.c
replay perfmap 500
