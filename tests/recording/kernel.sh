#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# --kernel: frames of kernel code are the leaf frames of the same sample's user stack.  They have names of /proc/kallsyms,
# and the profile has no address of the kernel.  Without --kernel there are none.  A recording that is not permitted is
# refused before the command starts, by a sentence that names the setting.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node
cd "$dir"
if ! "$VIGNETTED" --check >check || ! grep -q '^record the functions of the kernel (--kernel): yes$' check; then
	skip "--kernel is not permitted here: $(cat check)"
fi

cat >reader.c <<'END'
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
static char room[1 << 20];
__attribute__((noinline)) static int read_zeros(int fd)
{
	return read(fd, room, sizeof room) > 0;
}
int main(int argc, char **argv)
{
	int fd = open("/dev/zero", O_RDONLY);
	long left = argc > 1 ? atol(argv[1]) : -1;
	write(1, "ready\n", 6);
	while (left-- != 0 && read_zeros(fd))
		;
	return 0;
}
END
$CC -O1 -fno-optimize-sibling-calls -Wl,--build-id=sha1 -o reader reader.c
cut -d ' ' -f 3 /proc/kallsyms | cut -f 1 | sort -u >kallsyms

# No frame of the kernel calls a frame of the process.  The kernel frames are followed by the function that reads.
cat >stacks.mjs <<'END'
import { readFileSync } from "node:fs";
const records = readFileSync(process.argv[2], "utf8").trim().split("\n").map((line) => JSON.parse(line));
const of = (kind) => records.filter((one) => one.kind === kind);
const names = new Set(readFileSync("kallsyms", "utf8").split("\n"));
const modules = new Map(of("module").map((one) => [one.id, one]));
const symbols = new Map(of("kernel_symbol").map((one) => [`${one.module} ${one.number}`, one.name]));
const stacks = new Map(of("stack").map((one) => [one.id, one]));
const inKernel = (stack) => stack?.found_by === 5;
const wrong = (what) => { console.log(what); process.exit(1); };
for (const name of symbols.values())
	if (!names.has(name) && name !== "[unknown]") wrong(`no kernel function: ${name}`);
for (const stack of stacks.values()) {
	if (inKernel(stack) && !symbols.has(`${stack.module} ${stack.address}`)) wrong(`no name: ${JSON.stringify(stack)}`);
	if (inKernel(stack) && !/^\[.*\]$/.test(modules.get(stack.module).name)) wrong(`module: ${JSON.stringify(stack)}`);
	if (inKernel(stack) && stack.address > symbols.size + 1) wrong(`an address: ${JSON.stringify(stack)}`);
	if (!inKernel(stack) && inKernel(stacks.get(stack.parent))) wrong(`called by the kernel: ${JSON.stringify(stack)}`);
}
let samples = 0, above = 0;
for (const sample of of("sample")) {
	let stack = stacks.get(sample.stack);
	const found = [];
	for (; inKernel(stack); stack = stacks.get(stack.parent))
		found.push(symbols.get(`${stack.module} ${stack.address}`));
	samples += found.length > 0;
	above += found.some((name) => /read/.test(name)) && stack !== undefined && modules.get(stack.module)?.size_bytes > 0;
}
console.log(samples, above);
END

