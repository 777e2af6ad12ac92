#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Fuzzers (libFuzzer, with both sanitizers) of everything that reads untrusted bytes: symbol files, ELF and DWARF,
# profiles, messages, the event ring, unwind information, perf maps.  Each fuzzer starts from tests/fuzz/corpus and from
# files that this script makes.  It runs for FUZZ_SECONDS (default 20), or for as many executions as FUZZ_RUNS_NAME says
# (FUZZ_RUNS_wire=10000000), or in the soak for as many as in `runs_soak`.  The test fails if an input crashes a fuzzer,
# takes 10 s or takes more than 512 MiB.  That input is kept in $BUILDDIR/fuzz.
#
# The compiler's flags are in FUZZ_FLAGS and FUZZ_LIBS.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
: "${FUZZ_LIBS:?}"
seconds=${FUZZ_SECONDS:-20}
fuzzers=${FUZZERS:-sym elf profile wire ring unwind perfmap}
out=$BUILDDIR/fuzz
# Executions in the soak: half an hour on two cores.
runs_soak="sym=500000 elf=500000 profile=1000000 wire=10000000 ring=300000
	unwind=1000000 perfmap=100000"

flags="-g -O1 -std=gnu11 -fsanitize=address,undefined -fno-sanitize-recover=undefined
	-I$SRCDIR -D_GNU_SOURCE -DVG_LANE_RECORDS_COUNT=256 -DVG_UNWIND_ROWS_LOG=6 -DVG_MEMORY_PAGES=2 ${FUZZ_FLAGS-}"

