/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * vforks: again and again until it is killed, waits in vfork(2) for a child that naps for 30 ms, and runs for a
 * while.
 */
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static __attribute__((noinline)) void vfork_wait(void)
{
	static const struct timespec nap_time = { .tv_nsec = 30 * 1000 * 1000 };
	pid_t child = vfork();

	if (child == 0) {
		nanosleep(&nap_time, NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	sink++;
}

int main(void)
{
	for (;;) {
		vfork_wait();
		for (int i = 0; i < 1000 * 1000; i++)
			sink++;
	}
}
