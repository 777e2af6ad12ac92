#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Fuzzers (libFuzzer, with both sanitizers) of everything that reads untrusted bytes: symbol files, ELF and DWARF,
# profiles, messages, the event ring, unwind information, instructions, perf maps.  Each fuzzer starts from
# tests/fuzz/corpus and from files that this script makes.  It runs for FUZZ_SECONDS (default 20), or for as many
# executions as FUZZ_RUNS_NAME says (FUZZ_RUNS_wire=10000000), or in the soak for as many as in `runs_soak`.  The test
# fails if an input crashes a fuzzer, takes 10 s or takes more than 512 MiB.  That input is kept in $BUILDDIR/fuzz.
#
# The compiler's flags are in FUZZ_FLAGS and FUZZ_LIBS.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
. "$SRCDIR/tests/fuzz/seeds.sh"
needs clang
: "${FUZZ_LIBS:?}"
seconds=${FUZZ_SECONDS:-20}
fuzzers=${FUZZERS:-sym elf profile wire ring unwind code perfmap}
out=$BUILDDIR/fuzz
# Executions in the soak: half an hour on two cores.
runs_soak="sym=500000 elf=500000 profile=1000000 wire=10000000 ring=300000
	unwind=1000000 code=300000 perfmap=100000"

flags="-g -O1 -std=gnu11 -fsanitize=address,undefined -fno-sanitize-recover=undefined
	-I$SRCDIR -DVG_LANE_RECORDS_COUNT=256 -DVG_UNWIND_ROWS_LOG=6 -DVG_MEMORY_PAGES=2 ${FUZZ_FLAGS-}"

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
	done | xargs -r -P 2 -n 2 sh -c 'clang '"$(echo $flags)"' -DVG_LIBEXECDIR=\"/fuzz\" -fsanitize=fuzzer-no-link -c "$0" -o "$1" || exit 255'
	rm -f "$out/all.a"
	ar rcs "$out/all.a" "$out"/objects/*.o
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
