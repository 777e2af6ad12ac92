/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/step.h"

#include "vignetted/unwind/cfi.h"
#include "vignetted/unwind/code.h"

/* Ends the walk because the frame pointer is not known.  Always returns false. */
static bool fp_missing(const struct vg_frame_state *state, struct vg_walk *walk)
{
	walk->end = VG_WALK_NO_REGISTER;
	walk->fp_missing_sp = state->sp;
	return false;
}

/* Whether the frame of the row's function has the same size at each call in the function and in its cold parts. */
static bool frame_is_constant(struct vg_rows *rows, const struct vg_cached_row *cached)
{
	struct vg_memory *memory = rows->modules->memory;
	struct vg_image *image = &rows->modules->items.items[cached->module].image;
	struct vg_code_jump_targets targets, ignored;
	uint64_t first, bytes;

	/* False for a cold part: it begins in the middle of its function, and sets up no frame. */
	if (!vg_cfi_function(memory, image, cached->address, &first, &bytes) ||
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
static void fp_derive(struct vg_rows *rows, const struct vg_cached_row *cached,
		      const struct vg_snapshot *snapshot, struct vg_frame_state *state)
{
	vg_frame_size *size = &rows->sizes[cached - rows->cached];
	uint64_t bytes, pc;

	if (snapshot->regs_complete && state->fp_known)
		vg_frame_size_note(size, state->sp, state->fp);
	if (snapshot->regs_complete || state->fp_known || !vg_frame_size_known(*size, &bytes))
		return;
	if (!vg_frame_size_proven(*size) && !frame_is_constant(rows, cached)) {
		*size = VG_FRAME_SIZE_VARIES;
		return;
	}
	vg_frame_size_set_proven(size);
	state->fp = state->sp + bytes;
	state->fp_known = vg_snapshot_word(snapshot, state->fp + 8, &pc) != 0 ||
			  (vg_modules_find(rows->modules, pc - 1) != NULL &&
			   vg_code_after_call(rows->modules->memory, pc));
}

/* Whether the address is in the copy of the second stack, or just behind it. */
static bool is_in_other(const struct vg_snapshot *snapshot, uint64_t address)
{
	return snapshot->other.bytes > 0 && address - snapshot->other.address <= snapshot->other.bytes;
}

void vg_step_count_stack(const struct vg_snapshot *snapshot, uint64_t sp, struct vg_walk *walk)
{
	uint64_t bytes = sp - snapshot->stack_address;

	if (is_in_other(snapshot, sp)) {
		bytes = sp - snapshot->other.address;
		bytes = bytes > walk->stack_bytes ? bytes : walk->stack_bytes;
	}
	walk->stack_bytes = bytes;
}

/* Whether an address that was not copied is close enough above a copy to be in the same stack. */
static bool is_above_copy(const struct vg_snapshot *snapshot, uint64_t address)
{
	return address - snapshot->stack_address < snapshot->stack_bytes + VG_SNAPSHOT_MAX_BYTES ||
	       (snapshot->other.bytes > 0 &&
		address - snapshot->other.address < snapshot->other.bytes + VG_SNAPSHOT_MAX_BYTES);
}

/* The reason why a walk ends if no caller was found up to the end of the copy. */
static enum vg_walk_end copy_end_reason(const struct vg_snapshot *snapshot, uint64_t sp)
{
	bool in_first = sp - snapshot->stack_address <= snapshot->stack_bytes;

	if (is_in_other(snapshot, sp) ? snapshot->other.ended : in_first && snapshot->stack_end_copied)
		return VG_WALK_ROOT;
	return is_above_copy(snapshot, sp) ? VG_WALK_TRUNCATED : VG_WALK_BAD_INFO;
}

/* Number of stack words that are searched for a caller.  Few functions have larger frames. */
enum { ROOT_SCAN_WORDS = 256 };

/* A frame can seem to be the root frame if its unwind information is wrong, or if the frame pointer register has
 * another use.  Then a return address is above the stack pointer.  Above a real root frame there are only the thread's
 * arguments or the stack's end. */
bool vg_step_is_root(struct vg_rows *rows, const struct vg_snapshot *snapshot, uint64_t sp,
		     struct vg_walk *walk)
{
	uint64_t pc;

	walk->end = VG_WALK_NO_INFO;
	for (int i = 0; i < ROOT_SCAN_WORDS; i++, sp += 8) {
		vg_step_count_stack(snapshot, sp + 8, walk);
		if (vg_snapshot_word(snapshot, sp, &pc) != 0) {
			walk->end = copy_end_reason(snapshot, sp);
			return walk->end == VG_WALK_ROOT;
		}
		if (!vg_memory_words_use(rows->modules->memory, 1) || vg_rows_is_after_call(rows, pc))
			return false;
	}
	walk->end = VG_WALK_ROOT;
	return true;
}

static bool is_copied(const struct vg_snapshot *snapshot, uint64_t address)
{
	uint64_t ignored;

	return vg_snapshot_word(snapshot, address, &ignored) == 0;
}

/* Reads a word of the stack.  False: it was not copied, and walk->end says why. */
static bool stack_word(const struct vg_snapshot *snapshot, uint64_t address, uint64_t *word,
		       struct vg_walk *walk)
{
	if (vg_snapshot_word(snapshot, address, word) == 0)
		return true;
	walk->end = is_above_copy(snapshot, address) ? VG_WALK_TRUNCATED : VG_WALK_BAD_INFO;
	return false;
}

static uint64_t location(enum vg_row_base base, int32_t offset, uint64_t cfa,
			 const struct vg_frame_state *state)
{
	uint64_t from = base == VG_FROM_CFA ? cfa : base == VG_FROM_FP ? state->fp : state->sp;

	return from + (uint64_t)(int64_t)offset;
}

/* Whether a signal handler ran on a stack of its own: `sp`, the stack pointer at the signal, is not in the handler's
 * stack.  An address just above a truncated copy counts as an address in the handler's stack. */
static bool is_other_stack(const struct vg_snapshot *snapshot, uint64_t sp)
{
	uint64_t above = sp - snapshot->stack_address;

	return above >= snapshot->stack_bytes &&
	       (snapshot->stack_end_copied || above >= snapshot->stack_bytes + VG_SNAPSHOT_MAX_BYTES);
}

/* Whether the frame pointer was already popped.  At a function's end, unwind information still says that the frame
 * pointer is saved at an address which is then below the stack pointer.  But the register has the caller's value
 * again. */
static bool fp_popped(const struct vg_snapshot *snapshot, uint64_t saved_at,
		      const struct vg_frame_state *state)
{
	return state->fp_known && !is_copied(snapshot, saved_at) && saved_at < state->sp &&
	       state->sp - saved_at <= vg_regs_red_zone_bytes;
}

/* All registers are known for the leaf frame only.  For the leaf frame of a waiting thread, only the arguments of its
 * system call are known.  (glibc's vfork keeps its return address in the register of an argument, because the child
 * uses the same stack.) */
bool vg_step_needs_fallback(const struct vg_row *row, const struct vg_snapshot *snapshot, bool is_first)
{
	if (row->kind != VG_ROW_PLAIN || row->ra_base != VG_FROM_REGISTER)
		return row->kind == VG_ROW_COMPLEX;
	return !is_first || !(snapshot->regs_complete || (snapshot->in_syscall && vg_regs_is_argument(row->ra_offset)));
}

static bool return_address(const struct vg_row *row, const struct vg_snapshot *snapshot, uint64_t cfa,
			   const struct vg_frame_state *state, uint64_t *pc, struct vg_walk *walk)
{
	if (row->ra_base != VG_FROM_REGISTER)
		return stack_word(snapshot, location(row->ra_base, row->ra_offset, cfa, state), pc, walk);
	walk->end = VG_WALK_BAD_INFO;
	return vg_regs_by_dwarf_number(&snapshot->regs, row->ra_offset, pc) == 0;
}

/* Goes to the caller by unwind information.  False: the walk ends, with walk->end set. */
static bool step_by_row(const struct vg_row *row, const struct vg_snapshot *snapshot,
			struct vg_frame_state *state, struct vg_walk *walk)
{
	struct vg_frame_state caller = {
		.fp = state->fp, .fp_known = state->fp_known, .fp_guessed = state->fp_guessed,
		.is_exact = row->signal, .signal_sp = row->signal ? state->sp : 0,
		.found = state->fp_guessed && row->cfa_base == VG_FROM_FP ? VG_FOUND_BY_SCAN : VG_FOUND_BY_CFI,
	};
	uint64_t cfa, saved_at;

	if ((row->cfa_base == VG_FROM_FP || row->fp_base == VG_FROM_FP) && !state->fp_known)
		return fp_missing(state, walk);
	cfa = location(row->cfa_base, row->cfa_offset, 0, state);
	if (row->cfa_deref && !stack_word(snapshot, cfa, &cfa, walk))
		return false;
	cfa += row->cfa_addend;
	/* A caller's frame is above its callee's.  Exceptions: a signal handler has its own stack, or the callee has no
	 * frame and its return address is in a register. */
	if (cfa <= state->sp && !row->signal && !(cfa == state->sp && row->ra_base == VG_FROM_REGISTER)) {
		walk->end = VG_WALK_BAD_INFO;
		return false;
	}
	if (!return_address(row, snapshot, cfa, state, &caller.pc, walk))
		return false;
	if (row->fp_base == VG_FROM_UNDEFINED) {
		caller.fp_known = false;
	} else if (row->fp_base != VG_FROM_SAME) {
		saved_at = location(row->fp_base, row->fp_offset, cfa, state);
		if (fp_popped(snapshot, saved_at, state))
			caller.fp = state->fp;
		else if (!stack_word(snapshot, saved_at, &caller.fp, walk))
			return false;
		caller.fp_known = true;
		caller.fp_guessed = false;
	}
	caller.sp = cfa;
	if (row->signal && walk->other_sp == 0 && is_other_stack(snapshot, cfa))
		walk->other_sp = cfa;
	*state = caller;
	return true;
}

/* Whether the word above a saved frame pointer is a return address.  There are pointers to functions on the stack as
 * well, so there must be a call instruction directly before the address.  JIT code is an exception: HotSpot's
 * interpreter has no call instruction there.  It pushes the return address and jumps.  In JIT code the saved frame
 * pointer must lead to another return address instead. */
static bool is_return_address(struct vg_rows *rows, struct vg_cached_row *cached, const struct vg_snapshot *snapshot,
			      uint64_t fp, const struct vg_frame_state *caller, struct vg_walk *walk)
{
	uint64_t pc;

	switch (vg_rows_return_kind(rows, cached)) {
	case VG_RETURN_AFTER_CALL: case VG_RETURN_SIGRETURN:
		return true;
	case VG_RETURN_STACK_BOTTOM:
		return caller->fp == 0;
	default:
		break;
	}
	if (cached->module != VG_NONE || caller->fp <= fp || caller->fp % 8 != 0)
		return false;
	if (vg_snapshot_word(snapshot, caller->fp + 8, &pc) == 0)
		return vg_modules_find(rows->modules, pc - 1) != NULL;
	if (is_above_copy(snapshot, caller->fp))
		walk->end = VG_WALK_TRUNCATED;
	return false;
}

/* Goes to the caller by frame pointer, for code without unwind information.  The frame pointer points to the saved
 * frame pointer, and the return address is above it.  The walk ends if the two words do not look like a saved frame
 * pointer and a return address. */
static bool step_by_frame_pointer(struct vg_rows *rows, const struct vg_snapshot *snapshot,
				  struct vg_frame_state *state, struct vg_walk *walk)
{
	struct vg_frame_state caller = {
		.sp = state->fp + 16, .fp_known = true, .fp_from_chain = true,
		.found = state->fp_guessed ? VG_FOUND_BY_SCAN : VG_FOUND_BY_FRAME_POINTER,
	};
	struct vg_cached_row *cached;

	if (!state->fp_known)
		return fp_missing(state, walk);
	walk->end = VG_WALK_NO_INFO;
	/* The root frame has frame pointer 0 (System V ABI, AMD64 supplement, 3.4.1).  The loader's root frame, which
	 * runs the constructors of libraries, has frame pointer 0 too, and no unwind information.  In functions that do
	 * not use a frame pointer, the register may be 0 by chance. */
	if (state->fp == 0 && !state->fp_guessed && walk->count > 1) {
		if (state->fp_from_chain)
			walk->end = VG_WALK_ROOT;
		else
			vg_step_is_root(rows, snapshot, state->sp, walk);
	}
	if (state->fp < state->sp || state->fp % 8 != 0)
		return false;
	if (vg_snapshot_word(snapshot, state->fp, &caller.fp) != 0 ||
	    vg_snapshot_word(snapshot, state->fp + 8, &caller.pc) != 0) {
		if (is_above_copy(snapshot, state->fp))
			walk->end = VG_WALK_TRUNCATED;
		return false;
	}
	/* If no code is known at the return address, go on: the next frame ends the walk and sets range_unknown, so
	 * that the caller of vg_unwind() reads /proc/PID/maps again. */
	cached = vg_rows_get(rows, caller.pc - 1);
	if (cached != NULL && !is_return_address(rows, cached, snapshot, state->fp, &caller, walk))
		return false;
	*state = caller;
	return true;
}

/* Whether the row, which was found from instructions, led to a caller. */
static bool code_row_finds_caller(struct vg_rows *rows, struct vg_code_row_set *set, size_t row,
				  const struct vg_frame_state *caller)
{
	struct vg_cached_row *cached = vg_rows_get(rows, caller->pc - 1);

	if (cached == NULL)
		return false;
	switch (vg_rows_return_kind(rows, cached)) {
	case VG_RETURN_SIGRETURN:
		return true;
	case VG_RETURN_STACK_BOTTOM:
		return caller->fp_known && caller->fp == 0;
	default:
		return vg_code_row_set_finds_caller(set, rows->modules->memory, row, caller->pc, caller->sp);
	}
}

/* Goes to the caller by rows from the function's instructions.  Sets *ends if the walk ends here, because the return
 * address was not copied or the function has switched stacks. */
static bool step_by_code(struct vg_rows *rows, uint32_t module, const struct vg_snapshot *snapshot,
			 struct vg_frame_state *state, struct vg_walk *walk, bool *ends)
{
	*ends = false;
	for (int is_backward = 0; is_backward < 2; is_backward++) {
		struct vg_code_row_set *set = vg_rows_from_code(rows, module, state->pc, is_backward);

		for (size_t i = 0; set != NULL && i < set->count; i++) {
			struct vg_frame_state caller = *state;
			bool found = step_by_row(&set->rows[i], snapshot, &caller, walk);

			*ends = !found && walk->end == VG_WALK_TRUNCATED && !is_backward && i == 0;
			if (*ends)
				return false;
			if (found && code_row_finds_caller(rows, set, i, &caller)) {
				*state = caller;
				state->found = VG_FOUND_BY_INSTRUCTIONS;
				return true;
			}
		}
		*ends |= set != NULL && set->stack_replaced;
	}
	walk->end = VG_WALK_NO_INFO;
	return false;
}

bool vg_step_by_stack_top(struct vg_rows *rows, const struct vg_snapshot *snapshot, struct vg_frame_state *state,
			  struct vg_walk *walk)
{
	struct vg_cached_row *cached;
	uint64_t pc;

	if (vg_snapshot_word(snapshot, state->sp, &pc) != 0) {
		if (is_above_copy(snapshot, state->sp))
			walk->end = VG_WALK_TRUNCATED;
		return false;
	}
	cached = vg_rows_get(rows, pc - 1);
	if (cached == NULL || vg_rows_return_kind(rows, cached) != VG_RETURN_AFTER_CALL)
		return false;
	state->pc = pc;
	state->sp += 8;
	state->is_exact = false;
	state->is_function_begin = false;
	state->signal_sp = 0;
	state->found = VG_FOUND_BY_FRAME_POINTER;
	return true;
}

bool vg_step(struct vg_rows *rows, const struct vg_cached_row *cached, const struct vg_row *row,
	     const struct vg_snapshot *snapshot, struct vg_frame_state *state, struct vg_walk *walk)
{
	uint32_t module = cached->module;
	/* vg_rows_get() below may replace the cached row, so read its kind first. */
	bool ends = false, no_unwind_info = row->kind == VG_ROW_NONE;

	/* If a function without unwind information has just made a system call, it is probably a wrapper in assembly,
	 * which has no frame.  (glibc's clone3 is one.  While a thread creates another thread, every sample finds it in
	 * clone3.) */
	if (no_unwind_info && walk->count == 1 &&
	    vg_code_after_syscall(rows->modules->memory, state->pc) &&
	    vg_step_by_stack_top(rows, snapshot, state, walk))
		return true;
	if (no_unwind_info && module != VG_NONE &&
	    (step_by_code(rows, module, snapshot, state, walk, &ends) || ends))
		return !ends;
	if (no_unwind_info)
		return step_by_frame_pointer(rows, snapshot, state, walk);
	if (row->cfa_base == VG_FROM_FP)
		fp_derive(rows, cached, snapshot, state);
	if (!step_by_row(row, snapshot, state, walk))
		return false;
	/* A thread that called address 0 is at address 0 when a signal interrupts it.  So 0 is a valid pc behind a
	 * signal frame. */
	if (state->pc != 0 || row->signal)
		return true;
	/* Libraries that switch stacks give a stack's first function the return address 0. */
	if (snapshot->fp_guess != 0)
		walk->end = VG_WALK_BAD_INFO; /* the guess led to an unused part of the stack */
	else
		vg_step_is_root(rows, snapshot, state->sp, walk);
	return false;
}
