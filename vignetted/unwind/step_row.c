/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/step_row.h"

bool vg_step_fp_missing(const struct vg_frame_state *state, struct vg_walk *walk)
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

bool vg_step_is_above_copy(const struct vg_snapshot *snapshot, uint64_t address)
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
	return vg_step_is_above_copy(snapshot, sp) ? VG_WALK_TRUNCATED : VG_WALK_BAD_INFO;
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

static bool is_copied(const struct vg_snapshot *snapshot, uint64_t address)
{
	uint64_t ignored;

	return vg_snapshot_word(snapshot, address, &ignored) == 0;
}

bool vg_step_word(const struct vg_snapshot *snapshot, uint64_t address, uint64_t *word, struct vg_walk *walk)
{
	if (vg_snapshot_word(snapshot, address, word) == 0)
		return true;
	walk->end = vg_step_is_above_copy(snapshot, address) ? VG_WALK_TRUNCATED : VG_WALK_BAD_INFO;
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
		return vg_step_word(snapshot, location(row->ra_base, row->ra_offset, cfa, state), pc, walk);
	walk->end = VG_WALK_BAD_INFO;
	return vg_regs_by_dwarf_number(&snapshot->regs, row->ra_offset, pc) == 0;
}

bool vg_step_by_row(const struct vg_row *row, const struct vg_snapshot *snapshot, struct vg_frame_state *state,
		    struct vg_walk *walk)
{
	struct vg_frame_state caller = {
		.fp = state->fp, .fp_known = state->fp_known, .fp_guessed = state->fp_guessed,
		.is_exact = row->signal, .signal_sp = row->signal ? state->sp : 0,
		.found = state->fp_guessed && row->cfa_base == VG_FROM_FP ? VG_FOUND_BY_SCAN : VG_FOUND_BY_CFI,
	};
	uint64_t cfa, saved_at;

	if ((row->cfa_base == VG_FROM_FP || row->fp_base == VG_FROM_FP) && !state->fp_known)
		return vg_step_fp_missing(state, walk);
	cfa = location(row->cfa_base, row->cfa_offset, 0, state);
	if (row->cfa_deref && !vg_step_word(snapshot, cfa, &cfa, walk))
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
		else if (!vg_step_word(snapshot, saved_at, &caller.fp, walk))
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
