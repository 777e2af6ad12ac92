/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A fixed amount of work in ten functions of one thread, with a planted change.
 *
 *     verdicts_work MILLIONS [ALL ONE]
 *
 * Each function does MILLIONS million steps of arithmetic, 1 to 2 ns each.  With ALL, each
 * function does ALL percent more; with ONE, the fifth function does ONE percent more in addition.
 */
#include <stdio.h>
#include <stdlib.h>

enum { FUNCTIONS = 10, CHUNKS = 100, CHANGED = 4 };

static volatile unsigned long sink;

#define FUNCTION(number) \
	static __attribute__((noinline)) void function_##number(unsigned long steps) \
	{ \
		unsigned long state = (number) + 1; \
		for (unsigned long i = 0; i < steps; i++) \
			state = state * 6364136223846793005 + 2 * (number) + 1; \
		sink += state; \
	}
FUNCTION(0) FUNCTION(1) FUNCTION(2) FUNCTION(3) FUNCTION(4)
FUNCTION(5) FUNCTION(6) FUNCTION(7) FUNCTION(8) FUNCTION(9)

int main(int argc, char **argv)
{
	static void (*const functions[FUNCTIONS])(unsigned long) = {
		function_0, function_1, function_2, function_3, function_4,
		function_5, function_6, function_7, function_8, function_9,
	};
	unsigned long steps, all = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
	unsigned long one = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;

	if (argc != 2 && argc != 4) {
		fprintf(stderr, "usage: verdicts_work MILLIONS [ALL ONE]\n");
		return 2;
	}
	steps = strtoul(argv[1], NULL, 10) * (1000000 / CHUNKS);
	for (int chunk = 0; chunk < CHUNKS; chunk++) {
		for (int i = 0; i < FUNCTIONS; i++)
			functions[i](steps * (100 + all + (i == CHANGED ? one : 0)) / 100);
	}
	return 0;
}
