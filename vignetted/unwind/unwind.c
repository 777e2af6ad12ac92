/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/unwind.h"

#include <errno.h>
#include <stdlib.h>

#include "vignetted/unwind/cfi.h"
#include "vignetted/unwind/code.h"
#include "vignetted/unwind/fallback.h"
#include "vignetted/unwind/step.h"

struct vg_unwinder {
	struct vg_rows rows;
	struct vg_fallback *fallback;
	struct vg_unwind_counts counts;
};

/* ---- frames without code ---- */

/* Whether there is certainly no code at pc, even if code was mapped after /proc/PID/maps was read.  After a page fault,
 * the kernel saves the faulting address beside the registers.  If that address is pc, the instruction itself could not
 * be read. */
static bool is_no_code(const struct vg_snapshot *snapshot, const struct vg_frame_state *state)
{
	const struct vg_signal_frame *at = &vg_regs_signal_frame;
	uint64_t pc, trap, fault_address;

	if (vg_regs_is_never_code(state->pc))
		return true;
	return state->signal_sp != 0 &&
	       vg_snapshot_word(snapshot, state->signal_sp + (uint64_t)at->pc, &pc) == 0 && pc == state->pc &&
	       vg_snapshot_word(snapshot, state->signal_sp + (uint64_t)at->trap, &trap) == 0 &&
	       trap == (uint64_t)at->page_fault &&
	       vg_snapshot_word(snapshot, state->signal_sp + (uint64_t)at->fault_address, &fault_address) == 0 &&
	       fault_address == pc;
}

/* Handles a frame at an address without known code.  A thread that called an invalid address has pushed the return
 * address and nothing else.  So the walk can go on with the caller if there is certainly no code.  Returns whether it
 * goes on. */
static bool frame_without_code(struct vg_unwinder *unwinder, const struct vg_snapshot *snapshot, uint32_t max_frames,
			       struct vg_frame_state *state, struct vg_walk *walk, int *rc)
{
	struct vg_frame frame = { .address = state->pc, .module = VG_NONE, .found = state->found };
	const struct vg_modules *modules = unwinder->rows.modules;
	uint64_t code_at = state->pc - (state->is_exact ? 0 : 1);
	bool is_known = state->is_exact && is_no_code(snapshot, state);
	bool is_code = !is_known && vg_modules_is_code(modules, code_at);

	walk->range_unknown = !is_known && !is_code;
	walk->end = VG_WALK_NO_INFO;
	if (is_code || (walk->range_unknown && vg_modules_was_code(modules, code_at)))
		walk->end = VG_WALK_MODULE_UNLOADED;
	if (walk->count > 0 && !is_known)
		return false;
	*rc = vg_walk_push(walk, &frame);
	if (*rc != 0 || !is_known)
		return false;
	if (walk->count >= max_frames) {
		walk->end = VG_WALK_FRAME_LIMIT;
		return false;
	}
	return vg_step_by_stack_top(&unwinder->rows, snapshot, state, walk);
}

/* ---- the walk ---- */

/* Whether the walk ends here: the frame has no caller, or the copy is too short to decide.  Sets walk->end. */
static bool is_walk_end(struct vg_unwinder *unwinder, const struct vg_row *row, const struct vg_snapshot *snapshot,
			const struct vg_frame_state *state, struct vg_walk *walk)
{
	walk->end = VG_WALK_ROOT;
	if (row->kind == VG_ROW_ROOT ||
	    (walk->count == 1 && snapshot->regs_complete && vg_regs_in_new_thread(&snapshot->regs)))
		return true;
	/* If a program makes a stack itself, the stack's first function may "return" to the first instruction of
	 * another function.  Then this other function is the root frame, although its unwind information is like any
	 * function's.  (glibc's makecontext(3) uses __start_context like this.) */
	if (!state->is_function_begin || row->signal)
		return false;
	return vg_rows_replaces_stack(&unwinder->rows, state->pc) ||
	       vg_step_is_root(&unwinder->rows, snapshot, state->sp, VG_ROOT_SCAN_BYTES, walk) ||
	       walk->end == VG_WALK_TRUNCATED;
}

/* Finds the row and the frame at the state's address.  found->row is the row to apply.  False: no code is known
 * there. */
static bool frame_find(struct vg_unwinder *unwinder, struct vg_frame_state *state, struct vg_found_row *found,
		       struct vg_frame *frame)
{
	enum vg_return_kind returns;

