#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# The man pages are correct mdoc, and have every option and command of the programs.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs mandoc
cd "$SRCDIR/man"
# Ignored: references to manuals that are not installed here, and the order of sections (EXAMPLES come first).
! mandoc -T lint -W style *.[1-9] | grep -vE 'referenced manual not found|outdated mandoc.db|out of conventional order' ||
	fail "mandoc finds errors in the man pages"
for option in $("$VIGNETTED" --help | grep -oE -e '--[a-z-]+' | sort -u); do
	grep -q -e "Fl -${option#--}" vignetted.8 || fail "vignetted.8 has no $option"
done
for command in $("$VGTOOL" --help | awk '/^  [a-z]/ { print $1 }'); do
	grep -q "$command" vgtool.1 || fail "vgtool.1 has no $command"
done
# tests/unit/check_confine.c tests promises about the confined reader.  vgtool.1 has each of them word for word.
text=$(grep -v '^\.' vgtool.1 | tr '\n' ' ')
promises=$(sed -n 's/^static const char [A-Z_]*\[\] = "\(.*\)";$/\1/p' "$SRCDIR/tests/unit/check_confine.c")
[ "$(echo "$promises" | wc -l)" -ge 15 ] || fail "only these promises are in check_confine.c: $promises"
echo "$promises" | while read -r promise; do
	case $text in *"$promise"*) ;; *) fail "vgtool.1 does not say: $promise" ;; esac
done
