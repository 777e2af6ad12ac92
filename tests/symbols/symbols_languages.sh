#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# In some languages DW_AT_name has no scopes.  vgtool symbols adds modules, types and outer functions to these names:
# Fortran, compiled by gfortran; D, Ada and Crystal from a fixture.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs gfortran

# functions FILE: prints the names of its functions, sorted by address; functions with several names are marked with m
functions() {
	"$VGTOOL" symbols "$1" | sed -nE 's/^FUNC (m )?[^ ]* [^ ]* [^ ]* (.*)/\1\2/p'
}

# expect NAME: fails unless $dir/NAME.wanted has the functions of $dir/NAME
expect() {
	functions "$dir/$1" >"$dir/$1.found"
	diff "$dir/$1.wanted" "$dir/$1.found" || fail "$1: wrong function names"
}

$CC -shared -nostdlib "$fixtures/symbols_languages.s" -o "$dir/languages"
cat >"$dir/languages.wanted" <<'END'
std.range.primitives.popFront!char
std.range.primitives.popFront!char.pick
D main
std.range.primitives.Ring.push
ns::cplusplus()
shapes.fill
shapes.fill.scaled
shapes.inner."+"
main
*Array(Int32)@Array(T)#push<Int32>:Array(Int32)
*Ring(Int32)::new<Int32>:Ring(Int32)
two__words
END
expect languages

# Linker symbols of the same functions do not count as further names.
(cd "$dir" && gfortran -O1 -g -fno-inline -fno-toplevel-reorder "$fixtures/symbols_languages.f90" -o fortran)
nm "$dir/fortran" | grep -q __shapes_MOD_fill || fail "gfortran: no __shapes_MOD_fill"
functions "$dir/fortran" | sort >"$dir/fortran.all"
sort >"$dir/fortran.names" <<'END'
shapes::fill::scaled
shapes::fill
outside
demo::report
END
comm -23 "$dir/fortran.names" "$dir/fortran.all" >"$dir/fortran.lost"
[ ! -s "$dir/fortran.lost" ] ||
	fail "fortran: missing: $(tr '\n' ' ' <"$dir/fortran.lost"); found: $(tr '\n' ' ' <"$dir/fortran.all")"
