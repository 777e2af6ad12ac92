#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Perf maps (--perf-map): which file is believed, and how much of it is read.  The process chooses what it leaves
# under that name, in a mount namespace that may be its own: files of others, links, mounts, a file without an end.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
: "${CC:?}"
[ "$(id -u)" = 0 ] || skip "not root"
map=
at_end() {
	rm -rf $map
}
chmod 755 "$dir"

# Code of no module, at 0x10000000; started in a shell's place, so that the shell's number is the program's.
cat >"$dir/jit.c" <<'END'
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	/* dec %rdi; jnz; ret */
	static const unsigned char loop[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
	char *at = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (at == MAP_FAILED)
		return 1;
	memcpy(at, loop, sizeof loop);
	write(1, "ready\n", 6);
	for (;;)
		((void (*)(unsigned long))at)(1000000);
}
END
${CC%% *} -O1 -static -o "$dir/jit" "$dir/jit.c"
line='10000000 1000'

# start COMMAND...: the program, by a shell that does that first
start() {
	started "$dir/said" "$@"
	map=/tmp/perf-$started.map
}

# recorded WHAT NAME UNREAD: records it; its code has that name, or none, and so many bytes were not read
recorded() {
	timeout -s KILL 100 "$VIGNETTED" --pid $started --perf-map --rate 499 --duration 1 -o "$dir/out.vgp" 2>"$dir/log" ||
		fail "$1: $(cat "$dir/log")"
	stopped $started
	rm -rf "$map"
	[ "$(records "$dir/out.vgp" 'it.some((one) => one.address >= 0x10000000 && one.address < 0x10000006)')" = true ] ||
		fail "$1: no sample is in the code"
	names=$(records "$dir/out.vgp" 'it.filter((one) => one.kind === "code").map((one) => one.name).join(" ")')
	[ "$names" = "$2" ] || fail "$1: the code is called '$names', not '$2'"
	unread=$(info "$dir/out.vgp" perf_map_unread_bytes)
	[ "$unread" = "$3" ] || fail "$1: $unread bytes were not read, not $3"
	echo "$1: '$names', $unread bytes not read"
}

start "$dir/jit"
echo "$line own" >"$map"
recorded "its own file" own 0

start "$dir/jit"
: >"$map"
recorded "an empty file" "" 0

# One file without an end, one line without an end, and lines with what a line does not have.
start "$dir/jit"
echo "$line first" >"$map"
truncate -s 3G "$map"
recorded "a sparse file of 3 GiB" first $((3 * 1024 * 1024 * 1024 - 256 * 1024 * 1024))
start "$dir/jit"
{ head -c 3000000 /dev/zero | tr '\0' x; printf '\n10 10 \0zero\n%s behind' "$line"; } >"$map"
recorded "a long line" behind 0

# What is not the process's.
start "$dir/jit"
echo "$line planted" >"$map"
chown 65534 "$map"
recorded "another user's file" "" 22
start setpriv --reuid 65534 --clear-groups "$dir/jit"
echo "$line private" >"$map"
recorded "root's file for another user's process" "" 22
start "$dir/jit"
echo "$line private" >"$dir/private"
ln -s "$dir/private" "$map"
recorded "a symbolic link" "" $((${#dir} + 8))
start "$dir/jit"
mkfifo "$map"
recorded "a FIFO" "" 1
start "$dir/jit"
mkdir "$map"
recorded "a directory" "" $(stat -c %s "$map")

# What is mounted under the name, in the process's own mount namespace.
start unshare -m sh -c ': >/tmp/perf-$$.map; mount --bind "$0/private" /tmp/perf-$$.map; exec "$0/jit"' "$dir"
recorded "a mounted file" "" 22

# A /tmp that is a link, which leads elsewhere from our root than from the process's.
mkdir -p "$dir/root" "$dir/elsewhere"
cp "$dir/jit" "$dir/root"
ln -s "$dir/elsewhere" "$dir/root/tmp"
start unshare -m sh -c 'mount --bind "$0/root" "$0/root" && exec chroot "$0/root" /jit' "$dir"
echo "$line planted" >"$dir/elsewhere/perf-$started.map"
recorded "a link in place of /tmp" "" 0
