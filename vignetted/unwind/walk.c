/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int walk_grow(struct vg_walk *walk)
{
	uint32_t capacity = walk->capacity != 0 ? 2 * walk->capacity : 256;
	struct vg_frame *grown = reallocarray(walk->frames, capacity, sizeof *grown);

	if (grown == NULL)
		return -ENOMEM;
	walk->frames = grown;
	walk->capacity = capacity;
	return 0;
}

int vg_walk_push(struct vg_walk *walk, const struct vg_frame *frame)
{
	if (walk->count == walk->capacity && walk_grow(walk) != 0)
		return -ENOMEM;
	walk->frames[walk->count++] = *frame;
	return 0;
}

int vg_walk_prepend(struct vg_walk *walk, const struct vg_frame *frames, uint32_t count)
{
	while (walk->capacity - walk->count < count) {
		if (walk_grow(walk) != 0)
			return -ENOMEM;
	}
	memmove(walk->frames + count, walk->frames, walk->count * sizeof *frames);
	memcpy(walk->frames, frames, count * sizeof *frames);
	walk->count += count;
	return 0;
}

void vg_walk_free(struct vg_walk *walk)
{
	free(walk->frames);
	*walk = (struct vg_walk){ 0 };
}
