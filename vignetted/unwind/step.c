/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/step.h"

#include "vignetted/unwind/cfi.h"
#include "vignetted/unwind/code.h"
#include "vignetted/unwind/step_code.h"
#include "vignetted/unwind/step_pointer.h"
#include "vignetted/unwind/step_row.h"

/* Whether the frame of the row's function has the same size at each call in the function and in its cold parts. */
static bool frame_is_constant(struct vg_rows *rows, const struct vg_found_row *found)
{
	struct vg_memory *memory = rows->modules->memory;
	struct vg_image *image = &rows->modules->items.items[found->module].image;
	struct vg_code_jump_targets targets, ignored;
	uint64_t first, bytes;

	/* False for a cold part: it begins in the middle of its function, and sets up no frame. */
	if (!vg_cfi_function(memory, image, found->address, &first, &bytes) ||
	    !vg_code_begins_frame(memory, first) || !vg_code_frame_is_constant(memory, first, bytes, &targets))
		return false;
	for (size_t i = 0; i < targets.count; i++) {
		if (vg_cfi_function(memory, image, targets.at[i], &first, &bytes) &&
		    !vg_code_frame_is_constant(memory, first, bytes, &ignored))
			return false;
	}
	return true;
}

/* If the thread's registers are known, learns the frame size of the row's function.  If not, because the thread was
 * waiting, sets the frame pointer from the size that was learned. */
static void fp_derive(struct vg_rows *rows, const struct vg_found_row *found,
		      const struct vg_snapshot *snapshot, struct vg_frame_state *state)
{
	vg_frame_size size = vg_rows_frame_size(rows, found);
	uint64_t bytes, pc;

	if (snapshot->regs_complete && state->fp_known) {
		vg_frame_size_note(&size, state->sp, state->fp);
		vg_rows_frame_size_set(rows, found, size);
	}
	if (snapshot->regs_complete || state->fp_known || !vg_frame_size_known(size, &bytes))
		return;
	if (!vg_frame_size_proven(size) && !frame_is_constant(rows, found)) {
		vg_rows_frame_size_set(rows, found, VG_FRAME_SIZE_VARIES);
		return;
	}
	vg_frame_size_set_proven(&size);
	vg_rows_frame_size_set(rows, found, size);
	state->fp = state->sp + bytes;
	state->fp_known = vg_snapshot_word(snapshot, state->fp + 8, &pc) != 0 ||
			  (vg_modules_find(rows->modules, pc - 1) != NULL &&
			   vg_code_after_call(rows->modules->memory, pc));
}

/* Goes to the caller by frame pointer, if the caller's frame pointer leads on to a further return address.  In code
 * that uses the register for other values this does not happen by chance. */
static bool step_by_chain(struct vg_rows *rows, const struct vg_snapshot *snapshot, struct vg_frame_state *state,
			  struct vg_walk *walk)
{
	struct vg_frame_state caller = *state;

	if (!state->fp_known || !vg_step_by_frame_pointer(rows, snapshot, &caller, walk) ||
	    !vg_step_fp_leads_on(rows, snapshot, state->fp, &caller, walk))
		return false;
	*state = caller;
	return true;
}

/* Goes to the caller in code of a module without unwind information.  The search from the beginnings of functions is
 * expensive, so it comes late. */
static bool step_without_info(struct vg_rows *rows, uint32_t module, const struct vg_snapshot *snapshot,
			      struct vg_frame_state *state, struct vg_walk *walk)
{
	bool ends, truncated;

	if (vg_step_by_code(rows, module, VG_CODE_FIRST_RETURN, VG_CODE_ALL_RETURNS, snapshot, state, walk, &ends))
		return true;
	if (ends)
		return false;
	/* If a function without unwind information has just made a system call, it is probably a wrapper in assembly,
	 * which has no frame.  (glibc's clone3 is one.  While a thread creates another thread, every sample finds it in
	 * clone3.) */
	if (walk->count == 1 && vg_code_after_syscall(rows->modules->memory, state->pc) &&
	    vg_step_by_stack_top(rows, snapshot, state, walk))
		return true;
	if (step_by_chain(rows, snapshot, state, walk))
		return true;
	if (vg_step_by_code(rows, module, VG_CODE_FROM_BEGINNING, VG_CODE_FROM_BEGINNING, snapshot, state, walk, &ends))
		return true;
	truncated = walk->end == VG_WALK_TRUNCATED;
	if (vg_step_is_root_by_pointer(rows, module, snapshot, state, walk))
		return false;
	truncated |= walk->end == VG_WALK_TRUNCATED;
	if (!ends && vg_step_by_frame_pointer(rows, snapshot, state, walk))
		return true;
	/* In a longer copy of the stack the search may find more. */
	if (truncated)
		walk->end = VG_WALK_TRUNCATED;
	return false;
}

