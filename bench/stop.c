/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "bench/stop.h"

#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/clock.h"

static const uint64_t POLL_NS = 40 * 1000;

int stop_and_continue(pid_t tid)
{
	uint64_t since_ns = vg_now_ns();
	int status;
	pid_t got;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
		return -1;
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	do
		got = waitpid(tid, &status, WNOHANG | __WALL);
	while (got == 0 && vg_now_ns() - since_ns < POLL_NS);
	if (got == 0)
		got = waitpid(tid, &status, __WALL);
	if (got < 0 || !WIFSTOPPED(status))
		return -1;
	ptrace(PTRACE_DETACH, tid, NULL, status >> 16 == 0 ? WSTOPSIG(status) : 0);
	return 0;
}