# library: makes one library of all sources; compiles only the sources that are newer than their objects
library() {
	cd "$SRCDIR"
	# If a header is newer than the library, all sources are compiled: any of them may include the header.
	[ -z "$(find base profile symbols libvgctl vignetted vgtool -name '*.h' -newer "$out/all.a" 2>&1)" ] ||
		rm -rf "$out/objects"
	mkdir -p "$out/objects"
	for source in $(find base profile symbols vignetted vgtool -name "*.c") libvgctl/channel.c \
		"$BUILDDIR/vgtool/views/pprof.pb-c.c" "$BUILDDIR/vgtool/page/page_text.c"; do
		case $source in */main.c) continue ;; esac
		object=$out/objects/$(echo "$source" | tr / _).o
		[ -n "$(find "$object" -newer "$source" 2>/dev/null)" ] && continue
		echo "$source $object"
	done | xargs -r -P 2 -n 2 sh -c 'clang '"$(echo $flags)"' -DPACKAGE_VERSION=\"fuzz\" -DVG_LIBEXECDIR=\"/fuzz\" -fsanitize=fuzzer-no-link -c "$0" -o "$1" || exit 255'
	rm -f "$out/all.a"
	ar rcs "$out/all.a" "$out"/objects/*.o
}

# unwind_seed NAME EXPRESSION INSTRUCTIONS [BYTE READSBITS]: makes an input of fuzz_unwind with two functions.  The
# thread is in the second function, which the first function called.  EXPRESSION and INSTRUCTIONS are the second
# function's unwind information.  With BYTE, that byte of the expression changes between reads.  READSBITS is
# a word of 16 bits: the high half says after which of every eight reads, one bit each; the low half says which bits of
# BYTE change.  The second function's unwind information is then two pages after the first function's.
unwind_seed() {
	cat >"$out/seeds/seed.s" <<END
	.data
	.short 0x8210, 0x1000, 0x1040, 0x1020, first - cie + 64, second - cie + 64, 0x200, ${4:+start - cie + 64 + }${4:-0}
	.rept 63
	.short 0x8110
	.endr
	.short ${5:-0x8110}
cie:	.long cie_end - . - 4, 0
	.byte 1
	.asciz "zR"
	.byte 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1
cie_end:
first:	.long first_end - . - 4, . - cie
	.long 0x8000 - 64 - (. - cie), 0x200
	.byte 0, 0x42, 0x0e, 16, 0x86, 2, 0x44, 0x0c, 7, 8
first_end:
	${4:+.skip 8192 - (. - cie)}
second:	.long second_end - . - 4, . - cie
	.long 0x8200 - 64 - (. - cie), 0x200
	.byte 0, 0x0f
	.uleb128 end - start
start:	.byte $2
end:	.byte $3
second_end:
END
	as -o "$out/seeds/seed.o" "$out/seeds/seed.s"
	objcopy -O binary -j .data "$out/seeds/seed.o" "$out/seeds/unwind/$1"
}

# seeds NAME: makes the first inputs of a fuzzer.  They are binary files, so the tree does not have them.
seeds() {
	mkdir -p "$out/seeds/$1"
	case $1 in
	elf | sym)
		for options in "-O2 -g" "-O1 -g -gdwarf-4 -gz" "-O2 -g -gsplit-dwarf" "-O1 -s"; do
			number=$(echo "$options" | tr -dc 'a-zA-Z0-9')
			(cd "$out" && gcc $options -shared -nostdlib -fPIC -w "$SRCDIR/tests/fixtures/symbols_plain_more.c" \
				-o "seeds/plain-$number")
			"$VGTOOL" symbols "$out/seeds/plain-$number" >"$out/seeds/sym-$number"
			mkdir -p "$out/seeds/elf" "$out/seeds/sym"
			cp "$out/seeds/plain-$number" "$out/seeds/elf/"
			cp "$out/seeds/sym-$number" "$out/seeds/sym/"
		done
		objcopy --compress-debug-sections=zstd "$out/seeds/plain-O2g" "$out/seeds/elf/zstd"
		xz -c "$out/seeds/plain-O2g" >"$out/seeds/packed"
		objcopy --add-section .gnu_debugdata="$out/seeds/packed" "$out/seeds/plain-O1s" \
			"$out/seeds/elf/minidebug"
		gcc -O2 -s "$SRCDIR/tests/fixtures/symbols_plain.c" \
			"$SRCDIR/tests/fixtures/symbols_plain_more.c" -o "$out/seeds/elf/stubs" -lpthread
		gcc -shared -nostdlib -Wa,--defsym,ROWS=10 "$SRCDIR/tests/fixtures/symbols_cfi.s" \
			-o "$out/seeds/elf/unwinds"
		gcc -shared -nostdlib "$SRCDIR/tests/fixtures/symbols_languages.s" -o "$out/seeds/elf/languages"
		"$VGTOOL" symbols "$out/seeds/elf/unwinds" >"$out/seeds/sym/unwinds"
		# Paths of about PATH_MAX bytes: a fuzzer would not find them, because a word of its dictionary has at
		# most 64 bytes.
		for length in 4095 4096 4097; do
			path=$(printf "%${length}s" | tr ' ' n)
			printf '# 1 "%s"\nint f(void) { return 1; }\n' "$path" |
				gcc -g -shared -nostdlib "-fdebug-prefix-map=$PWD=$path" -x c - \
					-o "$out/seeds/elf/path-$length"
		done ;;
	profile)
		"$VIGNETTED" -o "$out/seeds/profile/sleep.vgp" --rate 50 -- sleep 0.2 2>/dev/null
		# With perf counters, if this machine allows them.
		"$VIGNETTED" -o "$out/seeds/profile/counters.vgp" --rate 50 --counter task-clock,page-faults:u \
			-- sleep 0.2 2>/dev/null || true ;;
	unwind)
		unwind_seed plain "0x77, 8" 0
		unwind_seed register "0x73, 8" "0x10, 3, 2, 0x77, 0"
		unwind_seed skip "0x2f, 0xfd, 0xff" 0
		unwind_seed bra "0x31, 0x28, 0xfc, 0xff" 0
		unwind_seed deref "0x77, 0, 0x06, 0x13, 0x2f, 0xf9, 0xff" 0
		unwind_seed divide "0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 0xff, 0x1b" 0
		unwind_seed constu "0x10, 0x1b, 0x11, 0x2f, 0x92, 0x28, 0x1b" 0
		unwind_seed states "0x73, 8" "0x0a, 0x42, 0x0a, 0x42, 0x0b, 0x0b, 0x14, 0x0f, 1, 0x16, 3, 1, 0x30, 0x2e, 0x80, 0"
		for reads in 0x01 0x02 0x04 0x08 0x10 0x20 0x40 0x80 0x55 0x33 0x0f; do
			unwind_seed change-$reads "0x31, 0x08, 0x3f, 0x24, 0x09, 0xff, 0x22, 0x13, 0x77, 8" 0 6 ${reads}39
		done
		# The same inputs without the table of .eh_frame_hdr.  The seventh word of an input is the key of the table's
		# second entry.  If this word is odd, fuzz_unwind.c makes no table.
		for seed in plain register states; do
			cp "$out/seeds/unwind/$seed" "$out/seeds/unwind/$seed-index"
			printf '\001\002' |
				dd of="$out/seeds/unwind/$seed-index" bs=1 seek=12 conv=notrunc 2>"$out/seeds/log"
		done
		unwind_seed leb "0x77, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 8" 0 ;;
	perfmap)
		word='\000\020\000\000\000\000\000\000'
		at=$word$word$word$word
		printf "$at"'1000 10 one\n1008 8 two\n1000 4 three\n0 ffffffffffffffff all\nfff 2' >"$out/seeds/perfmap/lines"
		{ printf "$at"'1000 10 '; head -c 20000 /dev/zero | tr '\0' x; printf '\n1000 1 behind\n'; } >"$out/seeds/perfmap/long"
		{ printf "$at"'1000 10 a'; head -c 60000 /dev/zero; } >"$out/seeds/perfmap/nothing"
		printf '\377\020\000\000\000\000\000\000'"$word$word$word"'1000 100 sparse\n' >"$out/seeds/perfmap/sparse" ;;
	esac
}

# runs NAME: prints how many executions are wanted, or nothing if the fuzzer runs by time
runs() {
	eval "wanted=\${FUZZ_RUNS_$1-}"
	for pair in $runs_soak; do
		[ -z "$wanted" ] && [ -n "${SOAK-}" ] && [ "${pair%=*}" = "$1" ] && wanted=${pair#*=}
	done
	echo "$wanted"
}

cd "$SRCDIR"
SRCDIR=$PWD
mkdir -p "$out"
library
for name in $fuzzers; do
	clang $flags -fsanitize=fuzzer "$SRCDIR/tests/fuzz/fuzz_$name.c" "$out/all.a" $FUZZ_LIBS -o "$out/fuzz_$name"
	seeds $name
	mkdir -p "$out/found-$name" "$SRCDIR/tests/fuzz/corpus/$name"
done
for name in $fuzzers; do
	wanted=$(runs $name)
	limit=-max_total_time=$seconds
	[ -z "$wanted" ] || limit=-runs=$wanted
	# The fuzzer adds inputs to the first directory, and not to the corpus in the tree.
	(cd "$out" && UBSAN_OPTIONS=print_stacktrace=1 exec nice -n 19 ./fuzz_$name $limit -timeout=10 \
		-rss_limit_mb=512 -max_len=65536 -artifact_prefix="$out/found-$name-" -print_final_stats=1 \
		"$out/found-$name" "$SRCDIR/tests/fuzz/corpus/$name" "$out/seeds/$name" >"$name.log" 2>&1) &
	pids="$pids $!"
	eval "pid_$name=$!"
done
failed=
for name in $fuzzers; do
	eval "wait \$pid_$name" && status=0 || status=$?
	executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$name.log")
	wanted=$(runs $name)
	echo "$name: ${executed:-0} executions"
	if [ $status != 0 ]; then
		failed="$failed fuzz_$name (exit status $status)"
		grep -E 'ERROR|SUMMARY|runtime error|Test unit written|ALARM' "$out/$name.log" | head -20
		tail -n 5 "$out/$name.log"
	elif [ "${executed:-0}" -lt "${wanted:-100}" ]; then
		failed="$failed fuzz_$name (too few executions)"
		tail -n 5 "$out/$name.log"
	fi
done
pids=
[ -z "$failed" ] || fail $failed
