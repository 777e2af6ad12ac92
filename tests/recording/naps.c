/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * naps fixed|varying: sleeps again and again until it is killed, in a function whose frame always has the same size, or
 * another size each time.  The memory of the frame has words of earlier calls.  Most naps take 300 us.  Each sixteenth
 * takes 10 ms: the thread does not run while a slow helper reads its stack.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/recording/litter.h"

static struct timespec nap_time;

static __attribute__((noinline)) void nap_fixed(void)
{
	volatile char room[200] = { 0 };

	room[sink % 200] = 1;
	nanosleep(&nap_time, NULL);
	sink += room[0];
}

static __attribute__((noinline)) void nap_varying(size_t bytes)
{
	volatile char *room = __builtin_alloca(bytes);

	room[bytes - 1] = 1;
	nanosleep(&nap_time, NULL);
	sink++;
}

int main(int argc, char **argv)
{
	if (argc != 2 || (strcmp(argv[1], "fixed") != 0 && strcmp(argv[1], "varying") != 0))
		return 2;
	for (unsigned i = 0;; i++) {
		nap_time.tv_nsec = i % 16 == 0 ? 10 * 1000 * 1000 : 300 * 1000;
		litter(60);
		if (argv[1][0] == 'f')
			nap_fixed();
		else
			nap_varying(16 + (size_t)random() % 4096);
	}
}
