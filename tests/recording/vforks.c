/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * vforks: again and again until it is killed, waits in vfork(2) for a child that naps for 30 ms, below room that
 * is full of what earlier calls left there, and runs for a while.  It begins with a run in main(), whose stack is
 * small: so the helper copies less of it at first than the waits need.
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
