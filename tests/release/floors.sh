#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The oldest systems that Vignette supports.  An application with libvgctl, and the static helper beside it, records
# itself where nothing else is installed: in a Debian 11 (glibc 2.31), in a root that has only musl, and on the oldest
# and the newest kernel that Debian serves.  Its profiles are symbolized here.
#
# The library is that of this build, and the helper is that of `./bootstrap dist-helper`.  The application is built with
# this machine's compiler against the headers and the C library of Debian 11 (--sysroot), as vendors do it.  A program
# that is linked with Debian 12's C library needs glibc 2.34, because its crt1.o calls __libc_start_main@GLIBC_2.34.
#
# Needs build/dist-helper; root, mmdebstrap and a mirror (tests/release/roots.sh); musl-tools; qemu and more
# (tests/vm.sh).
set -eu
. "${SRCDIR:?}/tests/lib.sh"
. "$SRCDIR/tests/release/roots.sh"
. "$SRCDIR/tests/vm.sh"
for tool in musl-gcc objdump; do
	command -v $tool >/dev/null || fail "$tool is missing"
done
oldest=bullseye newest=sid                      # suites of Debian
helper=$BUILDDIR/dist-helper/vignetted library=$BUILDDIR/libvgctl/.libs/libvgctl.so.0
[ -f "$helper" ] || fail "$helper is missing; ./bootstrap dist-helper makes it"
! readelf -d "$helper" | grep NEEDED || fail "the static helper needs libraries"
echo "the static helper has $(stat -c %s "$helper") bytes"

# compile COMPILER OPTION...: builds the application
compile() {
	compiler=$1
	shift
	"$compiler" -O2 -g -D_GNU_SOURCE -I"$SRCDIR/libvgctl" "$SRCDIR/examples/life.c" "$@" || fail "life.c: $compiler"
}
# needs_glibc FILE: prints the newest version of glibc that the file needs
needs_glibc() {
	objdump -T "$1" | grep -o 'GLIBC_2[0-9.]*' | sort -uV | tail -n 1 | sed 's/GLIBC_//'
}
# not_newer VERSION FILE: fails if the file needs a newer glibc
not_newer() {
	needed=$(needs_glibc "$2")
	[ "$(printf '%s\n' "$needed" "$1" | sort -V | tail -n 1)" = "$1" ] || fail "$2 needs glibc $needed"
	echo "${2##*/} needs glibc $needed"
}
# ship DIRECTORY PROGRAM FILE...: copies the stripped program with these files
ship() {
	ship=$1
	mkdir -p "$ship"
	shift
	cp -L "$@" "$helper" "$ship"
	strip --strip-all "$ship/$(basename "$1")"
}
# symbolized PROFILE PROGRAM C_LIBRARY: symbolizes the profile with these files; board_evolve(), in which two of the
# four threads are, has samples.  Counts samples because in an emulated machine with fewer CPUs than busy threads, a
# stop takes so long that most stopped threads are taken for queued, and most CPU time is in no sample.
symbolized() {
	"$VGTOOL" info --json "$1" >"$dir/info" || fail "$1 cannot be read"
	symbolize "$1" wall "$dir/functions" "$2" "$3" 2>"$dir/log"
	evolving=$(json "$dir/report" "(it.functions.find((f) => f.name === 'board_evolve') || {}).total_samples || 0")
	echo "${1##*/}: $(info "$1" samples) samples, $evolving of them in board_evolve"
	[ "$evolving" -ge 5 ] || fail "$(cat "$dir/info" "$dir/functions")"
}

# ---- Debian 11 ----
root debian_11 $oldest
root sysroot $oldest --variant=extract --include=libc6-dev
find "$dir/sysroot" -lname '/*' | while read -r link; do
	ln -snf "$dir/sysroot$(readlink "$link")" "$link"
