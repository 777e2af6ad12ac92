#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# The man pages are clean mdoc, and name every option that the programs have.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
cd "$SRCDIR/man"
# Which other manuals are installed here is no matter of ours.
! mandoc -T lint -W style *.[1-9] | grep -vE 'referenced manual not found|outdated mandoc.db' ||
	fail "mandoc finds faults"
for option in $("$VIGNETTED" --help | grep -oE -e '--[a-z-]+' | sort -u); do
	grep -q -e "Fl -${option#--}" vignetted.8 || fail "vignetted.8 has no $option"
done
for command in $("$VGTOOL" --help | awk '/^  [a-z]/ { print $1 }'); do
	grep -q "$command" vgtool.1 || fail "vgtool.1 has no $command"
done
# What a captured reader can and cannot do is what the tests try, word for word.
text=$(grep -v '^\.' vgtool.1 | tr '\n' ' ')
promises=$(sed -n 's/^static const char [A-Z_]*\[\] = "\(.*\)";$/\1/p' "$SRCDIR/tests/unit/check_confine.c")
[ "$(echo "$promises" | wc -l)" -ge 15 ] || fail "few promises: $promises"
echo "$promises" | while read -r promise; do
	case $text in *"$promise"*) ;; *) fail "vgtool.1 does not say: $promise" ;; esac
done
