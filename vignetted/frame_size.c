/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/frame_size.h"

/* A multiple of 8, so that the lowest bits have room for how often it was seen. */
enum { ALIGNED = 8, SEEN = ALIGNED - 1, SEEN_ENOUGH = 3 };
static const uint64_t SIZE_MAX_BYTES = 1 << 20;
static const vg_frame_size VARIES = UINT32_MAX;

void vg_frame_size_note(vg_frame_size *size, uint64_t sp, uint64_t fp)
{
	uint64_t bytes = fp - sp;

	if (*size == VARIES || (*size != 0 && bytes == (*size & ~(vg_frame_size)SEEN) &&
				(*size & SEEN) >= SEEN_ENOUGH))
		return;
	if (bytes > SIZE_MAX_BYTES || bytes % ALIGNED != 0 ||
	    (*size != 0 && bytes != (*size & ~(vg_frame_size)SEEN)))
		*size = VARIES;
	else
		*size = (vg_frame_size)bytes + (*size & SEEN) + 1;
}

bool vg_frame_size_known(vg_frame_size size, uint64_t *bytes)
{
	*bytes = size & ~(vg_frame_size)SEEN;
	return size != VARIES && (size & SEEN) >= SEEN_ENOUGH;
}
