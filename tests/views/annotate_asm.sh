#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vgtool annotate --asm on a program whose time is in one loop.  The test also covers the places of the binary, another
# build with the same name, and an objdump that a hostile binary has taken control of.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node strace
. "$SRCDIR/tests/views/recorded.sh"
unset COLUMNS PAGER VGTOOL_SYMBOLS DEBUGINFOD_URLS || true
cd "$dir"
export XDG_CACHE_HOME="$dir/cache"
cat >program.c <<'END'
static volatile unsigned sum;
int atoi(const char *text);
static __attribute__((noinline, noclone)) void spin(long n)
{
	for (long i = 0; i < n; i++) sum += sum >> 3;
}

static inline void inlined(long n)
{
	for (long i = 0; i < n; i++) sum += sum >> 5;
}

static __attribute__((noinline, noclone)) void work(void)
{
	spin(300000);
	inlined(100000);
}

int main(int argc, char **argv)
{
	for (int i = 400 * atoi(argv[argc - 1]); i > 0; i--)
		work();
}
END
$CC -g -O2 -Wl,--build-id=sha1 -o program program.c
# spin() has 75 % of the time.  With 160 samples it has less than half of it with a probability of 1e-10 (Chernoff's
# bound).
record_until 160 p.vgp ./program --rate 1999 --capture "$(build_capture)"

# A store with two files of one build id: one has the lines, the other has the code.  It is made early, because an index
# opens files again that were changed less than 2 s before it was made.
mkdir both
objcopy --only-keep-debug program both/lines
strip -o both/code program
echo text >both/text

# asm ARGUMENT...: writes JSON to $dir/out
asm() {
	exits 0 "$VGTOOL" annotate --asm --json "$@"
}
# The instructions of a loop end with a jump to the loop's first instruction.
loop='const f = it.functions[0], last = f.instructions.findLast(i => /^j/.test(i.text) &&
		parseInt(i.text.split(/ +/)[1], 16) < i.address), first = parseInt(last.text.split(/ +/)[1], 16),
	inside = f.instructions.filter(i => i.address >= first && i.address <= last.address),
	self = inside.reduce((sum, i) => sum + i.self_samples, 0);'

# ---- the shares ----
asm spin p.vgp
held "$loop it.functions.length === 1 && f.name === 'spin' && f.module === 'program'"
held "$loop f.self_samples > 50 && self > 0.9 * f.self_samples"
held "$loop inside.every(i => i.line === 5 && /program.c\$/.test(i.file) && i.inlined === null)"
held "$loop f.instructions.reduce((sum, i) => sum + i.self_ns, 0) === f.self_ns && f.self_ns <= it.weight_ns"

# A caller's time belongs to its call instruction, and not to the instruction behind it.
asm work p.vgp
held "$loop const call = f.instructions.find(i => /^call.*<spin>/.test(i.text));
	call.self_ns < it.weight_ns / 20 && call.total_ns > it.weight_ns / 2 && call.line === 15"
held "$loop inside.every(i => i.inlined === 'inlined' && i.line === 10)"
exits 1 "$VGTOOL" annotate --asm inlined p.vgp
has err 'inlined: it is inlined everywhere; its instructions are in work'

# ---- text ----
exits 0 "$VGTOOL" annotate --asm spin p.vgp
grep -q '^spin \[program\]: [0-9.]*% of the cpu time is in its own code' out || fail "no heading: $(cat out)"
grep -q '^ *program.c:5  for (long i = 0; i < n; i++) sum += sum >> 3;$' out || fail "no source line: $(cat out)"
grep -qE '^ *[0-9.]+% +[0-9.]+% +[0-9]+ +[0-9a-f]+  [a-z]+ ' out || fail "no instruction with samples: $(cat out)"
grep -qE '^ +[0-9a-f]+  ret' out || fail "no instruction without samples: $(cat out)"

# ---- binaries ----
"$VGTOOL" resolve -s program p.vgp -o r.vgp 2>log || fail "$(cat log)"
asm spin r.vgp
held "$loop self > 0.9 * f.self_samples"
# The lines are in a separate debug file, which has no code.
mkdir -p "debug/$(dirname "$(debug_path "$(build_id program)")")" kept empty
objcopy --only-keep-debug program "debug/$(debug_path "$(build_id program)")"
strip program
asm -s debug spin p.vgp
held "$loop inside.every(i => i.line === 5)"
mv program kept
asm -s debug -s kept spin r.vgp
held "$loop self > 0.9 * f.self_samples"
# An index knows which of two files with one build id has the lines, and which has the code.
uses_index() {
	# LeakSanitizer cannot trace a process that strace traces.
	ASAN_OPTIONS=detect_leaks=0 exits 0 strace -f -qq -o calls -e trace=openat,open \
		"$VGTOOL" annotate --asm --json -s both spin p.vgp
	out_holds "$loop inside.every(i => i.line === 5)"
	! grep -q '"both/text"' calls
}
await 120 'a run that opens no other file of the store' uses_index
# Another build of the same name is not used, wherever it is.
$CC -g -O1 -Wl,--build-id=sha1 -o program program.c
exits 1 "$VGTOOL" annotate --asm -s debug spin p.vgp
has err "program: the binary with the build id $(build_id kept/program) was not found"
exits 1 "$VGTOOL" annotate --asm -s program spin r.vgp
has err 'program: '
[ ! -s out ] || fail "instructions of another build: $(cat out)"

