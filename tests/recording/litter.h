/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_TESTS_LITTER_H
#define VG_TESTS_LITTER_H

static volatile unsigned long sink;

/* Leaves old frames below its caller's frame.  Their words look like saved frame pointers and return addresses. */
static __attribute__((noinline)) void litter(int depth)
{
	volatile char room[40] = { 0 };

	room[depth % 40] = 1;
	if (depth > 0)
		litter(depth - 1);
	sink += room[0];
}

#endif
