#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Every installed program and shared library is hardened: it is position-independent, its relocations are read-only
# before it runs, its stack is protected and not executable, it uses the C library's checked functions, and it searches
# libraries only in the system's directories.
set -eu
. "${SRCDIR:?}/tests/lib.sh"

# check FILE
check() {
	name=$(basename "$1")
	readelf -hlW "$1" >"$dir/headers"
	readelf -dW "$1" >"$dir/dynamic"
	# A static helper imports nothing.  Its own objects show what was compiled in.
	if grep -q NEEDED "$dir/dynamic"; then symbols=$1; else symbols=$BUILDDIR/vignetted/libvignetted.a; fi
	readelf -sW "$symbols" | grep ' UND ' >"$dir/symbols"
	grep -q 'Type: *DYN' "$dir/headers" || fail "$name is not position-independent"
	case $name in
	lib*) ;;
	*) grep -q 'FLAGS_1.* PIE' "$dir/dynamic" || fail "$name is no PIE" ;;
	esac
	grep -q 'GNU_RELRO' "$dir/headers" || fail "$name has no RELRO"
	grep -qE '\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW' "$dir/dynamic" || fail "$name binds lazily"
	grep -q 'GNU_STACK.* RW ' "$dir/headers" || fail "$name has an executable stack"
	! grep -qE 'LOAD.* (RWE|WE) ' "$dir/headers" || fail "$name has writable and executable memory"
	grep -q '__stack_chk_fail' "$dir/symbols" || fail "$name has no stack protector"
	grep -qE '_chk(@|$)' "$dir/symbols" || fail "$name uses no checked function (_FORTIFY_SOURCE)"
	! grep -qE 'RPATH|RUNPATH' "$dir/dynamic" || fail "$name has a search path for libraries: $(grep PATH "$dir/dynamic")"
	! grep -q TEXTREL "$dir/dynamic" || fail "$name has relocations in its code"
}

unset MAKEFLAGS MFLAGS MAKELEVEL
make -s -C "$BUILDDIR" install DESTDIR="$dir/root" >"$dir/log" 2>&1 || fail "make install: $(cat "$dir/log")"
checked=0
find "$dir/root" -type f >"$dir/files"
while read -r file; do
	[ "$(head -c 4 "$file" | tail -c 3)" = ELF ] || continue
	checked=$((checked + 1))
	check "$file"
done <"$dir/files"
names="vignetted vgtool libvgctl.so"
[ -x "$BUILDDIR/vgtool/vgtool" ] || names="vignetted libvgctl.so"           # configure --without-tools
for name in $names; do
	grep -q "/$name" "$dir/files" || fail "$name is not installed"
done
[ $checked -ge 2 ] || fail "only $checked files were checked"

library=$(grep 'libvgctl\.so\.[0-9.]*$' "$dir/files")
exported=$(readelf --dyn-syms -W "$library" |
	awk '$5 != "LOCAL" && $7 != "UND" && $7 != "ABS" && $4 != "SECTION" && NF >= 8 && $1 ~ /^[0-9]+:$/ { print $8 }')
[ -n "$exported" ] || fail "libvgctl exports nothing"
others=$(echo "$exported" | grep -v '^vgctl_' || true)
[ -z "$others" ] || fail "libvgctl exports $others"
# libvgctl exports exactly these: the functions that the header declares and does not define, and the flag that the
# header's own functions read.
header=$(cat $(grep '/include/vgctl\.h$' "$dir/files"))
defined=$(echo "$header" | grep '^static inline' | grep -oE '\bvgctl_[a-z_]+\(' | tr -d '(')
declared=$({ echo "$header" | grep -oE '\bvgctl_[a-z_]+\(' | tr -d '('; echo vgctl_recording; } |
	grep -vxF "$defined" | sort -u)
[ "$(echo "$exported" | sed 's/@.*//' | sort -u)" = "$declared" ] ||
	fail "libvgctl exports $(echo $exported), and the header declares $(echo $declared)"
