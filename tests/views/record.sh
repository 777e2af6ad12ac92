#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vgtool record: the report of a recorded command, or of a recorded process (--pid), has function names, also if the
# process's program was removed.  Ctrl-C keeps the profile.  Views of the kept profile have names without the program.
# Exit codes.  A view that symbolizes an unresolved profile in memory shows the same names as for the resolved profile.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node /usr/bin/python3
cd "$dir"

# program SECONDS [STATUS]: uses so much CPU time
cat >program.c <<'END'
#include <stdlib.h>
#include <time.h>
__attribute__((noinline)) static long count_up(void)
{
	volatile long sum = 0;
	for (long i = 0; i < 1000000; i++)
		sum += i;
	return sum;
}
__attribute__((noinline)) static long busy_until(clock_t end)
{
	long sum = 0;
	while (clock() < end)
		sum += count_up();
	return sum;
}
int main(int argc, char **argv)
{
	busy_until((clock_t)(atof(argv[1]) * CLOCKS_PER_SEC));
	return argc > 2 ? atoi(argv[2]) : 0;
}
END
$CC -O1 -g -Wl,--build-id=sha1 -o program program.c

# named: fails unless the output of the latest exits() has the program's function, and says what was recorded
named() {
	has out "count_up  [${1-program}]"
	has err 'vgtool record: '
	grep -q '^vgtool record: .* samples\{0,1\} of 1 thread in ' err || fail "no summary: $(cat err)"
}

# ---- a command; its exit status; the temporary profile is removed ----
mkdir temporary
# A directory in which other users can replace the temporary directory
mkdir shared
chmod 777 shared
TMPDIR=$dir/shared exits 0 "$VGTOOL" record --rate 997 --budget 0 -- sh -c 'ls shared >listed; exec ./program 0.3'
[ ! -s listed ] || fail "the temporary directory is in a directory that all can change: $(cat listed)"
chmod 1777 shared
TMPDIR=$dir/shared exits 0 "$VGTOOL" record --rate 997 --budget 0 -- sh -c 'ls shared >listed; exec ./program 0.3'
grep -q '^vgtool[.]' listed || fail "the temporary directory is not in TMPDIR: $(cat listed)"
TMPDIR=$dir/temporary exits 0 "$VGTOOL" record --rate 997 --budget 0 -- ./program 0.3
named
TMPDIR=$dir/temporary exits 7 "$VGTOOL" record --rate 997 --budget 0 -- ./program 0.3 7
named
[ -z "$(ls temporary)" ] || fail "record left $(ls temporary)"

# ---- hints: what can be done next, with a temporary profile and a kept one; a program without symbols ----
cat >idle.c <<'END'
#include <time.h>
int main(void)
{
	volatile long sum = 0;
	/* The helper may hold the program late, so its first CPU time may be in no sample. */
	while (clock() < 600000)
		for (long i = 0; i < 100000; i++)
			sum += i;
	return nanosleep(&(struct timespec){ 1, 0 }, NULL);
}
END
$CC -O1 -Wl,--build-id=sha1 -s -o idle idle.c
exits 0 "$VGTOOL" record --rate 997 --budget 0 -- ./idle
has out '; with -o FILE, report --off-cpu shows where'
has out '% of the time is in modules without symbols, mostly [idle]; -s STORE adds symbols'
exits 0 "$VGTOOL" record --rate 997 --budget 0 -o idle.vgp -- ./idle
has out '); --off-cpu shows where'

# ---- addresses ----
exits 0 "$VGTOOL" record --unresolved --rate 997 --budget 0 -o plain.vgp -- ./program 0.3
has out 'program+0x'
! grep -q count_up out || fail "--unresolved shows names: $(cat out)"
[ "$(info plain.vgp resolved)" = false ] || fail "--unresolved has resolved the profile"

# ---- a running process, whose program is removed ----
cp program removed
./removed 600 & pid=$!
await 120 'the program' executed $pid
rm removed
# On a busy machine a recording of one second may have no sample.
sampled() {
	reported "$VGTOOL" record --rate 997 --budget 0 --duration 1 -o "$1" --pid $pid &&
		! grep -q '^vgtool record: [01] sample' err
}
again "two samples" sampled removed.vgp
named removed
end $pid
exits 0 "$VGTOOL" folded removed.vgp
has out 'busy_until;count_up'

# killed.py SIGNAL WHOM COMMAND...: starts the command in a process group of its own.  When vignetted runs and the program
# has then used 0.3 s of CPU time, sends the signal: WHOM is "command", "helper" (vignetted), or "group", as Ctrl-C does.
# With the environment's TARGET, the command records this process; otherwise it starts the program.
cat >killed.py <<'END'
import os, signal, subprocess, sys, time
# A process may end before its file is read.
def read(path):
    try:
        with open(path) as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""
def children(pid):
    return [int(word) for word in read(f"/proc/{pid}/task/{pid}/children").split()]
def name(pid):
    return read(f"/proc/{pid}/comm").strip()
def used(pid):
    fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0
