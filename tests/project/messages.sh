#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# tests/project/messages.txt has every message of the sources, and each message has the usual form.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node
# messages ARGUMENT...: runs messages.mjs with its output in $dir/said
messages() {
	node "$SRCDIR/tests/project/messages.mjs" "$@" >"$dir/said"
}

# A small tree: which literals are messages, and of which kind.
planted=$dir/planted
mkdir -p "$planted/tests/project"
for folder in base libvgctl profile symbols vgctl vgtool vignetted; do mkdir "$planted/$folder"; done
cat >"$planted/base/unit.c" <<'END'
#include "not a message.h"
/* "not a message either" */
static const char usage[] =
	"usage: unit FILE\n"
	"       unit --help\n";
_Static_assert(1, "not for users");
static const char *name = "word";
static int unit(struct vg_err *err, const char *path)
{
	if (name == NULL)
		return vg_err_set(err, -EINVAL, "%s: offset %" PRIu64
				  " is \"%s\"", path, offset, odd(name, "which it is"));
	fputs("no file\n", stderr);
	vg_print(stderr, "unit: %s\n", path == NULL ? "nothing" : path);
	fputs("the heading\n", stdout);
	return vg_err_sys(err, -errno, /* it is "there" */ "%s", path);
}
END
messages --update "$planted" || fail "faults are found in a tree without faults: $(cat "$dir/said")"
cat >"$dir/expected" <<'END'
base/unit.c
	error	%s: offset %PRIu64 is "%s"
	error	which it is
	part	the heading
	stderr	no file
	stderr	nothing
	stderr	unit: %s
	usage	usage: unit FILE
		       unit --help
END
diff "$dir/expected" "$planted/tests/project/messages.txt" || fail "other messages are found than those planted"
messages "$planted" || fail "the table that was written is not accepted: $(cat "$dir/said")"

# A message that changed is shown, old and new.
sed -i 's/no file/no directory/' "$planted/base/unit.c"
! messages "$planted" || fail "a changed message is not found"
grep -q '^- base/unit.c: stderr no file$' "$dir/said" && grep -q '^+ base/unit.c: stderr no directory$' "$dir/said" &&
	grep -q 'node tests/project/messages.mjs --update$' "$dir/said" ||
	fail "a changed message is not shown: $(cat "$dir/said")"

# form MESSAGE FAULT: fails unless that fault is found in a vg_err_set() with that message
form() {
	printf 'int unit(void)\n{\n\treturn vg_err_set(err, -1, "%s");\n}\n' "$1" >"$planted/base/unit.c"
	! messages --update "$planted" || fail "no fault is found: $1"
	grep -q "\" $2" "$dir/said" || fail "another fault is found: $(cat "$dir/said")"
}
form 'no file.' 'ends with a period'
form 'no file\n' 'ends with a newline'
form 'There is no file' 'does not begin with'
form "$(printf '%0201d' 0 | tr 0 a)" 'has 201 characters'

messages || fail "$(cat "$dir/said")"
tail -n 1 "$dir/said" | grep -qE '^([3-9][0-9][0-9]|1[0-9][0-9][0-9]) messages, 0 faults$' || fail "few messages: $(tail -n 1 "$dir/said")"
