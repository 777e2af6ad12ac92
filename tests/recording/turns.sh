#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A recording begins while other tracers take turns in holding the thread.  It is refused while one tracer stays.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
cd "$dir"

# tracers PID COUNT: COUNT processes stop the process in turn, each for 50 ms.  When one releases the process, the next
# waits for it already.  They end with standard input.  One process alone stays.
cat >tracers.c <<'EOF'
#include <poll.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* Waits until the descriptor has input; -1: none.  Ends the process when standard input ends. */
static void input_wait(int fd, int wait_ms)
{
	struct pollfd polled[] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .fd = fd, .events = POLLIN } };

	poll(polled, 2, wait_ms);
	if (polled[0].revents != 0)
		_exit(0);
}

/* Lets the next tracer wait for the process, and holds it meanwhile. */
static void turn(pid_t pid, int own, int next, int hold_ms)
{
	char token;

	input_wait(own, -1);
	if (read(own, &token, 1) != 1)
		_exit(1);
	while (ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0)
		input_wait(-1, 0);
	ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	waitpid(pid, NULL, __WALL);
	if (write(next, "", 1) != 1)
		_exit(1);
	input_wait(-1, hold_ms);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

int main(int argc, char **argv)
{
	pid_t pid = atoi(argv[argc - 2]);
	int count = atoi(argv[argc - 1]), own = 0, ring[3][2];

	for (int i = 0; i < count; i++)
		if (pipe(ring[i]) != 0)
			return 1;
	if (write(ring[0][1], "", 1) != 1)
		return 1;
	for (int i = 1; i < count && own == 0; i++)
		if (fork() == 0)
			own = i;
	for (;;)
		turn(pid, ring[own][0], ring[(own + 1) % count][1], count == 1 ? -1 : 50);
}
EOF
$CC -O1 -o tracers tracers.c
sh -c 'while :; do :; done' & busy=$!
pids="$pids $busy"
mkfifo gate

traced() { grep -q '^TracerPid:[^0-9]*[1-9]' /proc/$busy/status; }

# hold COUNT: begins the tracers; `exec 3>&-` ends them
hold() {
	./tracers $busy "$1" <gate & tracers=$!
	pids="$pids $tracers"
	exec 3>gate
	await 60 "the tracer" traced
}

hold 1
exits 1 "$VIGNETTED" -p $busy -o p.vgp --duration 1
has err 'is being traced by another process, tracers (pid '
exec 3>&-
wait $tracers

hold 3
"$VIGNETTED" -p $busy -o p.vgp --duration 600 2>err 3>&- & recorder=$!
pids="$pids $recorder"
sleep 4                                         # twice as long as the first sample is tried
exec 3>&-
sampled_or_refused() { holds p.vgp.part 'it.samples > 0' || exited $recorder; }
await 60 "a sample" sampled_or_refused
! exited $recorder || fail "refused: $(cat err)"