# A program that the command started goes on when its recording ends.
def group_end():
    try:
        os.killpg(command.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
def fail(text):
    print(text, file=sys.stderr)
    group_end()
    sys.exit(99)
def wait(what, condition):
    end = time.time() + 3000 # as life_s in tests/lib.sh
    while True:
        found = condition()
        if found:
            return found
        if time.time() > end or command.poll() is not None:
            fail(f"never: {what}; status {command.poll()}")
        time.sleep(0.02)
number, whom = getattr(signal, sys.argv[1]), sys.argv[2]
command = subprocess.Popen(sys.argv[3:], start_new_session=True,
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
helper = wait("vignetted", lambda: [pid for pid in children(command.pid) if name(pid) == "vignetted"])[0]
if "TARGET" in os.environ:
    wait("the profile", lambda: any(file.endswith(".part") and os.path.getsize(file) > 0 for file in os.listdir()))
target = int(os.environ.get("TARGET", 0)) or wait("the program",
    lambda: [pid for pid in children(helper) if name(pid) == "program"])[0]
begin = used(target)
wait("0.3 s of CPU time", lambda: used(target) >= begin + 0.3)
if whom == "group":
    os.killpg(command.pid, number)
else:
    os.kill(command.pid if whom == "command" else helper, number)
status = command.wait()
group_end()
sys.exit(status)
END
# ---- Ctrl-C: the terminal sends SIGINT to the whole group ----
./program 600 & pid=$!
TARGET=$pid exits 0 /usr/bin/python3 killed.py SIGINT group "$VGTOOL" record --rate 997 --budget 0 -o stopped.vgp --pid $pid
named
again "two samples of a process that was recorded" sampled other.vgp
end $pid
ended stopped.vgp 'interrupted by a signal'
exits 0 "$VGTOOL" report stopped.vgp
has out 'count_up  [program]'

# ---- signals that kill(2) sends, a signal that is ignored, and a reader that has read enough ----
TMPDIR=$dir/temporary exits 0 /usr/bin/python3 killed.py SIGTERM command "$VGTOOL" record --rate 997 --budget 0 -- ./program 600
named
TMPDIR=$dir/temporary exits 1 /usr/bin/python3 killed.py SIGKILL helper "$VGTOOL" record --rate 997 -- ./program 600
has err 'vignetted was ended by a signal: Killed'
[ -z "$(ls temporary)" ] || fail "record left $(ls temporary)"
(trap '' HUP; "$VGTOOL" record -- sh -c 'grep SigIgn /proc/self/status') >out 2>err ||
	fail "with SIGHUP ignored: status $?: $(cat err)"
grep -q 'SigIgn:.*[13579bdf]$' out || fail "SIGHUP is not ignored any more: $(cat out)"
"$VGTOOL" record --rate 200 -- ./program 0.1 >out 2>err | :
! grep -q crashed err || fail "$(cat err)"

# ---- a view symbolizes in memory, and shows what it shows for the resolved profile ----
symbols=$(mktemp -d "$dir/symbols.XXXXXX")
exits 0 "$VGTOOL" symbols -o "$symbols" program
exits 0 "$VGTOOL" resolve -s "$symbols" -s /lib/x86_64-linux-gnu -o resolved.vgp plain.vgp
mkdir elsewhere
mv program elsewhere/
for view in report 'report --json' folded speedscope chrome firefox pprof flamegraph view; do
	"$VGTOOL" $view resolved.vgp >expected
	exits 0 "$VGTOOL" $view -s "$symbols" -s /lib/x86_64-linux-gnu plain.vgp
	cmp out expected || fail "$view: other names in memory than in the resolved profile"
	VGTOOL_SYMBOLS=/nonexistent:$symbols:/lib/x86_64-linux-gnu exits 0 "$VGTOOL" $view plain.vgp
	cmp out expected || fail "$view: other names by VGTOOL_SYMBOLS"
done
# The module is one row if its symbols are not found.
exits 0 "$VGTOOL" report plain.vgp
[ "$(grep -c ' \[program\]$' out)" = 2 ] || fail "not one row of the module, and one in the thread: $(cat out)"
# Another build of the program has another build id, so its names are not used.
sed 's/count_up/other_name/' program.c >other.c
$CC -O1 -g -Wl,--build-id=sha1 -o program other.c
exits 0 "$VGTOOL" report plain.vgp
! grep -q 'other_name\|busy_until' out || fail "names of another build: $(cat out)"
# A file in the working directory is found if it has the build id of the recorded program.
cp elsewhere/program program
exits 0 "$VGTOOL" report plain.vgp
has out 'count_up  [program]'
exits 0 "$VGTOOL" diff plain.vgp resolved.vgp
has out count_up

# ---- errors ----
exits 2 "$VGTOOL" record
has err 'nothing to record'
exits 2 "$VGTOOL" record --pid 1 -- true
has err 'both --pid and a command'
exits 2 "$VGTOOL" record --pid x
exits 2 "$VGTOOL" record --rate 0 -- true
has err 'vignetted: --rate 0: must be'
exits 127 "$VGTOOL" record -- ./none
exits 1 "$VGTOOL" record -s none -o kept.vgp -- ./program 0.1
has err 'none: cannot read the symbol store'
mkfifo fifo
for out in fifo - . /dev/null; do
	exits 1 "$VGTOOL" record -o $out -- true
	has err "-o $out: must be a regular file"
done
VIGNETTED=$dir/elsewhere exits 1 "$VGTOOL" record -- true
has err 'elsewhere: cannot execute'
VIGNETTED=$dir/none exits 1 "$VGTOOL" record -- true
has err 'install vignetted, or set $VIGNETTED'
