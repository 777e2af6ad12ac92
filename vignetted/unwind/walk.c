/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/walk.h"

#include <errno.h>
#include <stdlib.h>

int vg_walk_push(struct vg_walk *walk, const struct vg_frame *frame)
{
	if (walk->count == walk->capacity) {
		uint32_t capacity = walk->capacity != 0 ? 2 * walk->capacity : 256;
		struct vg_frame *grown = reallocarray(walk->frames, capacity, sizeof *grown);

		if (grown == NULL)
			return -ENOMEM;
		walk->frames = grown;
		walk->capacity = capacity;
	}
	walk->frames[walk->count++] = *frame;
	return 0;
}

void vg_walk_free(struct vg_walk *walk)
{
	free(walk->frames);
	*walk = (struct vg_walk){ 0 };
}