done
# Without -B gcc takes crt1.o from its own system.
compile gcc --sysroot="$dir/sysroot" -B"$dir/sysroot/usr/lib/x86_64-linux-gnu" -o "$dir/life" \
	-Wl,-rpath,'$ORIGIN' "$library" -lpthread
ship "$dir/debian_11/app" "$dir/life" "$library"
not_newer 2.28 "$dir/debian_11/app/libvgctl.so.0"
not_newer 2.31 "$dir/debian_11/app/life"
inside debian_11 65534:65534 <<'END'
	/app/life /tmp/life.vgp 2
END
glibc=$(echo "$dir"/debian_11/lib/x86_64-linux-gnu/libc-*.so)
symbolized "$dir/debian_11/tmp/life.vgp" "$dir/life" "$glibc"

# ---- musl: nothing else is in this root, not even a shell ----
mkdir "$dir/musl" "$dir/kernel_headers"
# musl-gcc does not search for the kernel's headers.
ln -s /usr/include/linux /usr/include/asm-generic "/usr/include/$(gcc -print-multiarch)/asm" "$dir/kernel_headers"
(cd "$dir/musl" && unset MAKEFLAGS MFLAGS MAKELEVEL &&
	"$SRCDIR/configure" -q --without-helper --without-tools CC="musl-gcc -idirafter $dir/kernel_headers" &&
	make -s libvgctl/libvgctl.la) >"$dir/log" 2>&1 || fail "the library with musl: $(tail -n 30 "$dir/log")"
compile musl-gcc -o "$dir/life_musl" "$dir/musl/libvgctl/.libs/libvgctl.a"
loader=$(readelf -p .interp "$dir/life_musl" | grep -o '/.*')
ship "$dir/musl_only/app" "$dir/life_musl"
mkdir -p "$dir/musl_only/lib" "$dir/musl_only/proc" "$dir/musl_only/tmp"
chmod 1777 "$dir/musl_only/tmp"
cp -L "$loader" "$dir/musl_only/lib"
env -u VIGNETTED unshare --mount-proc="$dir/musl_only/proc" chroot --userspec=65534:65534 "$dir/musl_only" \
	/app/life_musl /tmp/life_musl.vgp 2 || fail "the application for musl fails"
symbolized "$dir/musl_only/tmp/life_musl.vgp" "$dir/life_musl" "$loader"

# ---- the oldest and the newest kernel ----
vm=$dir/vm
mkdir -p "$vm/lib/x86_64-linux-gnu" "$vm/lib64"
cp -a "$dir/debian_11/app" "$dir/musl_only/app" "$vm"
cp -L "$loader" "$vm/lib"
cp "$dir"/debian_11/lib/x86_64-linux-gnu/ld-2*.so "$vm/lib64/ld-linux-x86-64.so.2"
for library in libc.so.6 libdl.so.2 libpthread.so.0; do
	cp -L "$dir/debian_11/lib/x86_64-linux-gnu/$library" "$vm/lib/x86_64-linux-gnu"
done
vm_yama "$vm"
cat >"$vm/run" <<'END'
echo "kernel: $(uname -r)"
cd /tmp
/app/life life.vgp 2
/app/life_musl life_musl.vgp 2
tar -c life.vgp life_musl.vgp | base64 >/dev/ttyS1
/vignette/yama /app/vignetted                           # the last, because it forbids all tracing
END
for suite in $oldest $newest; do
	vm_kernel $suite
	vm_boot "$vm"
	echo "$suite: $(grep -ao 'kernel: .*' "$dir/console")"
	mkdir "$dir/$suite"
	tr -d '\r' <"$dir/sent" | base64 -d | tar -C "$dir/$suite" -x && [ -s "$dir/$suite/life_musl.vgp" ] ||
		fail "the machine sent no profiles: $(cat "$dir/console")"
	symbolized "$dir/$suite/life.vgp" "$dir/life" "$glibc"
	symbolized "$dir/$suite/life_musl.vgp" "$dir/life_musl" "$loader"
	vm_yama_passed
done
echo "an application records itself on the oldest systems"
