#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vgtool top: shows function names, the window and everything; follows the size of the terminal; begins again when the
# profile is full.  The terminal is restored after q, Ctrl-C, signals, Ctrl-Z, the end of the process, and the end of
# each child process.  A name cannot control the terminal.  The reader is confined and has no terminal.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs /usr/bin/python3
cd "$dir"

# The program changes its hot function when it gets SIGUSR1.  The name of one function has control characters.  It sleeps
# for most of the time, unless it has an argument.
cat >program.c <<'END'
#include <signal.h>
#include <unistd.h>
static volatile sig_atomic_t second;
static void on_signal(int number)
{
	second = number;
}
__attribute__((noinline)) long first_part(void)
{
	volatile long sum = 0;
	for (long i = 0; i < 1000000; i++)
		sum += i;
	return sum;
}
__attribute__((noinline)) long second_part(void)
{
	volatile long sum = 1;
	for (long i = 0; i < 1000000; i++)
		sum += i;
	return sum;
}
__attribute__((noinline)) long busy(void)
{
	return second ? second_part() : first_part();
}
int main(int argc, char **argv)
{
	alarm(3000);
	signal(SIGUSR1, on_signal);
	second = argc > 1 && argv[1][0] == 's';
	for (;;) {
		busy();
		if (argc < 2 || second)
			usleep(20000);
	}
}
END
$CC -O1 -fno-optimize-sibling-calls -c -o program.o program.c
objcopy --redefine-sym second_part="$(printf 'evil\033[31m\302\233end')" program.o
$CC -Wl,--build-id=sha1 -o program program.o

# top.py: a terminal in which each test runs vgtool top
cat >top.py <<'END'
import atexit, fcntl, os, pty, select, signal, struct, subprocess, sys, termios, time
vgtool = os.environ["VGTOOL"]
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
DEADLINE_S = 3000 # as life_s in tests/lib.sh

def fail(text):
    print("FAIL: " + text)
    sys.exit(1)

# A process may end before its file is read.
def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return b""

def children(pid):
    return [int(word) for word in read(f"/proc/{pid}/task/{pid}/children").split()]

def state(pid):
    return read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[0]

class Top:
    read = []                   # those whose output is read

    def __init__(self, target, *arguments, rows=24, columns=80):
        self.target = target
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.settings = termios.tcgetattr(self.slave)
        self.output = b""
        environment = dict(os.environ, TERM="xterm")
        environment.pop("COLUMNS", None)
        def terminal_take():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
        self.process = subprocess.Popen([vgtool, "top", *arguments, str(target)], stdin=self.slave, stdout=self.slave,
                                        stderr=self.slave, preexec_fn=terminal_take, env=environment)
        self.pid = self.process.pid
        atexit.register(self.process.kill)
        os.set_blocking(self.master, False)
        Top.read.append(self)

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def pump(self):
        got = 0
        for top in Top.read:
            try:
                part = os.read(top.master, 1 << 16)
                top.output += part
                got += len(part)
            except (BlockingIOError, OSError):
                pass
        if got == 0:
            time.sleep(0.02)
        return got

    def wait(self, what, condition):
        end = time.time() + DEADLINE_S
        while not condition():
            if time.time() > end:
                fail(f"timed out: {what}; the end of the output: {self.output[-3000:]!r}")
            self.pump()

    # The rows of the latest complete frame.  Each frame begins at the top left.
    def rows(self):
        frames = self.output.split(b"\x1b[H")
        last = frames[-1]
        if b"\x1b[?1049l" in last or last.count(b"\r\n") < self.height() - 1:
            last = frames[-2] if len(frames) > 1 else b""
        return [row.replace(b"\x1b[2K", b"").replace(b"\x1b[1m", b"").replace(b"\x1b[0m", b"").decode("utf-8", "replace").rstrip("\r")
                for row in last.split(b"\r\n")]

    def height(self):
        return struct.unpack("HHHH", fcntl.ioctl(self.slave, termios.TIOCGWINSZ, b"\0" * 8))[0]

    def text(self):
        return "\n".join(self.rows())

    def await_text(self, *words):
        self.wait(" ".join(words), lambda: all(word in self.text() for word in words))

    def key(self, keys):
        os.write(self.master, keys)

    def helper(self):
        return [pid for pid in children(self.pid) if read(f"/proc/{pid}/comm") == b"vignetted\n"]

    # The confined process: the broker's child.
    def reader(self):
        brokers = [pid for pid in children(self.pid) if pid not in self.helper()]
        return children(brokers[0])[0] if brokers and children(brokers[0]) else 0

    def whole(self):
        if termios.tcgetattr(self.slave) != self.settings:
            fail("the settings of the terminal are not restored")
        if self.output.count(ENTER) != self.output.count(LEAVE) or self.output.count(b"\x1b[?25l") != self.output.count(b"\x1b[?25h"):
            fail(f"the normal screen is not restored: {self.output[-500:]!r}")

    # Waits for the end, and checks the exit status and the text on the normal screen.
    def end(self, status, text=""):
        self.wait("the end", lambda: self.process.poll() is not None)
        # A read of a terminal gives 4 KiB at most.
        while self.pump():
            pass
        if self.process.returncode != status:
            fail(f"status {self.process.returncode}, not {status}: {self.output[-800:]!r}")
        self.whole()
        after = self.output.rpartition(LEAVE)[2].decode("utf-8", "replace")
        if text not in after:
            fail(f"no '{text}' after the screen: {after!r}")
        Top.read.remove(self)
        os.close(self.master)
        os.close(self.slave)

