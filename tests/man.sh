#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# The man pages are clean mdoc, and name every option that the programs have.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
: "${SRCDIR:?}" "${VIGNETTED:?}" "${VGTOOL:?}"
cd "$SRCDIR/man"
# Which other manuals are installed here is no matter of ours.
mandoc -T lint -W style *.[1-9] | grep -vE 'referenced manual not found|outdated mandoc.db' && exit 1
for option in $("$VIGNETTED" --help | grep -oE -e '--[a-z-]+' | sort -u); do
	grep -q -e "Fl -${option#--}" vignetted.8 || { echo "vignetted.8 has no $option"; exit 1; }
done
for command in $("$VGTOOL" --help | awk '/^  [a-z]/ { print $1 }'); do
	grep -q "$command" vgtool.1 || { echo "vgtool.1 has no $command"; exit 1; }
done
# What a captured reader can and cannot do is what the tests try, word for word.
text=$(grep -v '^\.' vgtool.1 | tr '\n' ' ')
promises=$(sed -n 's/^static const char [A-Z_]*\[\] = "\(.*\)";$/\1/p' "$SRCDIR/tests/check_confine.c")
[ "$(echo "$promises" | wc -l)" -ge 15 ] || { echo "few promises: $promises"; exit 1; }
echo "$promises" | while read -r promise; do
	case $text in *"$promise"*) ;; *) echo "vgtool.1 does not say: $promise"; exit 1 ;; esac
done
