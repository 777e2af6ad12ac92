#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The unit vignetted@.service, in a container with systemd: tests/release/systemd_guest.sh is the test that runs there.
#
# Needs root, mmdebstrap, systemd-container and a mirror: tests/release/roots.sh.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
. "$SRCDIR/tests/release/roots.sh"

root systemd "$this_suite" --include=systemd-sysv,dbus
root=$dir/systemd

# Vignette is installed in /usr.  The libraries of its programs come from this machine.
unit=$dir/vignetted@.service
sed 's,^ExecStart=.*/,ExecStart=/usr/libexec/,' "$BUILDDIR/vignetted/systemd/vignetted@.service" >"$unit"
mkdir -p "$root/usr/libexec" "$root/usr/lib/systemd/system"
cp "$SRCDIR/vignetted/systemd/vignetted.conf" "$root/usr/lib/sysusers.d/"
cp "$VIGNETTED" "$SRCDIR/vignetted/systemd/vignetted-service" "$root/usr/libexec/"
cp "$VGTOOL" "$root/usr/bin/"
cp "$unit" "$root/usr/lib/systemd/system/"
for program in "$VGTOOL" "$VIGNETTED"; do
	ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
		[ -e "$root$library" ] || { mkdir -p "$root$(dirname "$library")" && cp -L "$library" "$root$library"; }
	done
done

# A service whose stacks differ from each other, so that its profiles are large: each call chooses the next function.
cat >"$dir/work.c" <<'END'
#include <time.h>
static unsigned state = 1;
static void one(int depth), two(int depth);
static void call(int depth) { state = state * 1103515245 + 12345; (state >> 16 & 1 ? one : two)(depth); }
static void leaf(void) { for (volatile int i = 0; i < 20000; i++) ; }
static void one(int depth) { if (depth > 0) call(depth - 1); else leaf(); __asm__ volatile(""); }
static void two(int depth) { if (depth > 0) call(depth - 1); else leaf(); __asm__ volatile("nop"); }
int main(void)
{
	for (;;) {
		for (int i = 0; i < 200; i++)
			call(100);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}
END
$CC -O1 -fno-optimize-sibling-calls -o "$root/usr/bin/work" "$dir/work.c"
cat >"$root/usr/lib/systemd/system/work.service" <<'END'
[Service]
ExecStart=/usr/bin/work
DynamicUser=yes
Restart=always
RestartSec=300ms
END
cat >"$root/usr/lib/systemd/system/guest.service" <<'END'
[Unit]
After=basic.target dbus.socket
Wants=dbus.socket
[Service]
ExecStart=/bin/sh /usr/libexec/systemd_guest.sh
ExecStopPost=/usr/bin/systemctl poweroff --force --force
StandardOutput=append:/guest.log
StandardError=inherit
END
cp "$SRCDIR/tests/release/systemd_guest.sh" "$root/usr/libexec/"
# The container shares the kernel, its settings and no processes.  --register and --keep-unit: this machine need not run
# systemd itself.  Two more things than usual are allowed in it, because vignetted needs them.
timeout 600 systemd-nspawn --quiet --register=no --keep-unit --private-network --directory="$root" --boot \
	--capability=CAP_PERFMON --system-call-filter=@debug systemd.unit=guest.service </dev/null >"$dir/log" 2>&1 || true
cat "$root/guest.log" 2>/dev/null || fail "the container did not start: $(tail -n 30 "$dir/log")"
grep -q '^guest: passed' "$root/guest.log" || fail "the test in the container failed"

# The score is the one of systemd 252; a greater one means that a restriction is missing.
mkdir "$dir/analyzed"
sed 's,^ExecStart=.*,ExecStart=/bin/true,' "$unit" >"$dir/analyzed/vignetted@.service"
systemd-analyze verify --man=no "$dir/analyzed/vignetted@.service" >"$dir/log" 2>&1 || fail "verify: $(cat "$dir/log")"
[ ! -s "$dir/log" ] || fail "verify: $(cat "$dir/log")"
systemd-analyze security --offline=yes --threshold=20 "$dir/analyzed/vignetted@.service" >"$dir/log" 2>&1 ||
	fail "security: $(cat "$dir/log")"
sed -n 's/.*Overall exposure level for .*: \([0-9.]*\).*/ok: systemd-analyze security: \1/p' "$dir/log"
