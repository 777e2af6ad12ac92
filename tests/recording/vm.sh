#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What Yama's ptrace_scope 0 to 3 allows an ordinary user.  This needs a kernel with Yama: a virtual machine runs
# Debian's kernel and an initramfs with busybox, vignetted and tests/recording/yama.c.
set -eu
. "${SRCDIR:?}/tests/lib.sh"

# The kernel's package is only unpacked.
kernel=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9][^ ]*\).*/\1/p' | head -n 1)
mkdir -p "$BUILDDIR/vm"
[ -f "$BUILDDIR/vm/$kernel" ] || {
	(cd "$dir" && apt-get download -qq "$kernel" 2>/dev/null && dpkg -x "$kernel"_*.deb unpacked)
	cp "$dir"/unpacked/boot/vmlinuz-* "$BUILDDIR/vm/$kernel"
}

root=$dir/root
mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/vignette"
cp "$(command -v busybox)" "$root/bin/busybox"
libtool=$BUILDDIR/libtool
"$libtool" -s --mode=install install -c "$BUILDDIR/tests/recording/yama" "$root/vignette/yama" >/dev/null 2>&1 ||
	cp "$BUILDDIR/tests/recording/yama" "$root/vignette/yama"
cp "$VIGNETTED" "$root/vignette/vignetted"
for program in "$root/vignette/yama" "$root/vignette/vignetted"; do
	ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
		mkdir -p "$root$(dirname "$library")"
		cp -L "$library" "$root$library"
	done
done
cat >"$root/init" <<'END'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
/bin/busybox chmod 1777 /tmp
/vignette/yama /vignette/vignetted
/bin/busybox poweroff -f
END
chmod 755 "$root/init" "$root"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$dir/initramfs"

# The machine is emulated, because the host may itself be a virtual machine without KVM.
timeout 280 qemu-system-x86_64 -accel tcg -m 512 -nographic -no-reboot -nodefaults -serial stdio \
	-kernel "$BUILDDIR/vm/$kernel" -initrd "$dir/initramfs" \
	-append "console=ttyS0 quiet panic=-1" </dev/null >"$dir/log" 2>&1 || true
tr -d '\r' <"$dir/log" | grep -aE '^(ok|FAIL|yama):' || fail "the machine printed nothing: $(tail -n 30 "$dir/log")"
[ "$(tr -d '\r' <"$dir/log" | grep -ac '^ok: ptrace_scope')" = 12 ] || fail "not 12 parts passed"
grep -aq '^yama: passed' "$dir/log" || fail "yama failed"
