# SPDX-License-Identifier: MIT OR Apache-2.0
#
# For tests that boot a kernel of Debian: they read this file with `.` after tests/lib.sh.  Needs qemu-system-x86,
# busybox-static, cpio, and the mirror from which this machine's apt installs.
for tool in qemu-system-x86_64 busybox cpio apt-get; do
	command -v $tool >/dev/null || fail "$tool is missing"
done

# vm_kernel SUITE: sets $kernel to the newest kernel of that suite of Debian.  It is kept in the
# build's folder vm; remove it to get a newer one.
vm_kernel() {
	kernel=$BUILDDIR/vm/$1
	[ ! -f "$kernel" ] || return 0
	vm_apt=$dir/apt-$1
	mkdir -p "$vm_apt/lists/partial" "$vm_apt/cache/archives/partial" "$BUILDDIR/vm"
	vm_mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' |
		head -n 1)
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $vm_mirror $1 main" >"$vm_apt/sources"
	# This machine's apt has only its own suite, so these commands use indexes of their own.
	cat >"$vm_apt/conf" <<-END
	Dir::Etc::SourceList "$vm_apt/sources"; Dir::Etc::SourceParts "-"; Dir::State::Lists "$vm_apt/lists";
	Dir::Cache "$vm_apt/cache"; APT::Sandbox::User "root"; #clear APT::Update; #clear DPkg;
	END
	(
		export APT_CONFIG="$vm_apt/conf"
		cd "$vm_apt" && apt-get update -qq &&
			vm_image=$(apt-cache depends linux-image-cloud-amd64 |
				sed -n 's/.*Depends: \(linux-image-[0-9][^ ]*\).*/\1/p' | head -n 1) &&
			# Some releases have vmlinuz in a package of its own.
			vm_binary=$(apt-cache depends "$vm_image" | sed -n 's/.*Depends: \(linux-binary-[^ ]*\).*/\1/p') &&
			apt-get download -qq "${vm_binary:-$vm_image}" && dpkg -x ./*.deb unpacked
	) >"$dir/log" 2>&1 || fail "the kernel of $1: $(cat "$dir/log")"
	mv "$(find "$vm_apt/unpacked" -name 'vmlinuz*')" "$kernel"
	rm -r "$vm_apt"
}

# vm_boot ROOT: boots $kernel with the folder ROOT as its file system, which runs ROOT/run and ends.  $dir/console then
# is what the machine printed.  A command of ROOT/run sends a file with `base64 FILE >/dev/ttyS1`; $dir/sent has these.
vm_boot() {
	mkdir -p "$1/bin" "$1/proc" "$1/sys" "$1/dev" "$1/tmp"
	cp "$(command -v busybox)" "$1/bin/busybox"
	cat >"$1/init" <<-'END'
	#!/bin/busybox sh
	/bin/busybox mount -t proc proc /proc
	/bin/busybox mount -t sysfs sysfs /sys
	/bin/busybox mount -t devtmpfs devtmpfs /dev
	/bin/busybox chmod 1777 /tmp
	/bin/busybox --install -s /bin
	export PATH=/bin
	sh /run
	poweroff -f
	END
	chmod 755 "$1/init" "$1"
	(cd "$1" && find . | cpio -o -H newc --quiet | gzip -1) >"$dir/initramfs"
	# The machine is emulated, because the host may itself be a virtual machine without KVM.  no_timer_check: on a busy
	# host the kernel finds that its timer does not work, and panics.
	timeout 280 qemu-system-x86_64 -accel tcg -smp 2 -m 512 -nographic -no-reboot -nodefaults -serial stdio \
		-serial "file:$dir/sent" -kernel "$kernel" -initrd "$dir/initramfs" \
		-append "console=ttyS0 quiet panic=-1 no_timer_check" </dev/null 2>&1 | tr -d '\r' >"$dir/console"
}

# vm_yama ROOT: adds the static program of tests/recording/yama.c.  The command /vignette/yama VIGNETTED runs it.
vm_yama() {
	mkdir -p "$1/vignette"
	$CC -O2 -static -D_GNU_SOURCE -I"$SRCDIR" -o "$1/vignette/yama" "$SRCDIR/tests/recording/yama.c" \
		"$BUILDDIR/libvgctl/.libs/libvgctl.a" -lpthread || fail "yama.c does not compile"
}

# vm_yama_passed: fails unless all parts of yama.c passed
vm_yama_passed() {
	grep -aE '^(ok|FAIL|yama):' "$dir/console" || fail "the machine printed: $(tail -n 30 "$dir/console")"
	[ "$(grep -ac '^ok: ptrace_scope' "$dir/console")" = 12 ] || fail "not 12 parts passed"
	grep -aq '^yama: passed' "$dir/console" || fail "yama failed"
}
