/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/frame_size.h"

/* A frame size is a multiple of 8.  So the lowest bits hold how often it was seen and whether it is proven. */
enum { ALIGNED = 8, SEEN = 3, PROVEN = 4, SEEN_ENOUGH = 2 };
static const uint64_t SIZE_MAX_BYTES = 1 << 20;

static uint64_t bytes_of(vg_frame_size size)
{
	return size & ~(vg_frame_size)(ALIGNED - 1);
}

void vg_frame_size_note(vg_frame_size *size, uint64_t sp, uint64_t fp)
{
	uint64_t bytes = fp - sp;

	if (*size == VG_FRAME_SIZE_VARIES)
		return;
	if (bytes > SIZE_MAX_BYTES || bytes % ALIGNED != 0 || (*size != 0 && bytes != bytes_of(*size)))
		*size = VG_FRAME_SIZE_VARIES;
	else if ((*size & SEEN) < SEEN_ENOUGH)
		*size = (vg_frame_size)bytes + (*size & SEEN) + 1;
}

bool vg_frame_size_known(vg_frame_size size, uint64_t *bytes)
{
	*bytes = bytes_of(size);
	return size != VG_FRAME_SIZE_VARIES && (size & SEEN) >= SEEN_ENOUGH;
}

bool vg_frame_size_proven(vg_frame_size size)
{
	return (size & PROVEN) != 0;
}

void vg_frame_size_set_proven(vg_frame_size *size)
{
	*size |= PROVEN;
}
