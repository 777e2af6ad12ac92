#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Programs that use the library and lock their memory, have small stacks, begin in a constructor, load and unload the
# library, or have a child that has the same pid in another namespace.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs python3
: "${CC:?}"
libraries=$BUILDDIR/libvgctl/.libs
cd "$dir"

# host NAME COMMAND...: fails unless the command succeeds
host() {
	name=$1 status=0
	shift
	timeout -s KILL $life_s "$@" >log 2>&1 || status=$?
	sed "s/^/$name: /" log
	[ $status = 0 ] || fail "$name: status $status: $(tail -n 3 log)"
}

# compiles OUTPUT ARGUMENT...: compiles and links
compiles() {
	$CC -O1 -Wall -I"$SRCDIR/libvgctl" -o "$@" -lpthread >log 2>&1 || fail "$1 cannot be compiled: $(tail -n 3 log)"
}

host "memory locked before" "$BUILDDIR/tests/recording/hosts_memory" locked before before.vgp
host "memory locked after" "$BUILDDIR/tests/recording/hosts_memory" locked after after.vgp
host "address space" "$BUILDDIR/tests/recording/hosts_memory" space space.vgp
# A sanitizer needs more address space than the next program has.
nm "$VIGNETTED" 2>/dev/null | grep -q __asan_init || host "little address space" "$BUILDDIR/tests/recording/hosts_memory" little_space little_space.vgp
host "file after a stack" "$BUILDDIR/tests/recording/hosts_memory" beside beside.vgp
host "small stacks" "$BUILDDIR/tests/recording/hosts_memory" stacks stacks.vgp
host "pid 1 in pid 1" unshare $([ "$(id -u)" = 0 ] || echo -r) --fork --pid --mount-proc "$BUILDDIR/tests/recording/hosts_memory" owner owner.vgp
"$VGTOOL" info owner.vgp >log 2>&1 || fail "owner.vgp: $(cat log)"

# The archive can be linked into a program, position-independent or not, and into a plugin.
plugin=$SRCDIR/tests/fixtures/plugin.c
compiles constructor -DCONSTRUCTOR "$plugin" "$libraries/libvgctl.a"
host "begin in a constructor" ./constructor
compiles fixed -DCONSTRUCTOR -fno-pie -no-pie -static "$plugin" "$libraries/libvgctl.a"
host "begin in a constructor, static" ./fixed
compiles reload "$SRCDIR/tests/fixtures/reload.c"
compiles plugin_archive.so -shared -fPIC "$plugin" "$libraries/libvgctl.a"
host "plugin with the archive" ./reload ./plugin_archive.so archive.vgp
compiles plugin_shared.so -shared -fPIC "$plugin" -Wl,-rpath,"$libraries" -L"$libraries" -lvgctl
host "plugin with the shared library" ./reload ./plugin_shared.so shared.vgp
# A plugin does not export the archive's internal functions.
internal=$(nm -D --defined-only plugin_archive.so | awk '$3 ~ /^vg_/ { print $3 }')
[ -z "$internal" ] || fail "a plugin exports internal functions:" $internal

# Each function of the library needs at most 4 KiB of its thread's stack.  The C library needs more on top: about 2 KiB
# for a message.
mkdir calls
(
	cd calls
	gcc -std=gnu11 -D_GNU_SOURCE -O2 -fstack-protector-strong -I"$SRCDIR" -DVG_LIBEXECDIR='"/nonexistent"' \
		-fcallgraph-info=su -c "$SRCDIR"/base/*.c "$SRCDIR"/libvgctl/*.c
)
cat >deepest.py <<'END_OF_SCRIPT'
import glob, re, sys
own, calls = {}, {}
for name in glob.glob("calls/*.ci"):
    for line in open(name):
        node = re.match(r'node: { title: "([^"]*)".*\\n(\d+) bytes \(', line)
        edge = re.match(r'edge: { sourcename: "([^"]*)" targetname: "([^"]*)"', line)
        if node:
            own[node[1]] = int(node[2])
        elif edge:
            calls.setdefault(edge[1], set()).add(edge[2])
def deepest(function, above):
    assert function not in above, "recursion: " + " ".join(above)
    below = [deepest(called, above + (function,)) for called in calls.get(function, ())]
    return max(below, default=(0, ()))[0] + own.get(function, 0), (function,) + max(below, default=(0, ()))[1]
chains = sorted(deepest(function, ()) for function in own if function.startswith("vgctl_"))
assert len(chains) > 10, "no functions are found"
for length, chain in chains[-3:]:
    print(length, "bytes of stack:", *(name.split("/")[-1].split(":")[-1] for name in chain))
sys.exit(chains[-1][0] > 4096)
END_OF_SCRIPT
host "stack use" python3 deepest.py
