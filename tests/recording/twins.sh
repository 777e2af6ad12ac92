#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Code without unwind information is walked by its instructions, and the frames are right.  Programs in C, C++ and Rust
# are built with unwind information and without; both builds have the same instructions.  Each snapshot of the first is
# walked with its unwind information, which gives the true frames, and without (twins.c).  The second is recorded.
# SOAK: all optimization levels, more options, more snapshots.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node g++ clang rustc
stops=200
[ -z "${SOAK-}" ] || stops=3000
cd "$dir"

# build LANGUAGE COMPILER OPTION...: builds $dir/tables, and $dir/bare without unwind information
build() {
	source=$fixtures/twins.$1 compiler=$2
	shift 2
	rm -rf tables* bare*
	case $source in
	*.rs)
		for twin in tables:yes bare:no; do
			"$compiler" "$@" --edition 2021 --crate-name twins --emit obj,link --out-dir ${twin%:*}.d -C codegen-units=1 \
				-C panic=abort -C force-unwind-tables=${twin#*:} "$source"
			mv ${twin%:*}.d/twins.o ${twin%:*}.o
			mv ${twin%:*}.d/twins ${twin%:*}
		done
		;;
	*)
		case $source in *.cc) set -- "$@" -std=c++17 -fno-exceptions ;; esac
		for twin in tables:-fasynchronous-unwind-tables "bare:-fno-asynchronous-unwind-tables -fno-unwind-tables"; do
			"$compiler" -fomit-frame-pointer "$@" ${twin#*:} -pthread -c "$source" -o ${twin%%:*}.o
			"$compiler" "$@" -pthread ${twin%%:*}.o -o ${twin%%:*}
		done
		;;
	esac
	for twin in tables bare; do objdump -dr $twin.o | sed 1,3d >$twin.s; done
	cmp tables.s bare.s >&2 || fail "$compiler $*: the builds differ in more than unwind information"
	# rustc writes unwind information for some functions of its library in both builds.
	case $source in *.rs) most=$(($(fdes tables.o) - 20)) ;; *) most=0 ;; esac
	[ $(fdes bare.o) -le $most ] || fail "$compiler $*: bare.o has unwind information"
}

# fdes FILE: prints how many functions have unwind information
fdes() { readelf --debug-dump=frames $1 2>readelf.log | grep -c ' FDE ' || true; }

# walks LANGUAGE COMPILER OPTION...: compares the walks of snapshots
walks() {
	build "$@"
	"$BUILDDIR/tests/recording/twins" -v $stops ./tables >walks || fail "$*: twins failed"
	awk -v name="$*" '
		/^(moments|steps) / {
			printf "twins: %s: %s: %d snapshots, %d waiting, %d unknown, %d frames, right %.3f %%, wrong %.3f %%," \
				" ended %.3f %%, by instructions %.0f %%\n", name, $1, $3, $5, $7, $11, 100 * $13 / $11,
				100 * $15 / $11, 100 * $17 / $11, 100 * $19 / $11
			if ($7 > $3 / 50 || $19 < $11 / 4 || ($1 == "moments" && $5 < 20))
				print "too many walks with unwind information are incomplete (" $7 "), too few frames were found by" \
					" instructions (" $19 "), or too few threads were waiting (" $5 ")" >"unfit"
			next
		}
		{ print }' walks
	[ ! -f unfit ] || fail "$*: $(cat unfit)"
	grep -E '^(moments|steps) ' walks >>total
}

# recorded: the twin without unwind information is recorded as any program; its result is that of the other
recorded() {
	for rounds in ${SOAK:+6000} 300 1200 4800; do
		"$VIGNETTED" --rate 499 -o bare.vgp -- ./bare $rounds >bare.out 2>bare.log || fail "$*: $(cat bare.log)"
		"$VGTOOL" info --json bare.vgp >info
		stacks=$(info_value stacks)
		[ "$stacks" -lt 100 ] || break
	done
	./tables $rounds >tables.out
	cmp bare.out tables.out || fail "$*: the builds give different results"
	complete=$(info_value stacks_complete)
	echo "recorded: $*: $complete of $stacks stacks are complete, $(info_value stack_ends)"
	[ "$stacks" -ge 100 ] || fail "$*: $stacks stacks, expected at least 100"
	# A timer can expire while the kernel writes the registers for a signal handler (roots.sh says how often).
	incomplete=$((stacks - complete))
	[ $incomplete -le $((10 + stacks / 100)) ] ||
		fail "$*: $incomplete of $stacks stacks are incomplete, expected at most $((10 + stacks / 100))"
}

walks c gcc -O2
recorded c gcc -O2
walks c clang -O2
walks cc g++ -O2
walks rs rustc -O
recorded rs rustc -O
if [ -n "${SOAK-}" ]; then
	for level in -O1 -O2 -O3 -Os; do
		for compiler in gcc clang; do walks c $compiler $level; done
		for compiler in g++ clang++; do walks cc $compiler $level; done
	done
	for level in 1 2 3 s; do walks rs rustc -C opt-level=$level; done
	v3=
	! grep -qw avx2 /proc/cpuinfo || v3=-march=x86-64-v3
	for options in "-fstack-protector-strong -D_FORTIFY_SOURCE=2 -fcf-protection" -fstack-clash-protection \
		"-fno-plt -fno-pie -no-pie" $v3 -fno-omit-frame-pointer -static; do
		for compiler in gcc clang; do walks c $compiler -O2 $options; done
		for compiler in g++ clang++; do walks cc $compiler -O2 $options; done
	done
fi
for what in moments steps; do
	awk -v what=$what '$1 == what { frames += $11; right += $13; wrong += $15; ended += $17 }
		END { printf "twins: all: %s: %d frames, right %.3f %%, wrong %.3f %%, ended %.3f %%\n", what, frames,
				100 * right / frames, 100 * wrong / frames, 100 * ended / frames
			exit right < frames * 0.99 || wrong >= frames * 0.001 }' total || echo $what >>failures
done
# In 5,000 random moments of the Rust program one walk ended early, in other programs none, and no frame was wrong.  So
# this fails by chance with a probability below 1e-9: 8 of 200 walks would have to end early.
[ ! -f failures ] || fail "fewer than 99 % of the frames are right, or 0.1 % are wrong: $(echo $(cat failures)): $(cat total)"
