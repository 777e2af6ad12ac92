#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Perf maps (--perf-map): which file vignetted trusts, and how much of the file it reads.  The process chooses what it
# puts at that path, also in its own mount namespace: files of other users, links, mounts, a huge file.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node
: "${CC:?}"
[ "$(id -u)" = 0 ] || skip "not root"
top=$dir
at_end() {
	rm -rf $(cat "$top"/*/maps)
}
chmod 755 "$dir"

# A program with JIT code at 0x10000000.  A shell executes it, so that both have the same pid.
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
# As a position-independent program: in a static program that is not position-independent, the kernel could place
# the heap at 0x10000000.
${CC%% *} -O1 -static-pie -o "$dir/jit" "$dir/jit.c"
line='10000000 1000'

# start COMMAND...: starts the program; $map is the path of its perf map
start() {
	: >"$dir/before"
	started "$dir/said" "$@"
	map=/tmp/perf-$started.map
	# Another program may have had this pid and left its map.
	[ ! "$map" -ot "$dir/before" ] || rm -rf "$map"
	echo "$map" >>"$dir/maps"
}

# recorded WHAT NAME UNREAD: records the program.  Its code must have the name NAME, or none if NAME is empty, and
# UNREAD bytes of the map must not have been read.
recorded() {
	# 0.1 s is enough for a sample in the code, unless the machine is very slow.
	for seconds in 0.1 1 5 25 125; do
		timeout -s KILL $life_s "$VIGNETTED" --pid $started --perf-map --rate 499 --duration $seconds \
			-o "$dir/out.vgp" 2>"$dir/log" || grep -q ': no samples: ' "$dir/log" || fail "$1: $(cat "$dir/log")"
		names=$(records "$dir/out.vgp" 'it.some((one) => one.address >= 0x10000000 && one.address < 0x10000006) + ":" +
			it.filter((one) => one.kind === "jit_code").map((one) => one.name).join(" ")')
		[ "${names%%:*}" = false ] || break
	done
	stopped $started
	rm -rf "$map"
	[ "${names%%:*}" = true ] || fail "$1: no sample is in the code in $seconds s"
	names=${names#*:}
	[ "$names" = "$2" ] || fail "$1: the code is called '$names', not '$2'"
	unread=$(info "$dir/out.vgp" perf_map_unread_bytes)
	[ "$unread" = "$3" ] || fail "$1: $unread bytes were not read, not $3"
	echo "$1: '$names', $unread bytes not read"
}

own_files() {
	start "$top/jit"
	echo "$line own" >"$map"
	recorded "its own file" own 0

	start "$top/jit"
	: >"$map"
	recorded "an empty file" "" 0

	# A huge file, a huge line, and lines with a zero byte and a missing end.
	start "$top/jit"
	echo "$line first" >"$map"
	truncate -s 3G "$map"
	recorded "a sparse file of 3 GiB" first $((3 * 1024 * 1024 * 1024 - 256 * 1024 * 1024))
	start "$top/jit"
	{ head -c 3000000 /dev/zero | tr '\0' x; printf '\n10 10 \0zero\n%s behind' "$line"; } >"$map"
	recorded "a long line" behind 0
	# Many names for the same code: the latest counts, and only one is in the profile.
	start "$top/jit"
	{ seq -f "10000000 1000 before%.0f" 100000; seq -f "fffff0%.0f 1000 overlapping" 0 9; echo "$line latest"; } >"$map"
	recorded "many names" latest 0
	# A long name is truncated, and counted.
	start "$top/jit"
	long=$(head -c 1024 /dev/zero | tr '\0' n)
	echo "$line ${long}more" >"$map"
	recorded "a long name" "$long" 0
	[ "$(info "$dir/out.vgp" names_truncated)" -ge 1 ] || fail "no name was truncated"
}

# Files of other users; and a file that is mounted at that path in the process's own mount namespace.
others() {
	start "$top/jit"
	echo "$line planted" >"$map"
	chown 65534 "$map"
	recorded "another user's file" "" 22
	start setpriv --reuid 65534 --clear-groups "$top/jit"
	echo "$line private" >"$map"
	recorded "root's file for another user's process" "" 22
	echo "$line private" >"$dir/private"
	start unshare -m sh -c ': >/tmp/perf-$$.map; mount --bind "$1/private" /tmp/perf-$$.map; exec "$0/jit"' "$top" "$dir"
	recorded "a mounted file" "" 22

	# /tmp is a link, which leads to different places from vignetted's root and from the process's root.
	mkdir -p "$dir/root" "$dir/elsewhere"
	cp "$top/jit" "$dir/root"
	ln -s "$dir/elsewhere" "$dir/root/tmp"
	start unshare -m sh -c 'mount --bind "$0/root" "$0/root" && exec chroot "$0/root" /jit' "$dir"
	echo "$line planted" >"$dir/elsewhere/perf-$started.map"
	recorded "a link in place of /tmp" "" 0
}

no_regular_files() {
	start "$top/jit"
	echo "$line private" >"$dir/private"
	ln -s "$dir/private" "$map"
	recorded "a symbolic link" "" $((${#dir} + 8))
	start "$top/jit"
	mkfifo "$map"
	recorded "a FIFO" "" 1
	start "$top/jit"
	mkdir "$map"
	recorded "a directory" "" $(stat -c %s "$map")
}

side_by_side own_files others no_regular_files
