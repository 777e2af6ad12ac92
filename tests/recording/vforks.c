/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * vforks: alternately waits in vfork(2) for a child that sleeps for 30 ms, and runs for a while, until it is killed.
 * The memory of the waiting frame has words of earlier calls.  The program begins with a run in main(), whose stack is
 * small.  So the helper first copies less of the stack than the waits need.
 */
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/recording/litter.h"

static __attribute__((noinline)) void vfork_wait(void)
{
	static const struct timespec nap_time = { .tv_nsec = 30 * 1000 * 1000 };
	volatile char room[4096];
	pid_t child = vfork();

	room[sink % sizeof room] = 1;
	if (child == 0) {
		nanosleep(&nap_time, NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	sink++;
}

int main(void)
{
	for (int i = 0; i < 200 * 1000 * 1000; i++)
		sink++;
	for (;;) {
		litter(60);
		vfork_wait();
		for (int i = 0; i < 1000 * 1000; i++)
			sink++;
	}
}
