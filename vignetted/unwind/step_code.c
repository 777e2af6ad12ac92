/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/step_code.h"

#include "vignetted/unwind/cfi.h"
#include "vignetted/unwind/code.h"
#include "vignetted/unwind/step_pointer.h"
#include "vignetted/unwind/step_row.h"

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
			 vg_step_fp_leads_on(rows, snapshot, state->sp, state, walk);
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
						 vg_rows_jit_range(rows, caller->pc - 1));
		if (verdict != VG_CODE_UNDECIDED || is_believed(set, row, module, caller->sp, has_chain))
			return verdict != VG_CODE_WRONG;
		return module == VG_NONE &&
		       vg_step_fp_leads_on(rows, snapshot, caller->sp - FRAME_RECORD_BYTES, caller, walk);
	default:
		/* HotSpot's interpreter and BEAM put a return address on the stack themselves. */
		if (module != VG_NONE || found.module != VG_NONE)
			return false;
		if (vg_step_fp_leads_on(rows, snapshot, caller->sp - FRAME_RECORD_BYTES, caller, walk))
			return true;
		/* At the bottom of each Erlang process's stack is the address of code that switches stacks. */
		caller->is_exact = caller->is_function_begin = vg_rows_replaces_stack(rows, caller->pc);
		return caller->is_exact;
	}
}

/* Whether the row describes a frame with a frame pointer.  vg_step_by_frame_pointer() would have led to the same
 * caller. */
static bool is_fp_frame(const struct vg_row *row)
{
	return row->cfa_base == VG_FROM_FP && row->cfa_offset == 16 && !row->cfa_deref &&
	       row->fp_base == VG_FROM_FP && row->fp_offset == 0;
}

bool vg_step_by_code(struct vg_rows *rows, uint32_t module, enum vg_code_search how, enum vg_code_search last,
		     const struct vg_snapshot *snapshot, struct vg_frame_state *state, struct vg_walk *walk,
		     bool *ends)
{
	bool has_fp, is_chain, truncated = false;

	*ends = false;
	for (; how <= last; how++) {
		struct vg_code_row_set *set = vg_rows_from_code(rows, module, state->pc, how);

		for (size_t i = 0; set != NULL && i < set->found.count; i++) {
			struct vg_frame_state caller = *state;
			bool found = vg_step_by_row(&set->found.rows[i], snapshot, &caller, walk);

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
			if (module == VG_NONE && !state->is_exact)
				vg_rows_count_jit_frame(rows, set, has_fp);
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

bool vg_step_by_interpreter(struct vg_rows *rows, const struct vg_snapshot *snapshot, struct vg_frame_state *state,
			    struct vg_walk *walk)
{
	struct vg_code_reader reader = { .memory = rows->modules->memory };
	struct vg_frame_state caller = { .found = VG_FOUND_BY_INSTRUCTIONS };
	struct interpreter interpreter;
	uint64_t called, cfa;

	if (!interpreter_find(rows, state->pc, &interpreter))
		return false;
	cfa = (state->sp + STACK_ALIGN - 1) / STACK_ALIGN * STACK_ALIGN + STACK_ALIGN;
	for (; cfa < state->sp + INTERPRETER_FRAME_MAX_BYTES; cfa += STACK_ALIGN) {
		if (!vg_step_word(snapshot, cfa - sizeof caller.pc, &caller.pc, walk))
			return false;
		called = vg_rows_is_after_call(rows, caller.pc) ? vg_code_call_target(&reader, caller.pc) : 0;
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
