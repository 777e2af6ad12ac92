/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_STEP_POINTER_H
#define VG_VIGNETTED_STEP_POINTER_H

#include "vignetted/unwind/frame_state.h"
#include "vignetted/unwind/rows.h"
#include "vignetted/unwind/snapshot.h"
#include "vignetted/unwind/walk.h"

/* A step of a walk by the frame pointer, and the checks of what it finds. */

/* Whether the frame is the root frame because its frame pointer is 0.  Sets walk->end.  The root frame has frame
 * pointer 0 (System V ABI, AMD64 supplement, 3.4.1).  The loader's root frame, which runs the constructors of
 * libraries, has frame pointer 0 too, and no unwind information.  In functions that do not use a frame pointer, the
 * register may be 0 by chance.  In JIT code it often is, so there a chain of frame pointers must lead to the frame. */
bool vg_step_is_root_by_pointer(struct vg_rows *rows, uint32_t module, const struct vg_snapshot *snapshot,
				const struct vg_frame_state *state, struct vg_walk *walk);

/* Goes to the caller by frame pointer, for code without unwind information.  The frame pointer points to the saved
 * frame pointer, and the return address is above it.  The walk ends if the two words do not look like a saved frame
 * pointer and a return address. */
bool vg_step_by_frame_pointer(struct vg_rows *rows, const struct vg_snapshot *snapshot, struct vg_frame_state *state,
			      struct vg_walk *walk);

/* Whether the caller's frame pointer leads to a further return address, above `fp`. */
bool vg_step_fp_leads_on(struct vg_rows *rows, const struct vg_snapshot *snapshot, uint64_t fp,
			 const struct vg_frame_state *caller, struct vg_walk *walk);

/* Whether the word above a saved frame pointer is a return address.  There are pointers to functions on the stack as
 * well, so there must be a call instruction directly before the address.  JIT code is an exception: HotSpot's
 * interpreter has no call instruction there.  It pushes the return address and jumps.  In JIT code the saved frame
 * pointer must lead to another return address instead. */
bool vg_step_is_return_address(struct vg_rows *rows, const struct vg_found_row *found,
			       const struct vg_snapshot *snapshot, uint64_t fp, const struct vg_frame_state *caller, struct vg_walk *walk);

#endif
