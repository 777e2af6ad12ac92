#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The simulations in C, C++ and Rust compute the same.  The profile of each has its threads, intervals and counter, and
# its hottest function.  examples/gallery.sh makes a page and a picture of each, and of a comparison.
#
# Only with SOAK the browser is a real one.  tests/views/view_page.sh tests the page in a browser.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node gcc g++ rustc
# The tools of Debian's packages, before other versions that the machine may have
PATH=/usr/bin:$PATH
export PATH STEPS=100
if [ -z "${SOAK-}" ]; then
	# The picture is as large as one of a page with data, and is written where gallery.sh asks for it.
	cat >"$dir/browser" <<-'END'
	#!/bin/sh
	for option in "$@"; do
		case $option in
		--screenshot=*) seq 10000 >"${option#*=}" ;;
		file://*) file=${option#file://}; grep -q '<script id="data"' "${file%%#*}" ;;
		esac
	done
	END
	chmod 755 "$dir/browser"
	export CHROMIUM="$dir/browser"
fi

# language NAME FUNCTION: makes the picture of that program.  FUNCTION is the name of the one that computes forces.
language() {
	sh -e "$SRCDIR/examples/gallery.sh" . "$1" >out 2>&1 || fail "$1: $(cat out)"
	grep '^checksum ' out || fail "$1: no checksum: $(cat out)"
	"$VGTOOL" report --json "$1/simulation.resolved.vgp" >report
	names=$(json report 'it.threads.map((thread) => thread.name).sort().join()')
	[ "$names" = "main,monitor,worker 0,worker 1,writer" ] || fail "$1: the threads are $names"

	"$VGTOOL" report --json --weight cpu --interval move "$1/simulation.resolved.vgp" >report
	[ "$(json report it.samples)" -ge 40 ] || : >"$few"
	share=$(json report "100 * it.functions.find((f) => f.name === '$2').total_ns / it.cpu_ns")
	echo "$2 has $share % of $(json report it.samples) samples"
	awk -v share="$share" 'BEGIN { exit !(share > 60) }' || [ -e "$few" ] ||
		fail "$1: $2 has $share % of the intervals' CPU time; expected more than 60 %"

	"$VGTOOL" summary --json "$1/simulation.vgp" >summary
	counts=$(json summary 'it.intervals.concat(it.counters).map((row) => `${row.label} ${row.count}`).sort().join()')
	case $counts in
	"move $((2 * STEPS)),nodes $STEPS,tree $STEPS,write "[1-9]*) ;;
	*) fail "$1: the events are $counts" ;;
	esac
}

c() {
	language c force
	sh -e "$SRCDIR/examples/gallery.sh" . difference >out.difference 2>&1 || fail "$(cat out.difference)"
}
cc() { language cc 'Square::force(Vec<double>) const'; }
rs() { language rs simulation::Square::force; }
# The function has 95 % of the time.  With 40 samples it has less than 60 % with a probability of 2e-10 (Chernoff's bound).
few=$dir/few
side_by_side c cc rs
while [ -e "$few" ]; do
	rm -r "$few" "$dir/c" "$dir/cc" "$dir/rs"
	STEPS=$((2 * STEPS))
	[ $STEPS -le 6400 ] || fail "fewer than 40 samples in $((STEPS / 2)) steps"
	side_by_side c cc rs
done
for name in cc rs; do
	cmp "$dir/c/c/stars.txt" "$dir/$name/$name/stars.txt" || fail "simulation.$name has other positions"
	[ "$(grep '^checksum' "$dir/c/out")" = "$(grep '^checksum' "$dir/$name/out")" ] || fail "$name: another checksum"
done