	if (!vg_rows_get(&unwinder->rows, state->pc - (state->is_exact ? 0 : 1), found))
		return false;
	returns = state->is_exact ? VG_RETURN_AFTER_CALL : vg_rows_return_kind(&unwinder->rows, found);
	if (state->is_exact && found->row.kind == VG_ROW_NONE &&
	    vg_code_is_sigreturn(unwinder->rows.modules->memory, state->pc)) {
		found->row = unwinder->rows.sigreturn;
	} else if (returns == VG_RETURN_SIGRETURN) {
		state->is_exact = true;
		found->row = unwinder->rows.sigreturn;
	} else if (returns == VG_RETURN_FUNCTION_BEGIN) {
		state->is_exact = state->is_function_begin = true;
		return frame_find(unwinder, state, found, frame);
	}
	*frame = (struct vg_frame){ state->pc - (state->is_exact ? 0 : 1), found->module, state->found };
	return true;
}

/* Continues the walk from the state by rows.  True: the walk has ended.  False: a row needs libunwind. */
static bool rows_walk(struct vg_unwinder *unwinder, const struct vg_snapshot *snapshot,
		      uint32_t max_frames, struct vg_frame_state state, struct vg_walk *walk, int *rc)
{
	struct vg_memory *memory = unwinder->rows.modules->memory;

	for (;;) {
		struct vg_found_row found;
		struct vg_frame frame;

		if (!frame_find(unwinder, &state, &found, &frame)) {
			if (!frame_without_code(unwinder, snapshot, max_frames, &state, walk, rc))
				return true;
			continue;
		}
		walk->range_unknown = false;
		*rc = vg_walk_push(walk, &frame);
		if (*rc != 0)
			return true;
		if (memory->words_left > 0 && vg_step_needs_fallback(&found.row, snapshot, walk->count == 1))
			return false;
		vg_step_count_stack(snapshot, state.sp, walk);
		if (memory->words_left == 0) {
			walk->end = VG_WALK_WORK_LIMIT;
			return true;
		}
		if (found.row.kind == VG_ROW_UNLOADED) {
			walk->end = VG_WALK_MODULE_UNLOADED;
			return true;
		}
		if (is_walk_end(unwinder, &found.row, snapshot, &state, walk))
			return true;
		if (walk->count >= max_frames) {
			walk->end = VG_WALK_FRAME_LIMIT;
			return true;
		}
		if (!vg_step(&unwinder->rows, &found, snapshot, &state, walk)) {
			if (memory->words_left == 0)
				walk->end = VG_WALK_WORK_LIMIT;
			walk->range_unknown &= walk->end != VG_WALK_ROOT;
			return true;
		}
	}
}

/* Walks by libunwind, then by rows from the frame at which libunwind stopped. */
static int fallback_walk(struct vg_unwinder *unwinder, const struct vg_snapshot *snapshot, uint32_t max_frames,
			 struct vg_walk *walk)
{
	struct vg_modules *modules = unwinder->rows.modules;
	struct vg_frame_state state;
	bool goes_on;
	int rc;

	unwinder->counts.fallbacks++;
	rc = vg_fallback_unwind(unwinder->fallback, snapshot, max_frames, walk, &state, &goes_on);
	if (goes_on)
		walk->count--;       /* rows_walk() adds that frame again */
	/* libunwind has read the memory of these modules, so their marks must be checked again. */
	for (uint32_t i = 0; i < walk->count; i++) {
		if (walk->frames[i].module != VG_NONE && modules->items.items[walk->frames[i].module].loaded)
			vg_modules_require_check(modules, walk->frames[i].module);
	}
	/* libunwind cannot start in the middle of a stack: another row that needs libunwind ends the walk. */
	if (goes_on && !rows_walk(unwinder, snapshot, max_frames, state, walk, &rc))
		walk->end = VG_WALK_NO_REGISTER;
	return rc;
}

int vg_unwind(struct vg_unwinder *unwinder, const struct vg_snapshot *snapshot,
	      uint32_t max_frames, struct vg_walk *walk)
{
	bool guessed = !snapshot->regs_complete && snapshot->fp_guess != 0;
	struct vg_frame_state leaf = {
		.pc = vg_regs_pc(&snapshot->regs), .sp = vg_regs_sp(&snapshot->regs),
		.fp = guessed ? snapshot->fp_guess : vg_regs_fp(&snapshot->regs),
		.fp_known = snapshot->regs_complete || guessed, .fp_guessed = guessed, .is_exact = true,
	};
	int rc = 0;

	unwinder->rows.modules->moment = snapshot->moment;
	vg_rows_walk_begin(&unwinder->rows);
	walk->count = 0;
	walk->stack_bytes = snapshot->stack_bytes;
	walk->other_sp = 0;
	walk->fp_missing_sp = 0;
	if (!rows_walk(unwinder, snapshot, max_frames, leaf, walk, &rc)) {
		walk->end = VG_WALK_NO_REGISTER;
		if (snapshot->regs_complete)
			rc = fallback_walk(unwinder, snapshot, max_frames, walk);
	}
	unwinder->counts.walks++;
	unwinder->counts.rows_decoded = unwinder->rows.decoded;
	return rc;
}

