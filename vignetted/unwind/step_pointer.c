/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/step_pointer.h"

#include "vignetted/unwind/step_row.h"

/* Code without unwind information is searched for its caller in more than VG_ROOT_SCAN_BYTES, because nothing else
 * shows that it has one: a signal handler's frame, for example, is above a frame of the kernel with 2.5 KiB. */
enum { ROOT_SCAN_BYTES = 64 * 1024 };

bool vg_step_fp_leads_on(struct vg_rows *rows, const struct vg_snapshot *snapshot, uint64_t fp,
			 const struct vg_frame_state *caller, struct vg_walk *walk)
{
	uint64_t pc;

	if (!caller->fp_known || caller->fp <= fp || caller->fp % 8 != 0)
		return false;
	if (vg_snapshot_word(snapshot, caller->fp + 8, &pc) == 0)
		return vg_modules_find(rows->modules, pc - 1) != NULL;
	if (vg_step_is_above_copy(snapshot, caller->fp))
		walk->end = VG_WALK_TRUNCATED;
	return false;
}

bool vg_step_is_return_address(struct vg_rows *rows, const struct vg_found_row *found,
			       const struct vg_snapshot *snapshot, uint64_t fp, const struct vg_frame_state *caller, struct vg_walk *walk)
{
	if (found->row.signal)       /* the kernel pushed the address of the signal trampoline */
		return true;
	switch (vg_rows_return_kind(rows, found)) {
	case VG_RETURN_AFTER_CALL: case VG_RETURN_SIGRETURN:
		return true;
	case VG_RETURN_STACK_BOTTOM:
		return caller->fp == 0;
	default:
		break;
	}
	return found->module == VG_NONE && vg_step_fp_leads_on(rows, snapshot, fp, caller, walk);
}

bool vg_step_is_root_by_pointer(struct vg_rows *rows, uint32_t module, const struct vg_snapshot *snapshot,
				const struct vg_frame_state *state, struct vg_walk *walk)
{
	walk->end = VG_WALK_NO_INFO;
	if (!state->fp_known || state->fp != 0 || state->fp_guessed || walk->count <= 1)
		return false;
	if (!state->fp_from_chain)
		return module != VG_NONE && vg_step_is_root(rows, snapshot, state->sp, ROOT_SCAN_BYTES, walk);
	walk->end = VG_WALK_ROOT;
	return true;
}

bool vg_step_by_frame_pointer(struct vg_rows *rows, const struct vg_snapshot *snapshot, struct vg_frame_state *state,
			      struct vg_walk *walk)
{
	struct vg_frame_state caller = {
		.sp = state->fp + 16, .fp_known = true, .fp_from_chain = true,
		.found = state->fp_guessed ? VG_FOUND_BY_SCAN : VG_FOUND_BY_FRAME_POINTER,
	};
	struct vg_found_row found;

	if (!state->fp_known)
		return vg_step_fp_missing(state, walk);
	walk->end = VG_WALK_NO_INFO;
	if (state->fp < state->sp || state->fp % 8 != 0)
		return false;
	if (vg_snapshot_word(snapshot, state->fp, &caller.fp) != 0 ||
	    vg_snapshot_word(snapshot, state->fp + 8, &caller.pc) != 0) {
		if (vg_step_is_above_copy(snapshot, state->fp))
			walk->end = VG_WALK_TRUNCATED;
		return false;
	}
	/* If no code is known at the return address, go on: the next frame ends the walk and sets range_unknown, so
	 * that the caller of vg_unwind() reads /proc/PID/maps again. */
	if (vg_rows_get(rows, caller.pc - 1, &found) &&
	    !vg_step_is_return_address(rows, &found, snapshot, state->fp, &caller, walk))
		return false;
	*state = caller;
	return true;
}
