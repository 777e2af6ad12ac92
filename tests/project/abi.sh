#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What a program that was linked with libvgctl.so depends on: the library's soname, its exported symbols with their
# versions (tests/project/abi.txt), and the versions of glibc that it needs.  The library's sources compile with musl.
# The library and a helper of another release work together, or say which of them is too old.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs objdump musl-gcc /usr/bin/python3
library=$BUILDDIR/libvgctl/.libs/libvgctl.so archive=$BUILDDIR/libvgctl/.libs/libvgctl.a

# ---- soname and symbols ----
{
	readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p'
	nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort
} >"$dir/abi.txt"
diff "$SRCDIR/tests/project/abi.txt" "$dir/abi.txt" ||
	fail "soname or symbols of libvgctl.so have changed; a symbol that a release had must stay"

# ---- glibc ----
versions() { objdump -T "$1" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1; }
greatest=$(versions "$library")
[ -n "$greatest" ] || fail "libvgctl.so needs no version of glibc"
[ "$(printf '%s\nGLIBC_2.28\n' "$greatest" | sort -V | tail -n 1)" = GLIBC_2.28 ] ||
	fail "libvgctl.so needs $greatest: $(objdump -T "$library" | grep "$greatest"); see libvgctl/floor.c"
# The archive gets the versions of the C library with which a program is linked.
! nm "$archive" 2>/dev/null | grep '@GLIBC' || fail "libvgctl.a needs symbols of one version"

# ---- musl; musl-gcc does not search for the kernel's headers ----
mkdir "$dir/kernel" "$dir/musl"
ln -s /usr/include/linux /usr/include/asm-generic "/usr/include/$(gcc -print-multiarch)/asm" "$dir/kernel"
for source in "$SRCDIR"/base/*.c "$SRCDIR"/libvgctl/*.c; do
	echo "$source"
done >"$dir/sources"
(cd "$dir/musl" && xargs musl-gcc -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE -D__clone=clone \
	-DVG_LIBEXECDIR='"/nonexistent"' -I"$SRCDIR" -idirafter "$dir/kernel" -c <"$dir/sources") ||
	fail "the library's sources do not compile with musl"

# ---- a helper of another release: $OLDEST and $NEWEST are the versions that it speaks ----
cat >"$dir/host.c" <<'END'
#include <stdio.h>
#include <vgctl.h>
int main(int argc, char **argv)
{
	struct vgctl_session *session;
	int rc = vgctl_begin(argv[1], NULL, &session);

	if (rc == 0)
		rc = vgctl_end(session, NULL);
	printf("%d %s\n", rc, vgctl_strerror(rc));
	return argc < 0;
}
END
$CC -I"$SRCDIR/libvgctl" -o "$dir/host" "$dir/host.c" -L"$BUILDDIR/libvgctl/.libs" -lvgctl \
	-Wl,-rpath,"$BUILDDIR/libvgctl/.libs"
# helper OLDEST NEWEST VERSION BYTES: the host's helper says that it speaks OLDEST to NEWEST, and answers messages with
# VERSION and BYTES.  Prints what the host says.
helper() {
	cat >"$dir/helper" <<END
#!/usr/bin/python3
import socket, struct
s = socket.socket(fileno=3)
send = lambda kind, version, body: s.send(struct.pack("=IHH", 0x77696776, version, kind) + body)
send(1, 4, struct.pack("=HH", $1, $2) + bytes(252))
for answer in 3, 7:
    if not s.recv(1000):
        break
    send(answer, $3, bytes($4))
END
	chmod 755 "$dir/helper"
	VIGNETTED=$dir/helper timeout $life_s "$dir/host" "$dir/host.vgp"
}
# says SENTENCE WHAT SAID
says() {
	case $3 in *"$1"*) ;; *) fail "$2: $3" ;; esac
}
wire=$(wire_version)
says "0 success" "the first release" "$(helper 0 0 4 256)"
says "0 success" "longer and shorter messages" "$(helper 4 99 "$wire" 600)$(helper 4 99 "$wire" 8)"
says "libvgctl is too old" "a helper of later versions only" "$(helper 98 99 99 256)"
says "the helper vignetted is too old" "a helper of earlier versions only" "$(helper 1 3 4 256)"
says "libvgctl is too old" "an answer of a later version" "$(helper 4 99 99 256)"
