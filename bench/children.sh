#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Measures how much longer a build takes when all its processes are recorded at 99 Hz: `make -j2` in a copy of this
# project, under vgtool record --children.  The times are those of make, without the report after it.
#
# Each recorded run is compared with the runs directly before and after it, as in churn.sh.  The number after +- is the
# standard error of the median, computed from the quartiles.
#
#     BENCH_ROUNDS    how often the recorded build runs
#     BENCH_TARGET    what make builds
set -eu
. "${SRCDIR:?}/bench/lib.sh"
rounds=${BENCH_ROUNDS:-8}
target=${BENCH_TARGET:-vignetted/vignetted}

git clone -q "$SRCDIR" "$dir/source" || fail "children: cannot copy $SRCDIR"
mkdir "$dir/source/m4" "$dir/source/build"
(cd "$dir/source" && autoreconf -fi && cd build && ../configure -q) >"$dir/log" 2>&1 ||
	fail "children: $(tail -1 "$dir/log")"

# make.sh: builds, and writes the time in us
cat >"$dir/make.sh" <<'END'
begin=$(date +%s%N)
make -s -C "$1/source/build" -j2 "$2" >"$1/log" 2>&1
status=$?
echo $((($(date +%s%N) - begin) / 1000)) >"$1/us"
exit $status
END

# timed alone|recorded: prints the time of the build in us
timed() {
	make -s -C "$dir/source/build" clean >"$dir/log" 2>&1
	rm -rf "$dir/profiles"
	sync "$dir"
	case $1 in
	alone) sh "$dir/make.sh" "$dir" "$target" ;;
	recorded) "$VGTOOL" record --children -o "$dir/profiles" -- sh "$dir/make.sh" "$dir" "$target" \
		>"$dir/report" 2>"$dir/recorded" ;;
	esac || fail "children: $1: $(tail -1 "$dir/log")"
	cat "$dir/us"
}

# Both runs get the highest priority, if that is allowed, because other work on the machine would hide the difference.
# The scheduler may give each session a share of its own, so the session gets the priority, too.
renice -n -20 -p $$ >"$dir/log" 2>&1 || true
{ echo -20 >/proc/$$/autogroup; } 2>"$dir/log" || true
timed alone >"$dir/log.first"            # brings the files into the page cache
before=$(timed alone)
for round in $(seq "$rounds"); do
	us=$(timed recorded)
	after=$(timed alone)
	echo $after >>"$dir/alone"
	echo $us >>"$dir/with"
	calc "2 * $us / ($before + $after)" >>"$dir/ratios"
	before=$after
done
processes=$(sed -n 's/.* of \([0-9]*\) processes in .*/\1/p' "$dir/recorded")
cat "$dir/recorded"
ratio=$(median <"$dir/ratios")
error=$(spread <"$dir/ratios")
alone=$(calc "$(median <"$dir/alone") / 1e6" %.2f) with=$(calc "$(median <"$dir/with") / 1e6" %.2f)
measured "Time of make -j2 $target alone and recorded; recorded processes" \
	"$alone s and $with s; $processes"
measured "Standard error of the next row" "$(calc "$error" %.3f)"
verdict "Time of make -j2 under record --children at 99 Hz, relative to the run alone" "$ratio" 1.1
