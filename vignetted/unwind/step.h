/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_STEP_H
#define VG_VIGNETTED_STEP_H

#include "vignetted/unwind/frame_state.h"
#include "vignetted/unwind/rows.h"
#include "vignetted/unwind/snapshot.h"
#include "vignetted/unwind/walk.h"

/* One step of a walk: from a frame to its caller. */

/* Moves *state from the walk's last frame to its caller.  `found` is the row for the last frame's address; the caller
 * may have replaced found->row.  False: the walk ends, and walk->end is set. */
bool vg_step(struct vg_rows *rows, const struct vg_found_row *found, const struct vg_snapshot *snapshot,
	     struct vg_frame_state *state, struct vg_walk *walk);

/* Moves *state to the caller of a frame that has only its return address on the stack.  False: no return address is on
 * top of the stack, or the copy is too short to decide.  If it is too short, walk->end is VG_WALK_TRUNCATED. */
bool vg_step_by_stack_top(struct vg_rows *rows, const struct vg_snapshot *snapshot, struct vg_frame_state *state,
			  struct vg_walk *walk);

#endif
