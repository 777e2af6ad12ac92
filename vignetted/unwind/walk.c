/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/walk.h"

#include "base/array.h"

static int walk_reserve(struct vg_walk *walk, size_t more)
{
	return vg_array_grow((void **)&walk->frames, &walk->capacity, walk->count, more, sizeof *walk->frames);
}

int vg_walk_push(struct vg_walk *walk, const struct vg_frame *frame)
{
	if (walk_reserve(walk, 1) != 0)
		return -ENOMEM;
	walk->frames[walk->count++] = *frame;
	return 0;
}

int vg_walk_prepend(struct vg_walk *walk, const struct vg_frame *frames, uint32_t count)
{
	if (walk_reserve(walk, count) != 0)
		return -ENOMEM;
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