static bool step_from_beginning(struct vg_rows *rows, const struct vg_snapshot *snapshot, struct vg_frame_state *state,
				struct vg_walk *walk)
{
	bool ends;

	return vg_step_by_code(rows, VG_NONE, VG_CODE_FROM_BEGINNING, VG_CODE_FROM_BEGINNING, snapshot, state, walk,
			       &ends);
}

/* Goes to the caller in JIT code.  Frame pointers come late, because a chain of frame pointers can skip frames of
 * code that uses the register for other values. */
static bool step_in_jit(struct vg_rows *rows, const struct vg_snapshot *snapshot, struct vg_frame_state *state,
			struct vg_walk *walk)
{
	const struct vg_code_row_set *set;
	bool ends, never_returns;
	enum vg_walk_end end;

	if (vg_rows_jit_has_fp(rows) && vg_step_by_frame_pointer(rows, snapshot, state, walk))
		return true;
	if (vg_step_by_code(rows, VG_NONE, VG_CODE_FIRST_RETURN, VG_CODE_ALL_RETURNS, snapshot, state, walk, &ends))
		return true;
	if (vg_step_is_root_by_pointer(rows, VG_NONE, snapshot, state, walk))
		return false;
	if (vg_step_by_interpreter(rows, snapshot, state, walk))
		return true;
	/* A function from which no path leads to a return has a loop without end. */
	set = vg_rows_from_code(rows, VG_NONE, state->pc, VG_CODE_FIRST_RETURN);
	never_returns = set != NULL && set->found.count == 0;
	if (never_returns && step_from_beginning(rows, snapshot, state, walk))
		return true;
	if (vg_step_by_frame_pointer(rows, snapshot, state, walk))
		return true;
	end = walk->end;
	if (!never_returns && end != VG_WALK_TRUNCATED && step_from_beginning(rows, snapshot, state, walk))
		return true;
	walk->end = end;
	return false;
}

bool vg_step_by_stack_top(struct vg_rows *rows, const struct vg_snapshot *snapshot, struct vg_frame_state *state,
			  struct vg_walk *walk)
{
	struct vg_found_row found;
	uint64_t pc;

	if (vg_snapshot_word(snapshot, state->sp, &pc) != 0) {
		if (vg_step_is_above_copy(snapshot, state->sp))
			walk->end = VG_WALK_TRUNCATED;
		return false;
	}
	if (!vg_rows_get(rows, pc - 1, &found) || vg_rows_return_kind(rows, &found) != VG_RETURN_AFTER_CALL)
		return false;
	state->pc = pc;
	state->sp += 8;
	state->is_exact = false;
	state->is_function_begin = false;
	state->signal_sp = 0;
	state->found = VG_FOUND_BY_FRAME_POINTER;
	return true;
}

bool vg_step(struct vg_rows *rows, const struct vg_found_row *found, const struct vg_snapshot *snapshot,
	     struct vg_frame_state *state, struct vg_walk *walk)
{
	const struct vg_row *row = &found->row;

	if (row->kind == VG_ROW_NONE)
		return found->module == VG_NONE ? step_in_jit(rows, snapshot, state, walk) :
		       step_without_info(rows, found->module, snapshot, state, walk);
	if (row->cfa_base == VG_FROM_FP)
		fp_derive(rows, found, snapshot, state);
	if (!vg_step_by_row(row, snapshot, state, walk))
		return false;
	/* A thread that called address 0 is at address 0 when a signal interrupts it.  So 0 is a valid pc behind a
	 * signal frame. */
	if (state->pc != 0 || row->signal)
		return true;
	/* Libraries that switch stacks give a stack's first function the return address 0. */
	if (snapshot->fp_guess != 0)
		walk->end = VG_WALK_BAD_INFO; /* the guess led to an unused part of the stack */
	else
		vg_step_is_root(rows, snapshot, state->sp, VG_ROOT_SCAN_BYTES, walk);
	return false;
}
