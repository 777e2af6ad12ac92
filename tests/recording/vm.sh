#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What Yama's ptrace_scope 0 to 3 allows an ordinary user.  This needs a kernel with Yama: a virtual machine runs
# Debian's kernel and an initramfs with busybox, vignetted and tests/recording/yama.c.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
. "$SRCDIR/tests/vm.sh"

vm_kernel "$(. /etc/os-release && echo "$VERSION_CODENAME")"
root=$dir/root
vm_yama "$root"
cp "$VIGNETTED" "$root/vignette/vignetted"
ldd "$VIGNETTED" | grep -o '/[^ ]*' | while read -r library; do
	mkdir -p "$root$(dirname "$library")"
	cp -L "$library" "$root$library"
done
echo "/vignette/yama /vignette/vignetted" >"$root/run"
vm_boot "$root"
vm_yama_passed
