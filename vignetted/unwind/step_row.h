/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_STEP_ROW_H
#define VG_VIGNETTED_STEP_ROW_H

#include "vignetted/unwind/frame_state.h"
#include "vignetted/unwind/rows.h"
#include "vignetted/unwind/snapshot.h"
#include "vignetted/unwind/walk.h"

/* A step of a walk by one row, and what all steps need of the copied stack. */

/* Whether the step needs libunwind: the row is VG_ROW_COMPLEX, or the return address is in a register that the walk
 * does not know.  `is_first`: the frame is the leaf frame. */
bool vg_step_needs_fallback(const struct vg_row *row, const struct vg_snapshot *snapshot, bool is_first);

/* Moves *state to the caller by the row.  False: the walk ends, and walk->end is set. */
bool vg_step_by_row(const struct vg_row *row, const struct vg_snapshot *snapshot, struct vg_frame_state *state,
		    struct vg_walk *walk);

/* Ends the walk because the frame pointer is not known.  Always returns false. */
bool vg_step_fp_missing(const struct vg_frame_state *state, struct vg_walk *walk);

/* Reads a word of the stack.  False: it was not copied, and walk->end says why. */
bool vg_step_word(const struct vg_snapshot *snapshot, uint64_t address, uint64_t *word, struct vg_walk *walk);

/* Whether an address that was not copied is close enough above a copy to be in the same stack. */
bool vg_step_is_above_copy(const struct vg_snapshot *snapshot, uint64_t address);

/* Few functions have larger frames. */
enum { VG_ROOT_SCAN_BYTES = 2048 };

/* Whether the frame is the root frame: there is no return address in the `bytes` above sp, or up to the stack's end.
 * Always sets walk->end: to VG_WALK_ROOT if true, to VG_WALK_TRUNCATED if the copy is too short to decide, and else to
 * VG_WALK_NO_INFO or VG_WALK_BAD_INFO. */
bool vg_step_is_root(struct vg_rows *rows, const struct vg_snapshot *snapshot, uint64_t sp, uint64_t bytes,
		     struct vg_walk *walk);

/* Counts the copied stack up to sp as used, in walk->stack_bytes. */
void vg_step_count_stack(const struct vg_snapshot *snapshot, uint64_t sp, struct vg_walk *walk);

#endif
