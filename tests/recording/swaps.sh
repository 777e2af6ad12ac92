#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Two libraries are loaded in turn at the same address.  A timer sample is unwound later than it is taken, when the
# other library may be loaded.  No stack mixes functions of one library with the caller of the other, and most stacks
# are complete.
set -eu
. "${SRCDIR:?}/tests/lib.sh"

"$CC" -O1 -g "$fixtures/swaps.c" -o "$dir/swaps" -ldl -pthread

# libraries BUILD_ID: makes the libraries with a build id of that kind, or without one if BUILD_ID is "none"
libraries() {
	id=$1
	for name in a b; do
		"$CC" -O1 -g -fPIC -shared -Wl,--build-id=$id -DNAME=$name "$fixtures/swapped.c" -o "$dir/swapped_$name.so"
	done
	rm -rf "$dir/symbols"
	"$VGTOOL" symbols -o "$dir/symbols" "$dir/swaps" >"$dir/log"
	# Without build ids both libraries have the same text id, because their code is equal.
	[ $id = none ] || "$VGTOOL" symbols -o "$dir/symbols" "$dir/swapped_a.so" "$dir/swapped_b.so" >"$dir/log"
}

# recorded KIND HZ CAPTURE MS ROUNDS: records swaps.c and checks its stacks
recorded() {
	what="$1, $2 Hz, $3, $4 ms, build id $id"
	"$VIGNETTED" --capture "$3" --rate "$2" -o "$dir/out.vgp" -- "$dir/swaps" "$1" "$dir/swapped_a.so" \
		"$dir/swapped_b.so" "$4" "$5" >"$dir/same" 2>"$dir/log" || fail "$what: $(cat "$dir/log")"
	[ "$(cat "$dir/same")" -ge $(($5 * 9 / 10)) ] || fail "$what: B was loaded at A's address only $(cat "$dir/same") times of $5"
	"$VGTOOL" resolve -s "$dir/symbols" "$dir/out.vgp" -o "$dir/named.vgp" 2>"$dir/log"
	"$VGTOOL" info --json "$dir/named.vgp" >"$dir/info"
	"$VGTOOL" folded --weight samples "$dir/named.vgp" >"$dir/stacks"
	# A library without symbols appears with its name.
	a='(a_outer|a_inner|swapped_a)' b='(b_outer|b_inner|swapped_b)'
	grep -E "run_a.*$b|run_b.*$a|$a.*$b|$b.*$a" "$dir/stacks" >"$dir/false" || true
	never=$(awk '{ sum += $NF } END { print sum + 0 }' "$dir/false")
	echo "$what: $(info_value stack_ends) of $(info_value samples) samples, $(info_value timer_samples) of timers, $never false," \
		"lost $(info_value lost)"
	# Two cases may have a few wrong stacks.  KIND "new": the kernel does not record the mappings of a new thread.
	# The helper then checks marks when it fetches samples, which is shortly before it unwinds them.
	most=0
	# BUILD_ID "none": libraries whose loaded bytes are equal differ only in the list of mappings.  A helper that
	# has no CPU for 20 ms reads that list after the other library was loaded.
	[ "$1" != new ] && [ $id != none ] || most=$(($(info_value samples) / 100))
	[ "$never" -le $most ] || fail "$what: stacks that the program never had: $(cat "$dir/false")"
	[ $(($(info_value stacks_complete) * 2)) -ge "$(info_value samples)" ] || fail "$what: too few stacks are complete"
	for name in a b; do
		grep -qE "run_$name;(run;${name}_outer;${name}_inner|(swapped_$name[^;]*;){2,})" "$dir/stacks" ||
			fail "$what: no complete stack of library $name"
	done
}

libraries sha1
for capture in auto stop; do
	for hz in 99 997; do
		recorded own $hz $capture 50 6
		recorded other $hz $capture 50 6
		recorded new $hz $capture 50 6
	done
done
# Now the loaded bytes of both libraries are equal.
libraries none
for capture in auto stop; do
	recorded own 997 $capture 20 25
	recorded other 997 $capture 20 25
done
