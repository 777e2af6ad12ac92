/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/frame_size.h"

/* A multiple of 8, so that the lowest bits have room for how often it was seen. */
enum { ALIGNED = 8, SEEN = ALIGNED - 1, SEEN_ENOUGH = 2 };
static const uint64_t SIZE_MAX_BYTES = 1 << 20;

void vg_frame_size_note(vg_frame_size *size, uint64_t sp, uint64_t fp)
{
	uint64_t bytes = fp - sp;

	if (*size == VG_FRAME_SIZE_VARIES || (*size != 0 && bytes == (*size & ~(vg_frame_size)SEEN) &&
				(*size & SEEN) >= SEEN_ENOUGH))
		return;
	if (bytes > SIZE_MAX_BYTES || bytes % ALIGNED != 0 ||
	    (*size != 0 && bytes != (*size & ~(vg_frame_size)SEEN)))
		*size = VG_FRAME_SIZE_VARIES;
	else
		*size = (vg_frame_size)bytes + (*size & SEEN) + 1;
}

bool vg_frame_size_known(vg_frame_size size, uint64_t *bytes)
{
	*bytes = size & ~(vg_frame_size)SEEN;
	return size != VG_FRAME_SIZE_VARIES && (size & SEEN) >= SEEN_ENOUGH;
}