def started(*command):
    process = subprocess.Popen(command)
    atexit.register(process.kill)
    return process

# ---- names, keys, size, the reader's confinement ----
target = started("./program")
top = Top(target.pid, "--rate", "200", "--window", "2")
top.await_text("vgtool top: process", "program:", "of CPU time", "first_part  [program]", "busy  [program]", "main  [program]")
reader = top.reader()
status = read(f"/proc/{reader}/status").decode()
if ("NoNewPrivs:\t1" not in status or "Seccomp:\t2" not in status) and not os.environ.get("SANITIZE"):
    fail(f"the reader is not confined: {status}")
for number in os.listdir(f"/proc/{reader}/fd"):
    path = os.readlink(f"/proc/{reader}/fd/{number}")
    if not path.startswith(("pipe:", "socket:")):
        fail(f"the reader has descriptor {number}: {path}")
target.send_signal(signal.SIGUSR1)
top.wait("the window forgets", lambda: "evil" in top.text() and "first_part" not in top.text())
if "evil?[31m??end  [program]" not in top.text():
    fail(f"the name is not shown as text: {top.text()}")
top.key(b"a")
top.await_text("first_part", "evil", "a shows the latest seconds")
top.key(b"a")
top.wait("the window again", lambda: "evil" in top.text() and "first_part" not in top.text())
top.resize(8, 60)
top.wait("8 rows", lambda: len(top.rows()) == 8 and "evil" in top.text())
if max(len(row) for row in top.rows()) > 60:
    fail(f"a row is wider than the terminal: {top.text()}")
top.resize(50, 132)
top.wait("50 rows", lambda: len(top.rows()) == 50 and "samples  function" in top.text())

# ---- Ctrl-Z and the continuation ----
top.key(b"\x1a")
top.wait("the stop", lambda: state(top.pid) == b"T")
while top.pump():
    pass
top.whole()
entered = top.output.count(ENTER)
os.kill(top.pid, signal.SIGCONT)
top.wait("the screen again", lambda: top.output.count(ENTER) > entered and "evil" in top.text())
# An arrow and a function key, which contain the letters of commands, and then q
top.key(b"\x1b[q\x1bOqx")
frames = top.output.count(b"\x1b[H")
top.wait("further frames", lambda: top.output.count(b"\x1b[H") > frames + 1)
if top.process.poll() is not None:
    fail("a function key ends it")
top.key(b"\x1b[Aq")
top.end(0)

# ---- the other ends; Ctrl-S stops no output ----
# A target that waits for a CPU stays the tracee of one vignetted, so each has its own.
seconds = [started("./program", "second") for _ in range(8)]
tops = [Top(second.pid) for second in seconds]
for top in tops:
    top.await_text("evil")
for keys, status in ((b"\x03", 0), (b"\x1c", 0), (b"\x13q", 0)):
    top = tops.pop()
    top.key(keys)
    top.end(status)
for number in (signal.SIGTERM, signal.SIGHUP):
    top = tops.pop()
    os.kill(top.pid, number)
    top.end(-number)
top = tops.pop()
os.kill(top.reader(), signal.SIGKILL)
top.end(128 + signal.SIGKILL, "the process that read the profile crashed: Killed")
top = tops.pop()
os.kill(top.helper()[0], signal.SIGKILL)
top.end(1, "vignetted was ended by a signal: Killed")

# ---- the other end of the terminal does not read ----
top = tops.pop()
Top.read.remove(top)
end, rows = time.time() + DEADLINE_S, 400
while select.select([], [top.slave], [], 0)[1] and time.time() < end:
    rows = 801 - rows
    top.resize(rows, 400)
    time.sleep(0.005)
os.kill(top.pid, signal.SIGTERM)
end = time.time() + DEADLINE_S
while top.process.poll() is None and time.time() < end:
    time.sleep(0.02)
if top.process.returncode != -signal.SIGTERM:
    fail(f"without a reader of the terminal: status {top.process.returncode}")

for second in seconds:
    second.kill()
    second.wait()

# ---- addresses; a profile that is full ----
full = started("./program", "full")
top = Top(full.pid, "--unresolved", "--max-size", "64K", "--rate", "5000", "--budget", "0")
top.await_text("program+0x")
# Between two recordings there is no helper.
first = top.helper()
top.wait("another recording", lambda: top.helper() not in ([], first))
top.await_text("program+0x")
top.key(b"q")
top.end(0)
full.kill()
full.wait()

# ---- the end of the process; a process that does not exist ----
top = Top(target.pid)
top.await_text("evil")
target.kill()
target.wait()
top.end(0, "vgtool top: the process ended; ")
top = Top(target.pid)
top.wait("the message", lambda: b"vignetted: " in top.output)
top.end(1)
if ENTER in top.output:
    fail(f"a process that does not exist: {top.output!r}")

# ---- a process without CPU time ----
target = started("sleep", "600")
top = Top(target.pid)
top.await_text("no samples: the process used no CPU time")
top.key(b"q")
top.end(0)
target.kill()
target.wait()
END
/usr/bin/python3 top.py || exit 1

# ---- without a terminal; wrong arguments ----
exits 1 "$VGTOOL" top 1
has err 'must be a terminal; use vgtool record'
exits 2 "$VGTOOL" top
has err 'expected one PID, got 0'
exits 2 "$VGTOOL" top x
has err 'x: must be the id of a process'
exits 2 "$VGTOOL" top --window 0 1
exits 0 "$VGTOOL" top --help
has out '--max-size'
