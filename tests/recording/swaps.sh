#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Two libraries are loaded in turn at the same address.  A timer sample is unwound later than it is taken, when the
# other library may be loaded.  No stack mixes functions of one library with the caller of the other, and most stacks
# are complete.  TIMING: bounds for an idle machine.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node

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

# swap KIND HZ CAPTURE MS ROUNDS: records swaps.c and checks its stacks.  Records again, with more rounds, until there
# are enough complete stacks, and few that may be wrong: on a busy machine many samples are lost or unwound late.
swap() {
	what="$1, $2 Hz, $3, $4 ms, build id $id"
	lengthen "1 2 4 8 16" swap_recorded "$@" || fail "$what: $lacking"
}

swap_recorded() {
	rounds=$(($5 * long)) lacking="all samples were lost"
	some_recorded --capture "$3" --rate "$2" -o "$dir/out.vgp" -- "$dir/swaps" "$1" "$dir/swapped_a.so" \
		"$dir/swapped_b.so" "$4" $rounds || return 1
	same=$(grep -x '[0-9]*' "$dir/log.recorded")
	[ "$same" -ge $((rounds * 9 / 10)) ] || fail "$what: B was loaded at A's address only $same times of $rounds"
	"$VGTOOL" resolve -s "$dir/symbols" "$dir/out.vgp" -o "$dir/named.vgp" 2>"$dir/log"
	"$VGTOOL" info --json "$dir/named.vgp" >"$dir/info"
	"$VGTOOL" folded --weight samples "$dir/named.vgp" >"$dir/stacks"
	# A library without symbols appears with its name.
	a='(a_outer|a_inner|swapped_a)' b='(b_outer|b_inner|swapped_b)'
	grep -E "run_a.*$b|run_b.*$a|$a.*$b|$b.*$a" "$dir/stacks" >"$dir/false" || true
	never=$(awk '{ sum += $NF } END { print sum + 0 }' "$dir/false")
	echo "$what: $(info_value stack_ends) of $(info_value samples) samples, $(info_value timer_samples) of timers," \
		"$never false, lost $(info_value lost)"
	# Two cases may have wrong stacks.  KIND "new": the kernel does not record the mappings of a new thread.  The
	# helper then checks marks when it fetches samples, which is shortly before it unwinds them.  BUILD_ID "none":
	# libraries whose loaded bytes are equal differ only in the list of mappings.  A helper that has no CPU for 20
	# ms reads that list after the other library was loaded.  If the helper did not check at all, nearly all stacks
	# of one library would be wrong in every recording.
	if [ "$1" != new ] && [ $id != none ]; then
		[ "$never" = 0 ] || fail "$what: $never stacks that the program never had: $(cat "$dir/false")"
	fi
	lacking=
	[ "$never" -le $(($(info_value samples) / wrong_share)) ] || lacking="$never stacks that the program never had"
	[ "$(info_value stacks_complete)" -ge $(($(info_value samples) / complete_share)) ] ||
		lacking="$lacking, $(info_value stacks_complete) complete stacks of $(info_value samples)"
	for name in a b; do
		grep -qE "run_$name;(run;${name}_outer;${name}_inner|(swapped_$name[^;]*;){2,})" "$dir/stacks" ||
			lacking="$lacking, no complete stack of library $name"
	done
	[ -z "$lacking" ]
}

# The shares, as divisors, of samples that may be wrong, and that must be complete
if [ -n "${TIMING-}" ]; then
	wrong_share=100 complete_share=2
else
	wrong_share=4 complete_share=4
fi
libraries sha1
for kind in own other new; do
	# At 99 Hz, timer samples wait longer until they are unwound.
	swap $kind 99 auto 25 8
	swap $kind 997 auto 25 6
	swap $kind 997 stop 25 6
	# Libraries that are there so shortly that the helper does not see most of them.
	swap $kind 99 auto 3 100
	swap $kind 99 stop 3 100
done
# Now the loaded bytes of both libraries are equal.
libraries none
for capture in auto stop; do
	swap own 997 $capture 20 12
	swap other 997 $capture 20 12
done
