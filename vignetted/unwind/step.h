/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_STEP_H
#define VG_VIGNETTED_STEP_H

#include "vignetted/unwind/rows.h"
#include "vignetted/unwind/snapshot.h"
#include "vignetted/unwind/walk.h"

/* The registers that a walk knows at one frame. */
struct vg_frame_state {
	uint64_t pc, sp, fp;
	bool fp_known;
	bool fp_guessed;             /* vg_unwind_guess() guessed it */
	bool fp_from_chain;          /* the latest step was by frame pointer, so fp was read from the stack */
	bool is_exact;               /* the frame made no call: pc is its current instruction, not a return address */
	bool is_function_begin;      /* pc is a function's first instruction, and no call led there */
	uint64_t signal_sp;          /* if a signal interrupted the frame: the stack pointer in the signal
					trampoline; else 0 */
	enum vg_found_by found;      /* how this frame was found */
};

/* One step of a walk: from a frame to its caller.  Steps are made by a row, by the frame pointer, or by
 * instructions. */

/* Moves *state from the walk's last frame to its caller.  `found` is the row for the last frame's address; the caller
 * may have replaced found->row.  False: the walk ends, and walk->end is set. */
bool vg_step(struct vg_rows *rows, const struct vg_found_row *found, const struct vg_snapshot *snapshot,
	     struct vg_frame_state *state, struct vg_walk *walk);

/* Moves *state to the caller of a frame that has only its return address on the stack.  False: no return address is on
 * top of the stack, or the copy is too short to decide.  If it is too short, walk->end is VG_WALK_TRUNCATED. */
bool vg_step_by_stack_top(struct vg_rows *rows, const struct vg_snapshot *snapshot, struct vg_frame_state *state,
			  struct vg_walk *walk);

/* Whether the step needs libunwind: the row is VG_ROW_COMPLEX, or the return address is in a register that the walk
 * does not know.  `is_first`: the frame is the leaf frame. */
bool vg_step_needs_fallback(const struct vg_row *row, const struct vg_snapshot *snapshot, bool is_first);

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
