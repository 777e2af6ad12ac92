#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Names, comments, messages and pages use the terms of doc/glossary.md, and none of the words in its columns "Not".
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node
words() {
	node "$SRCDIR/tests/project/words.mjs" "$1" >"$dir/said"
}

# Each kind of violation is found at its place, and nothing else is reported.
mkdir -p "$dir/planted/doc" "$dir/planted/base" "$dir/planted/man"
cp "$SRCDIR/doc/glossary.md" "$dir/planted/doc/"
cat >"$dir/planted/base/unit.c" <<'END'
/* What was told, and how the interrupts look: ordinary English. */
static int events_told; /* "Look" */
static const char *text = "told";
enum { REQUEST = PTRACE_INTERRUPT };
/* A Ledger; a number that is half as
 * many again. */
END
echo 'The tape of events, and tapestry.' >"$dir/planted/man/page.1"
: >"$dir/planted/base/way_out.h"
! words "$dir/planted" || fail "planted words are not found"
sed 's/: use.*//' "$dir/said" | sort >"$dir/sorted"
cat >"$dir/expected" <<'END'
base/unit.c:2: "events_told"
base/unit.c:5: "half as many again"
base/unit.c:5: "ledger"
base/way_out.h:name: "way"
man/page.1:1: "tape"
END
grep -v ' files, ' "$dir/sorted" | diff "$dir/expected" - || fail "other words than those planted are found"

words "$SRCDIR" || fail "words that the glossary forbids: $(cat "$dir/said")"
tail -n 1 "$dir/said" | grep -qE '^([5-9]|1[0-9])[0-9][0-9] files, [3-9][0-9] words, 0 found$' ||
	fail "few files or words: $(tail -n 1 "$dir/said")"
