/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_WALK_H
#define VG_VIGNETTED_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model.h"
#include "vignetted/target/modules.h"

/*
 * The result of vg_unwind(): frames, the leaf first.  An all-zero struct is an empty walk.  The next vg_unwind() reuses
 * the buffer.
 *
 * 	struct vg_walk walk = { 0 };
 * 	vg_unwind(unwinder, &snapshot, max_frames, &walk);
 * 	vg_walk_free(&walk);
 */
struct vg_walk {
	struct vg_frame *frames;     /* owned */
	uint32_t count;
	size_t capacity;
	enum vg_walk_end end;        /* why there are no more frames */
	uint64_t fp_missing_sp;      /* if the walk ended because the frame pointer is not known: the last
					frame's stack pointer; else 0 */
	bool range_unknown;          /* the walk ended at an address that is in no known range of code */
	size_t stack_bytes;          /* bytes of the copied stack that the walk used; if it used both copies,
					the larger number */
	uint64_t other_sp;           /* if a signal handler ran on its own stack: the stack pointer at the
					signal; else 0 */
};

/* Appends a frame.  0 or -ENOMEM. */
int vg_walk_push(struct vg_walk *walk, const struct vg_frame *frame);

/* Adds frames before the leaf frame, which become the leaf frames.  0 or -ENOMEM. */
int vg_walk_prepend(struct vg_walk *walk, const struct vg_frame *frames, uint32_t count);

void vg_walk_free(struct vg_walk *walk);

#endif
