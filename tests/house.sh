#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The house rules that a machine can keep: who may include whom, and what is exported.
set -eu
: "${SRCDIR:?}" "${BUILDDIR:?}"
cd "$SRCDIR"
failures=0

fail() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}

# may FOLDER ALLOWED: what files of the folder include from the others
may() {
	others=$(grep -hoE '^#include "[a-z]+/[a-z_0-9]+\.h"' "$1"/*.[ch] | cut -d '"' -f 2 |
		grep -vE "^($1/|$2)" | sort -u || true)
	[ -z "$others" ] || fail "$1 includes $others"
}
may base '$'
may profile 'base/'
may symbols 'base/'
may libvgctl 'base/(outfile|err|intern|counters|utf8)\.h$'
may vignetted 'base/|profile/|libvgctl/(wire|channel|ring)\.h$'
may vgctl 'base/|libvgctl/(wire|channel)\.h$'
may vgtool 'base/|profile/|symbols/'

# Only what vgctl.h declares leaves the library, and it needs nothing but libc.
library=$BUILDDIR/libvgctl/.libs/libvgctl.so
strangers=$(nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /^vgctl_/ { print $3 }')
[ -z "$strangers" ] || fail "libvgctl.so exports $strangers"
nm -D --defined-only "$library" | grep -q ' T vgctl_begin' || fail "libvgctl.so exports no vgctl_begin"
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
	grep -vE '^(libc\.so|ld-linux|libasan|libubsan)' || true)
[ -z "$needed" ] || fail "libvgctl.so needs $needed"

# Libraries never print and never exit; there is no util.c; files stay near 300 lines.
printing=$(grep -lE '\b(printf|puts|perror|exit)\(' base/*.c profile/*.c symbols/*.c libvgctl/*.c || true)
[ -z "$printing" ] || fail "libraries that print or exit: $printing"
# What programs print for people goes through base/print.h.  JSON and folded stacks have their own
# layers; bounded.c hands on what those have written.
print=$(grep -nE '\b(v?f?printf|f?puts|f?putc|putchar|fwrite|perror|psignal)\(' vgtool/*.c vgctl/*.c vignetted/*.c |
	grep -vE "^vgtool/(json|folded|bounded)\.c:|puts\((usage|\")|(putc|putchar)\('" || true)
[ -z "$print" ] || fail "printed past base/print.h: $print"
# Not every C library has it.
words=$(grep -ln strerrordesc_np */*.[ch] | grep -v '^base/err\.c$' || true)
[ -z "$words" ] || fail "strerrordesc_np is called beside base/err.c: $words"
[ -z "$(find . -name 'util*.c' -not -path './build*')" ] || fail "there is a util.c"
long=$(wc -l base/*.c profile/*.c symbols/*.c libvgctl/*.c vignetted/*.c vgctl/*.c vgtool/*.c |
	awk '$2 != "total" && $1 > 450 { print $2 " (" $1 ")" }')
[ -z "$long" ] || fail "files too long: $long"

# A constant has one value, whichever headers a source includes.
twice=$(grep -ohE '(#define|enum \{|^[[:space:]])[[:space:]]*VG_[A-Z0-9_]+([[:space:]]*[=,]|[[:space:]]+[0-9("])' ./*/*.h |
	grep -oE 'VG_[A-Z0-9_]+' | sort | uniq -d)
[ -z "$twice" ] || fail "defined in two headers: $twice"

# make may have another shell than the system's own, which is to read every script, too.
for script in bootstrap bench/*.sh tests/*.sh; do
	sh -n "$script" || fail "sh does not read $script"
done
[ $failures = 0 ]