# recorded OUT OPTION...: records the reading program
recorded() {
	out=$1
	shift
	started said ./reader
	timeout -s KILL $life_s "$VIGNETTED" --pid $started --rate 499 -o "$out" "$@" 2>log ||
		grep -q ': no samples: ' log || fail "$*: $(cat log)"
	stopped $started
	"$VGTOOL" dump "$out" >dumped
	counts=$(node stacks.mjs dumped) || fail "$out: $counts"
	samples=${counts% *} above=${counts#* }
	# A number of 64 bits that is an address of the kernel
	! LC_ALL=C grep -qaP '\xcf\xff\xff[\x80-\xff]' "$out" || fail "$out has addresses of the kernel"
}

# 0.5 s are enough, unless the machine is very slow.
for seconds in 0.5 2 8 32 128; do
	recorded kernel.vgp --kernel --duration $seconds
	[ "$above" -lt 50 ] || break
done
echo "$samples samples in the kernel, $above above a call of read"
[ "$above" -ge 50 ] || fail "$above samples, expected at least 50, in the kernel above a call of read: $(cat log)"

# ---- views ----
exits 0 "$VGTOOL" symbols -o store reader
exits 0 "$VGTOOL" resolve -s store kernel.vgp -o named.vgp
! grep -q '\[kernel\]' err || fail "resolve searches symbols of the kernel: $(cat err)"
for view in kernel named; do
	exits 0 "$VGTOOL" folded $view.vgp
	grep -qE ';(vfs|ksys)_read(;| )' out || fail "$view: no stack in the kernel: $(head -c 400 out)"
done
grep -qE 'main;read_zeros;.*_read(;| )' out || fail "no user frames: $(head -c 400 out)"
# A view symbolizes user code, although the profile has symbols of the kernel.
exits 0 "$VGTOOL" folded -s store kernel.vgp
grep -qE 'main;read_zeros;.*_read(;| )' out || fail "not symbolized: $(head -c 400 out)"
exits 0 "$VGTOOL" report --limit 1000 named.vgp
grep -qE ' (vfs_read|ksys_read)  \[kernel\]$' out || fail "report: $(cat out)"
exits 0 "$VGTOOL" report --tree named.vgp
has out '  [kernel]'
exits 0 "$VGTOOL" report --by module --json named.vgp
grep -q '"\[kernel\]"' out || fail "report --by module: $(cat out)"
for view in speedscope chrome; do
	exits 0 "$VGTOOL" $view named.vgp -o view.json
	grep -qE '"[a-z]*_read"' view.json || fail "$view has no function of the kernel"
done
exits 1 "$VGTOOL" missing -s store kernel.vgp
! grep -q '\[kernel\]' out || fail "missing: $(cat out)"
exits 0 "$VGTOOL" audit kernel.vgp
grep -qE '^kernel +(vfs|ksys)_read$' out || fail "audit: $(cat out)"

# ---- without the option, and with stops ----
for seconds in 0.2 2 8 32 128; do
	recorded plain.vgp --duration $seconds
	[ "$(info plain.vgp samples)" -lt 20 ] || break
done
[ "$(info plain.vgp samples)" -ge 20 ] || fail "fewer than 20 samples in $seconds s, so the test proves nothing"
[ "$samples" = 0 ] || fail "$samples samples in the kernel without --kernel"
! grep -q kernel_symbol dumped || fail "names of the kernel without --kernel"
exits 2 "$VIGNETTED" --kernel --capture stop -- touch begun
has err 'both --kernel and --capture stop; only timers sample the kernel'

# ---- vgtool record ----
# 3,000 reads take some 50 ms of CPU time.  On a busy machine the process may end before it has timers.
in_kernel() {
	exits 0 "$VGTOOL" record --kernel --rate 499 -- ./reader $long
	grep -qF '  [kernel]' out
}
lengthen "3000 30000 300000 3000000" in_kernel || fail "record: no function of the kernel: $(cat out)"

# ---- refusals ----
if [ "$(id -u)" = 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ]; then
	install -d -m 777 other
	as_nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
	(cd other && exits 1 $as_nobody "$VIGNETTED" --kernel -- touch begun)
	[ "$(wc -l <err)" = 1 ] || fail "more than one sentence: $(cat err)"
	grep -q '^vignetted: --kernel: kernel.perf_event_paranoid is [2-9], .*; let root run: sysctl ' err ||
		fail "refused with: $(cat err)"
	[ -z "$(ls other)" ] || fail "a refused recording leaves $(ls other)"
	exits 1 $as_nobody --inh-caps +perfmon --ambient-caps +perfmon "$VIGNETTED" --kernel -- touch begun
	has err 'vignetted: --kernel: /proc/kallsyms hides the addresses of kernel functions; let root run: sysctl '
	exits 0 $as_nobody "$VIGNETTED" --check
	grep -q '^sample kernel code by timers: no: kernel.perf_event_paranoid is ' out || fail "--check: $(cat out)"
fi
[ ! -e begun ] || fail "a refused recording has started its command"
