/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_WALK_H
#define VG_VIGNETTED_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model.h"
#include "vignetted/target/frame.h"

/* The result of an unwind: frames, leaf first.  All zero is an empty one.  The buffer is reused by the next unwind. */
struct vg_walk {
	struct vg_frame *frames;     /* owned */
	uint32_t count, capacity;
	enum vg_walk_end end;        /* why there are no more frames */
	uint64_t wanting_sp;         /* stack pointer of the frame that ended the walk for want of a frame pointer */
	bool left_the_map;           /* the walk ended at an address that is in no known range */
	size_t stack_bytes;          /* of the copied stack that the walk went through */
};

/* Appends a frame.  0 or -ENOMEM. */
int vg_walk_push(struct vg_walk *walk, const struct vg_frame *frame);

void vg_walk_free(struct vg_walk *walk);

#endif
