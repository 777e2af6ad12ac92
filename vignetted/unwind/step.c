/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/step.h"

#include "vignetted/unwind/cfi.h"
#include "vignetted/unwind/code.h"

/* ---- the copied stack ---- */

/* Ends the walk because the frame pointer is not known.  Always returns false. */
static bool fp_missing(const struct vg_frame_state *state, struct vg_walk *walk)
{
	walk->end = VG_WALK_NO_REGISTER;
	walk->fp_missing_sp = state->sp;
	return false;
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

/* A frame can seem to be the root frame if its unwind information is wrong, or if the frame pointer register has
 * another use.  Then a return address is above the stack pointer.  Above a real root frame there are only the thread's
 * arguments or the stack's end. */
bool vg_step_is_root(struct vg_rows *rows, const struct vg_snapshot *snapshot, uint64_t sp, uint64_t bytes,
		     struct vg_walk *walk)
{
	uint64_t pc;

	walk->end = VG_WALK_NO_INFO;
	for (uint64_t i = 0; i < bytes; i += 8, sp += 8) {
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

/* Reads a word of the stack.  False: it was not copied, and walk->end says why. */
static bool stack_word(const struct vg_snapshot *snapshot, uint64_t address, uint64_t *word, struct vg_walk *walk)
{
	if (vg_snapshot_word(snapshot, address, word) == 0)
		return true;
	walk->end = is_above_copy(snapshot, address) ? VG_WALK_TRUNCATED : VG_WALK_BAD_INFO;
	return false;
}

static uint64_t location(enum vg_row_base base, int32_t offset, uint64_t cfa, const struct vg_frame_state *state)
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
static bool fp_popped(const struct vg_snapshot *snapshot, uint64_t saved_at, const struct vg_frame_state *state)
{
	uint64_t ignored;

	return state->fp_known && saved_at < state->sp && state->sp - saved_at <= vg_regs_red_zone_bytes &&
	       vg_snapshot_word(snapshot, saved_at, &ignored) != 0;
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

/* Moves *state to the caller by the row.  False: the walk ends, and walk->end is set. */
static bool step_by_row(const struct vg_row *row, const struct vg_snapshot *snapshot, struct vg_frame_state *state,
			struct vg_walk *walk)
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

/* ---- by the frame pointer ---- */

/* Code without unwind information is searched for its caller in more than VG_ROOT_SCAN_BYTES, because nothing else
 * shows that it has one: a signal handler's frame, for example, is above a frame of the kernel with 2.5 KiB. */
enum { LONG_SCAN_BYTES = 64 * 1024 };

/* Whether the caller's frame pointer leads to a further return address, above `fp`. */
static bool fp_leads_on(struct vg_rows *rows, const struct vg_snapshot *snapshot, uint64_t fp,
			const struct vg_frame_state *caller, struct vg_walk *walk)
{
	uint64_t pc;

	if (!caller->fp_known || caller->fp <= fp || caller->fp % 8 != 0)
		return false;
	if (vg_snapshot_word(snapshot, caller->fp + 8, &pc) == 0)
		return vg_modules_find(rows->modules, pc - 1) != NULL;
	if (is_above_copy(snapshot, caller->fp))
		walk->end = VG_WALK_TRUNCATED;
	return false;
}

/* Whether the word above a saved frame pointer is a return address.  There are pointers to functions on the stack as
 * well, so there must be a call instruction directly before the address.  JIT code is an exception: HotSpot's
 * interpreter has no call instruction there.  It pushes the return address and jumps.  In JIT code the saved frame
 * pointer must lead to another return address instead. */
static bool is_return_address(struct vg_rows *rows, const struct vg_found_row *found,
			      const struct vg_snapshot *snapshot, uint64_t fp, const struct vg_frame_state *caller,
			      struct vg_walk *walk)
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
	return found->module == VG_NONE && fp_leads_on(rows, snapshot, fp, caller, walk);
}

/* Whether the frame is the root frame because its frame pointer is 0.  Sets walk->end.  The root frame has frame
 * pointer 0 (System V ABI, AMD64 supplement, 3.4.1).  The loader's root frame, which runs the constructors of
 * libraries, has frame pointer 0 too, and no unwind information.  In functions that do not use a frame pointer, the
 * register may be 0 by chance.  In JIT code it often is, so there a chain of frame pointers must lead to the frame. */
static bool is_root_by_pointer(struct vg_rows *rows, uint32_t module, const struct vg_snapshot *snapshot,
			       const struct vg_frame_state *state, struct vg_walk *walk)
{
	walk->end = VG_WALK_NO_INFO;
	if (!state->fp_known || state->fp != 0 || state->fp_guessed || walk->count <= 1)
		return false;
	if (!state->fp_from_chain)
		return module != VG_NONE && vg_step_is_root(rows, snapshot, state->sp, LONG_SCAN_BYTES, walk);
	walk->end = VG_WALK_ROOT;
	return true;
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
	struct vg_found_row found;

	if (!state->fp_known)
		return fp_missing(state, walk);
	walk->end = VG_WALK_NO_INFO;
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
	if (vg_rows_get(rows, caller.pc - 1, &found) &&
	    !is_return_address(rows, &found, snapshot, state->fp, &caller, walk))
		return false;
	*state = caller;
	return true;
}

/* ---- by instructions ---- */

/* A callee that saves the frame pointer at once has it directly below the return address. */
enum { FRAME_RECORD_BYTES = 16 };

/* Whether a row is believed that vg_code_rows_verify() cannot prove.  Compilers align the stack at calls.  JIT
 * compilers do not always, but they write a trap after each call that does not return, so no path leaves the
 * function there.  From a likely beginning, which may be an aligned loop, only a single row is believed, and only if
 * there is no chain of frame pointers to compare with. */
static bool is_believed(const struct vg_code_row_set *set, size_t row, uint32_t module, uint64_t cfa, bool has_chain)
{
	if (module != VG_NONE)
		return vg_code_rows_is_aligned(cfa);
	if (set->how == VG_CODE_FROM_BEGINNING)
		return set->found.count == 1 && !has_chain;
	return vg_code_rows_is_aligned(cfa) || row < set->found.sure_count;
}

/* Whether the row, which was found from instructions, led to a caller.  May change *caller and walk->end. */
static bool caller_accept(struct vg_rows *rows, uint32_t module, struct vg_code_row_set *set, size_t row,
			  const struct vg_snapshot *snapshot, const struct vg_frame_state *state,
			  struct vg_frame_state *caller, struct vg_walk *walk)
{
	bool has_chain = module == VG_NONE && set->how == VG_CODE_FROM_BEGINNING &&
			 fp_leads_on(rows, snapshot, state->sp, state, walk);
	enum vg_code_verdict verdict;
	struct vg_found_row found;

	/* The code may have been loaded since the maps were read. */
	if (!vg_rows_get(rows, caller->pc - 1, &found)) {
		walk->range_unknown |= row < set->found.sure_count && vg_code_rows_is_aligned(caller->sp) &&
				       !vg_modules_is_code(rows->modules, caller->pc - 1);
		return false;
	}
	if (found.row.signal)        /* the kernel pushed the address of the signal trampoline */
		return true;
	switch (vg_rows_return_kind(rows, &found)) {
	case VG_RETURN_SIGRETURN:
		return true;
	case VG_RETURN_STACK_BOTTOM:
		/* The root frame of a stack of Go is known like the end of a chain of frame pointers. */
		caller->fp_from_chain = caller->fp_known && caller->fp == 0;
		return caller->fp_from_chain;
	/* makecontext() puts the address of a function on the stack. */
	case VG_RETURN_FUNCTION_BEGIN:
		return is_believed(set, row, module, caller->sp, has_chain);
	case VG_RETURN_AFTER_CALL:
		/* Calls in JIT code often lead to stubs, which do not show the function. */
		verdict = module == VG_NONE ? VG_CODE_UNDECIDED :
			  vg_code_row_set_verify(rows->code_rows, set, rows->modules->memory, row, caller->pc,
						 found.module == VG_NONE);
		if (verdict != VG_CODE_UNDECIDED || is_believed(set, row, module, caller->sp, has_chain))
			return verdict != VG_CODE_WRONG;
		return module == VG_NONE &&
		       fp_leads_on(rows, snapshot, caller->sp - FRAME_RECORD_BYTES, caller, walk);
	default:
		/* HotSpot's interpreter and BEAM put a return address on the stack themselves. */
		if (module != VG_NONE || found.module != VG_NONE)
			return false;
		if (fp_leads_on(rows, snapshot, caller->sp - FRAME_RECORD_BYTES, caller, walk))
			return true;
		/* At the bottom of each Erlang process's stack is the address of code that switches stacks. */
		caller->is_exact = caller->is_function_begin = vg_rows_replaces_stack(rows, caller->pc);
		return caller->is_exact;
	}
}

/* Whether the row describes a frame with a frame pointer.  step_by_frame_pointer() would have led to the same
 * caller. */
static bool is_fp_frame(const struct vg_row *row)
{
	return row->cfa_base == VG_FROM_FP && row->cfa_offset == 16 && !row->cfa_deref &&
	       row->fp_base == VG_FROM_FP && row->fp_offset == 0;
}

/* Goes to the caller by rows from the instructions of the function, searched in the ways from `how` to `last`.
 * Checks the caller that a row gives.  Sets *ends to true if the walk ends here, and to false otherwise.  In code of
 * modules it ends if the return address was not copied, or if the function has switched stacks. */
static bool step_by_code(struct vg_rows *rows, uint32_t module, enum vg_code_search how, enum vg_code_search last,
			 const struct vg_snapshot *snapshot, struct vg_frame_state *state, struct vg_walk *walk,
			 bool *ends)
{
	bool has_fp, is_chain, truncated = false;

	*ends = false;
	for (; how <= last; how++) {
		struct vg_code_row_set *set = vg_rows_from_code(rows, module, state->pc, how);

		for (size_t i = 0; set != NULL && i < set->found.count; i++) {
			struct vg_frame_state caller = *state;
			bool found = step_by_row(&set->found.rows[i], snapshot, &caller, walk);

			/* The walker then makes a longer copy of the stack. */
			*ends = !found && walk->end == VG_WALK_TRUNCATED && how == VG_CODE_FIRST_RETURN &&
				module != VG_NONE;
			if (*ends)
				return false;
			truncated |= !found && walk->end == VG_WALK_TRUNCATED && i < set->found.sure_count;
			walk->fp_missing_sp = 0; /* another row may not need the frame pointer */
			if (!found || !caller_accept(rows, module, set, i, snapshot, state, &caller, walk))
				continue;
			has_fp = is_fp_frame(&set->found.rows[i]);
			is_chain = module == VG_NONE && has_fp;
			caller.fp_from_chain |= is_chain;
			caller.found = is_chain ? VG_FOUND_BY_FRAME_POINTER : VG_FOUND_BY_INSTRUCTIONS;
			/* Count a return address in JIT code, once for each set. */
			if (module == VG_NONE && !state->is_exact && !set->counted) {
				set->counted = true;
				rows->jit_frames++;
				rows->jit_frames_with_fp += has_fp;
			}
			*state = caller;
			return true;
		}
		*ends |= set != NULL && set->found.stack_replaced && module != VG_NONE;
		/* The first search ends early only with a row that is not doubtful.  Otherwise the second search would
		 * repeat it. */
		if (how == VG_CODE_FIRST_RETURN && set != NULL && set->found.sure_count == 0)
			how = VG_CODE_ALL_RETURNS;
	}
	walk->end = truncated && module != VG_NONE ? VG_WALK_TRUNCATED : VG_WALK_NO_INFO;
	return false;
}

/* An interpreter in whose frame JIT code runs. */
struct interpreter {
	uint64_t first, bytes;       /* its code: one function with unwind information */
	int32_t fp_offset;           /* where it saves its caller's frame pointer, from the CFA */
};

/* Whether the JIT code at the address jumps into the middle of a function with unwind information. */
static bool interpreter_find(struct vg_rows *rows, uint64_t address, struct interpreter *interpreter)
{
	const struct vg_code_row_set *set = vg_rows_from_code(rows, VG_NONE, address, VG_CODE_FIRST_RETURN);
	uint64_t to = set != NULL ? set->found.jump_out : 0;
	struct vg_found_row found;

	if (to == 0 || !vg_rows_get(rows, to, &found) || found.module == VG_NONE || found.row.kind != VG_ROW_PLAIN ||
	    found.row.cfa_base != VG_FROM_SP || found.row.fp_base != VG_FROM_CFA)
		return false;
	interpreter->fp_offset = found.row.fp_offset;
	return vg_cfi_function(rows->modules->memory, &rows->modules->items.items[found.module].image, to,
			       &interpreter->first, &interpreter->bytes) && to != interpreter->first;
}

/* LuaJIT's machine code has at most 256 spill slots of 4 bytes below the interpreter's frame of 80 bytes. */
enum { INTERPRETER_FRAME_MAX_BYTES = 2048, STACK_ALIGN = 16 };

/* Goes to the caller of the interpreter in whose frame JIT code runs.  LuaJIT's machine code has no frame and no
 * return.  It continues in the frame of the interpreter, lowers the stack pointer by a multiple of 16 bytes, and
 * jumps back into the interpreter.  The interpreter's caller has called the interpreter directly, so the lowest
 * return address of such a call is searched. */
static bool step_by_interpreter(struct vg_rows *rows, const struct vg_snapshot *snapshot, struct vg_frame_state *state,
				struct vg_walk *walk)
{
	struct vg_memory *memory = rows->modules->memory;
	struct vg_frame_state caller = { .found = VG_FOUND_BY_INSTRUCTIONS };
	struct interpreter interpreter;
	uint64_t called, cfa;

	if (!interpreter_find(rows, state->pc, &interpreter))
		return false;
	cfa = (state->sp + STACK_ALIGN - 1) / STACK_ALIGN * STACK_ALIGN + STACK_ALIGN;
	for (; cfa < state->sp + INTERPRETER_FRAME_MAX_BYTES; cfa += STACK_ALIGN) {
		if (!stack_word(snapshot, cfa - sizeof caller.pc, &caller.pc, walk))
			return false;
		called = vg_rows_is_after_call(rows, caller.pc) ? vg_code_call_target(memory, caller.pc, false) : 0;
		if (called == 0 || called - interpreter.first >= interpreter.bytes)
			continue;
		caller.sp = cfa;
		caller.fp_known = vg_snapshot_word(snapshot, cfa + (uint64_t)(int64_t)interpreter.fp_offset,
						   &caller.fp) == 0;
		*state = caller;
		return true;
	}
	return false;
}

/* ---- the step ---- */

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
static void fp_derive(struct vg_rows *rows, const struct vg_found_row *found, const struct vg_snapshot *snapshot,
		      struct vg_frame_state *state)
{
	struct vg_frame_size *size = vg_rows_frame_size(rows, found);
	uint64_t pc;

	if (size == NULL)
		return;
	if (snapshot->regs_complete && state->fp_known)
		vg_frame_size_note(size, state->sp, state->fp);
	if (snapshot->regs_complete || state->fp_known || size->seen != VG_FRAME_KNOWN)
		return;
	if (!size->proven && !frame_is_constant(rows, found)) {
		size->seen = VG_FRAME_VARIES;
		return;
	}
	size->proven = true;
	state->fp = state->sp + size->bytes;
	state->fp_known = vg_snapshot_word(snapshot, state->fp + 8, &pc) != 0 || vg_rows_is_after_call(rows, pc);
}

/* Goes to the caller by frame pointer, if the caller's frame pointer leads on to a further return address.  In code
 * that uses the register for other values this does not happen by chance. */
static bool step_by_chain(struct vg_rows *rows, const struct vg_snapshot *snapshot, struct vg_frame_state *state,
			  struct vg_walk *walk)
{
	struct vg_frame_state caller = *state;

	if (!state->fp_known || !step_by_frame_pointer(rows, snapshot, &caller, walk) ||
	    !fp_leads_on(rows, snapshot, state->fp, &caller, walk))
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

	if (step_by_code(rows, module, VG_CODE_FIRST_RETURN, VG_CODE_ALL_RETURNS, snapshot, state, walk, &ends))
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
	if (step_by_code(rows, module, VG_CODE_FROM_BEGINNING, VG_CODE_FROM_BEGINNING, snapshot, state, walk, &ends))
		return true;
	truncated = walk->end == VG_WALK_TRUNCATED;
	if (is_root_by_pointer(rows, module, snapshot, state, walk))
		return false;
	truncated |= walk->end == VG_WALK_TRUNCATED;
	if (!ends && step_by_frame_pointer(rows, snapshot, state, walk))
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

	return step_by_code(rows, VG_NONE, VG_CODE_FROM_BEGINNING, VG_CODE_FROM_BEGINNING, snapshot, state, walk,
			       &ends);
}

/* Nearly all frames of V8 (node) have frame pointers, and few of OpenJDK, PyPy, LuaJIT and BEAM. */
enum { JIT_FRAMES_MIN = 16, JIT_OTHERS_MAX = 16 };

/* Whether the process's JIT code uses frame pointers.  Then they find the callers as well as instructions do, and are
 * cheaper. */
static bool jit_has_fp(const struct vg_rows *rows)
{
	return rows->jit_frames >= JIT_FRAMES_MIN &&
	       (rows->jit_frames - rows->jit_frames_with_fp) * JIT_OTHERS_MAX <= rows->jit_frames;
}

/* Goes to the caller in JIT code.  Frame pointers come late, because a chain of frame pointers can skip frames of
 * code that uses the register for other values. */
static bool step_in_jit(struct vg_rows *rows, const struct vg_snapshot *snapshot, struct vg_frame_state *state,
			struct vg_walk *walk)
{
	const struct vg_code_row_set *set;
	bool ends, never_returns;
	enum vg_walk_end end;

	if (jit_has_fp(rows) && step_by_frame_pointer(rows, snapshot, state, walk))
		return true;
	if (step_by_code(rows, VG_NONE, VG_CODE_FIRST_RETURN, VG_CODE_ALL_RETURNS, snapshot, state, walk, &ends))
		return true;
	if (is_root_by_pointer(rows, VG_NONE, snapshot, state, walk))
		return false;
	if (step_by_interpreter(rows, snapshot, state, walk))
		return true;
	/* A function from which no path leads to a return has a loop without end. */
	set = vg_rows_from_code(rows, VG_NONE, state->pc, VG_CODE_FIRST_RETURN);
	never_returns = set != NULL && set->found.count == 0;
	if (never_returns && step_from_beginning(rows, snapshot, state, walk))
		return true;
	if (step_by_frame_pointer(rows, snapshot, state, walk))
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
		if (is_above_copy(snapshot, state->sp))
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
		vg_step_is_root(rows, snapshot, state->sp, VG_ROOT_SCAN_BYTES, walk);
	return false;
}
