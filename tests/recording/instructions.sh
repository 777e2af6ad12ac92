#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vignetted decodes instructions in code without unwind information.  Their lengths equal objdump's.  SOAK: also in
# larger files.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
libraries=/usr/lib/x86_64-linux-gnu

files="/bin/busybox $(realpath $libraries/libc.so.6) $(realpath $libraries/libcrypto.so.3)"
[ -z "${SOAK-}" ] || files="$files $(realpath $libraries/libLLVM-14.so.1) $(realpath /usr/bin/python3)"
for file in $files; do
	objdump -d -w --insn-width=15 -j .text "$file" |
		"$BUILDDIR/tests/recording/instructions" >"$dir/out" || fail "$file: $(cat "$dir/out")"
	echo "$file: $(cat "$dir/out")"
done
