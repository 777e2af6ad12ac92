#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Measures how long unwinding takes per frame, and compares the frames with libunwind's, over the same snapshots of
# python3, node and clang.  See unwind.c.  Then it measures no_tables.c, built twice: with_tables has unwind information
# everywhere, and without_tables nowhere (with musl, which has none), so that all its frames are found by instructions.
# luajit has a JIT compiler whose code has no frame pointers (node's code has them).
#
#   warm       every row is in the cache, as in code that was sampled before
#   cold       no row is in the cache; the pages that rows are decoded from are cached
#   all cold   neither rows nor pages are cached, as at the first sample
#
#   same       snapshots in which rows and libunwind find the same frames
#   guessed    snapshots in which both find the same frames up to code without unwind information (JIT code of node).
#              After such code the walk by rows uses frame pointers, and libunwind ends or guesses
#   shallower  snapshots in which the walk by rows ends and libunwind continues
set -eu
. "${SRCDIR:?}/bench/lib.sh"
rounds=${BENCH_ROUNDS:-3}
snapshots=200

# key LINE NAME: prints the value after that name
key() { echo "$1" | sed -n "s/.*\b$2 \([0-9.]*\).*/\1/p"; }

# This file keeps clang busy for a minute.
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "int f%d(int a, int *b) { for (int i = 0; i < a; " \
	"i++) { b[i] += a * %d; if (b[i] %% 7 == %d) b[i] ^= f%d(i, b + 1); } return b[0]; }\n",
	i, i, i % 7, i ? i - 1 : 0 }' >"$dir/busy.c"

gcc -std=gnu11 -O2 -pthread -o "$dir/program.with_tables" "$SRCDIR/bench/no_tables.c"
musl-gcc -std=gnu11 -O2 -pthread -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer -static \
	-o "$dir/program.without_tables" "$SRCDIR/bench/no_tables.c"

worst_warm=0 worst_cold=0 odd=0
printf '%-12s %7s %8s %8s %9s %10s %14s   %s\n' '' frames warm cold 'all cold' libunwind 'libunwind cold' \
	'same/guessed/shallower/otherwise'
for name in python3 node clang with_tables without_tables luajit; do
	case $name in
	python3) "$python" "$SRCDIR/bench/busy.py" 1 & ;;
	node) node "$SRCDIR/bench/busy.js" & ;;
	clang) clang -cc1 -O2 -emit-obj -o /dev/null "$dir/busy.c" >/dev/null 2>&1 & ;;
	*_tables) "$dir/program.$name" & ;;
	luajit) luajit "$SRCDIR/bench/busy.lua" & ;;
	esac
	pids=$!
	sleep 2
	round=0
	: >"$dir/$name"
	while [ $round -lt "$rounds" ]; do
		round=$((round + 1))
		"$bench/unwind" $pids $snapshots >"$dir/out" || fail "unwind: $name failed"
		sed -n 1p "$dir/out" >>"$dir/$name"
		sed 1d "$dir/out" >>"$dir/$name.differences"
	done
	end $pids
	pids=
	for what in frames instructions warm_ns cold_ns all_cold_ns row_ns fallbacks libunwind_ns libunwind_cold_ns; do
		eval "$what=\$(while read -r line; do key \"\$line\" $what; done <"$dir/$name" | median)"
	done
	same=$(while read -r line; do
		echo $(key "$line" same) $(key "$line" guessed) $(key "$line" shallower) $(key "$line" of)
	done <"$dir/$name" | awk '{ s += $1; d += $2; h += $3; n += $4 }
		END { printf "%d/%d/%d/%d of %d\n", s, d, h, n - s - d - h, n }')
	printf '%-12s %7.1f %8.1f %8.0f %9.0f %10.0f %14.0f   %s\n' $name "$frames" "$warm_ns" \
		"$cold_ns" "$all_cold_ns" "$libunwind_ns" "$libunwind_cold_ns" "$same"
	echo "         a row decoded $row_ns ns; frames found by instructions $(calc "100 * $instructions" %.1f)%;" \
		"walks left to libunwind $(calc "100 * $fallbacks" %.1f)%;" \
		"RATIO to libunwind: warm $(calc "$warm_ns / $libunwind_ns" %.3f)," \
		"cold $(calc "$cold_ns / $libunwind_cold_ns" %.3f)"
	awk '{ $1 = $2 = ""; count[$0]++ } END { for (line in count) print count[line], line }' \
		"$dir/$name.differences" | sort -rg | head -5 | sed 's/^/         /'
	measured "Time per frame of $name, row in the cache; not in the cache" \
		"$(calc "$warm_ns" %.1f) ns; $(calc "$cold_ns" %.0f) ns"
	case $name in
	with_tables) tables_ns=$warm_ns ;;
	without_tables) by_instructions_ns=$warm_ns row_by_instructions_us=$(calc "$row_ns / 1000") ;;
	luajit) ;;
	*)
		worst_warm=$(calc "$warm_ns > $worst_warm ? $warm_ns : $worst_warm" %.1f)
		worst_cold=$(calc "$cold_ns > $worst_cold ? $cold_ns : $worst_cold" %.0f)
		odd=$((odd + $(echo "$same" | awk -F '[/ ]' '{ print $3 + $4 }')))
		;;
	esac
done
verdict "Time per frame, row in the cache, the slowest program" "$worst_warm" 60 ns
verdict "Time per frame, row not in the cache, the slowest program" "$worst_cold" 3000 ns
verdict "Snapshots with other frames than libunwind finds" "$odd" 0
verdict "Time of a frame by instructions, row not in the cache" "$row_by_instructions_us" 20 us
verdict "Time of a frame by instructions, row in the cache, relative to a frame of the same program with tables" \
	"$(calc "$by_instructions_ns / $tables_ns" %.3f)" 1