/* ---- a guessed frame pointer ---- */

enum { GUESSES_MAX = 16 };

/* Whether unwind information covers the address.  *first is the address at which the function begins. */
static bool function_find(const struct vg_modules *modules, uint64_t address, uint64_t *first)
{
	const struct vg_code_range *range = vg_modules_find(modules, address);
	uint64_t bytes;

	return range != NULL && range->module != VG_NONE &&
	       vg_cfi_function(modules->memory, &modules->items.items[range->module].image, address, first, &bytes);
}

/* The function whose caller is wanted. */
struct callee {
	bool has_info;               /* unwind information covers it */
	bool is_part;                /* a cold part, which begins in the middle of its function: no call leads
					to `first` */
	uint64_t first;
};

static struct callee callee_find(const struct vg_modules *modules, uint64_t address)
{
	struct callee callee = { 0 };

	callee.has_info = function_find(modules, address, &callee.first);
	callee.is_part = callee.has_info && !vg_code_begins_frame(modules->memory, callee.first);
	return callee;
}

/* Whether the call instruction before the return address calls another function than the callee.  Old frames leave such
 * return addresses all over the stack. */
static bool is_call_of_another(const struct vg_modules *modules, const struct callee *callee, uint64_t return_address)
{
	uint64_t called = vg_code_call_target(modules->memory, return_address, false), ignored;

	if (called == 0 || callee->is_part)
		return false;
	return callee->has_info ? called != callee->first : function_find(modules, called, &ignored);
}

/* Finds the lowest stack word, at or above `slot`, that looks like a saved frame pointer.  Two conditions: the word's
 * value points further up in the copied stack, and the next word above is a return address behind a call that may have
 * called the callee.  Returns the address of the word that was found; 0: none. */
static uint64_t saved_pair_find(struct vg_rows *rows, const struct vg_snapshot *snapshot, const struct callee *callee,
				uint64_t slot)
{
	uint64_t value = 0, pc;

	for (slot = (slot + 7) / 8 * 8; vg_snapshot_word(snapshot, slot + 8, &pc) == 0; slot += 8) {
		vg_snapshot_word(snapshot, slot, &value);
		if (value > slot && value - snapshot->stack_address < snapshot->stack_bytes &&
		    vg_rows_is_after_call(rows, pc) && !is_call_of_another(rows->modules, callee, pc))
			return slot;
	}
	return 0;
}

int vg_unwind_guess(struct vg_unwinder *unwinder, struct vg_snapshot *snapshot, bool stack_truncated,
		    uint32_t max_frames, struct vg_walk *walk)
{
	uint64_t slot = walk->fp_missing_sp;
	struct callee callee;
	int rc = 0;

	if (slot == 0 || walk->count == 0)
		return 0;
	callee = callee_find(unwinder->rows.modules, walk->frames[walk->count - 1].address);
	for (int i = 0; i < GUESSES_MAX && rc == 0; i++) {
		slot = saved_pair_find(&unwinder->rows, snapshot, &callee, slot);
		if (slot == 0)
			break;
		snapshot->fp_guess = slot;
		rc = vg_unwind(unwinder, snapshot, max_frames, walk);
		if (walk->end == VG_WALK_ROOT || walk->end == VG_WALK_FRAME_LIMIT || walk->end == VG_WALK_TRUNCATED)
			return rc;
		slot += 8;
	}
	snapshot->fp_guess = 0;
	if (rc == 0)
		rc = vg_unwind(unwinder, snapshot, max_frames, walk);
	if (slot == 0 && stack_truncated)
		walk->end = VG_WALK_TRUNCATED;
	return rc;
}

/* ---- the unwinder ---- */

void vg_unwinder_clear(struct vg_unwinder *unwinder)
{
	vg_rows_clear(&unwinder->rows);
}

void vg_unwinder_walk_discard(struct vg_unwinder *unwinder)
{
	vg_rows_walk_discard(&unwinder->rows);
}

const struct vg_unwind_counts *vg_unwinder_counts(const struct vg_unwinder *unwinder)
{
	return &unwinder->counts;
}

int vg_unwinder_open(struct vg_unwinder **unwinder_out, struct vg_modules *modules)
{
	struct vg_unwinder *unwinder = calloc(1, sizeof *unwinder);

	if (unwinder == NULL)
		return -ENOMEM;
	if (vg_rows_open(&unwinder->rows, modules) != 0 || vg_fallback_open(&unwinder->fallback, modules) != 0) {
		vg_unwinder_free(unwinder);
		return -ENOMEM;
	}
	*unwinder_out = unwinder;
	return 0;
}

void vg_unwinder_free(struct vg_unwinder *unwinder)
{
	if (unwinder == NULL)
		return;
	vg_fallback_free(unwinder->fallback);
	vg_rows_free(&unwinder->rows);
	free(unwinder);
}