# ---- objdump ----
exits 1 env PATH="$dir/empty" "$VGTOOL" annotate --asm spin p.vgp
has err '--asm: objdump was not found in $PATH; install the package binutils'
exits 2 "$VGTOOL" annotate --json spin p.vgp
has err '--json: use it with --asm'

# An attacker's program in place of objdump.  Its argument is the first address.
cat >objdump.c <<'END'
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static unsigned long first;
static void instruction(int number, const char *text) { printf(" %lx:\t%s\n", first + number, text); }
static void attempt(int number, const char *text, long rc) { instruction(number, rc < 0 ? text : "done"); }
int main(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (strncmp(argv[i], "--start-address=", 16) == 0)
			first = strtoul(argv[i] + 16, NULL, 16);
#if defined RUBBISH
	for (int i = 0; i < 1000000; i++)
		putchar(i * 2654435761u >> 24);
	putchar('\n');
	instruction(-1, "before");
	instruction(5, "\033[31mred");
	instruction(4, "not ascending");
	instruction(1 << 20, "behind");
	printf("ffffffffffffffffffff:\tx\n:\t\n %lx:\n %lx: x\n-1:\tx\n", first, first);
	printf("0x%lx:\tx\n%lx:\t", first, first + 7);
	for (int i = 0; i < 100000; i++)
		putchar('y');
	printf("\n%lx:\tlast", first + 8);
#elif defined ENDLESS
	for (;;)
		instruction(0, "nop");
#elif defined HANGS
	poll(NULL, 0, -1);
#elif defined SILENT
	abort();
#elif defined NOSY
	attempt(0, "socket", socket(AF_INET, SOCK_STREAM, 0));
	attempt(1, "create", open(argv[0], O_CREAT | O_RDWR, 0700));
	attempt(2, "write", open("/dev/null", O_WRONLY));
	attempt(3, "fork", fork());
	attempt(4, "read", open(FILE_OF_USER, O_RDONLY));
	attempt(5, "terminal", open("/dev/tty", O_RDONLY));
	attempt(6, "environment", getenv("SECRET") != NULL ? 0 : -1);
	attempt(7, "descriptor", read(9, &first, 1));
	attempt(8, "working_directory", open("p.vgp", O_RDONLY));
	attempt(9, "kill", kill(getppid(), 0));
#endif
	return 0;
}
END
for mode in RUBBISH ENDLESS HANGS SILENT NOSY; do
	mkdir $mode
	$CC -w -D$mode -DFILE_OF_USER="\"$dir/log\"" -o $mode/objdump objdump.c
done
# hostile MODE STATUS: runs with that objdump
hostile() {
	exits "$2" env PATH="$dir/$1:$PATH" SECRET=1 "$VGTOOL" annotate --asm --json -s debug -s kept spin r.vgp 9<log
}
hostile RUBBISH 0
held "const i = it.functions[0].instructions; i.length === 2 && i[0].text === '\\u001b[31mred' &&
	/^y{900,1000}\$/.test(i[1].text)"
exits 0 env PATH="$dir/RUBBISH:$PATH" "$VGTOOL" annotate --asm -s debug -s kept spin r.vgp
grep -qF '\x1b[31mred' out || fail "an escape sequence reaches the terminal: $(cat -v out)"
hostile ENDLESS 1
has err 'objdump printed more than 64 MiB'
hostile SILENT 1
has err 'objdump printed no instruction'
# The sanitized vgtool does not confine objdump.
if [ -z "${SANITIZE-}" ]; then
	hostile NOSY 0
	# SYS_landlock_create_ruleset has this number on all machines.  With these arguments it returns the version.
	echo 'int main(void) { return syscall(444, (void *)0, 0L, 1) < 1; }' >landlock.c
	$CC -w -o landlock landlock.c
	refused='socket create write fork read terminal environment descriptor working_directory kill'
	# Only Landlock forbids these two.
	./landlock || refused='socket create write fork done terminal environment descriptor done kill'
	held "it.functions[0].instructions.map(i => i.text).join(' ') === '$refused'"
fi
# It ends with vgtool.
objdump_runs() {
	ls -l /proc/[0-9]*/exe 2>/dev/null | grep -qF "$dir/HANGS/objdump"
}
objdump_ended() {
	! objdump_runs
}
env PATH="$dir/HANGS:$PATH" "$VGTOOL" annotate --asm -s debug -s kept spin r.vgp >out 2>err & pid=$!
await 120 "objdump that hangs" objdump_runs
kill_own TERM $pid
wait $pid || true
await 120 "the end of objdump" objdump_ended
held_all
