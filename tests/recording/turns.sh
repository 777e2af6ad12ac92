#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A recording begins while other tracers take turns in holding the thread.  It is refused while one tracer stays.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
cd "$dir"

# tracers PID COUNT: COUNT processes stop the process in turn, each for 5 ms.  When one releases the process, the next
# waits for it already.  They end with their parent's pipe.  With one process, it stays.
cat >tracers.c <<'EOF'
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void turn(pid_t pid, bool stays)
{
	struct pollfd end = { .fd = 0, .events = POLLIN };

	while (ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0)
		if (poll(&end, 1, 0) != 0)
			_exit(0);
	ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	waitpid(pid, NULL, __WALL);
	if (poll(&end, 1, stays ? -1 : 5) != 0)
		_exit(0);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	usleep(1000);                           /* the next one's turn */
}

int main(int argc, char **argv)
{
	pid_t pid = atoi(argv[1]);
	int count = atoi(argv[2]);

	for (int i = 1; i < count; i++)
		if (fork() == 0)
			break;
	for (;;)
		turn(pid, count == 1);
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
