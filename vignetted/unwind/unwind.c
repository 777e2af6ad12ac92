/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/unwind.h"

#include <errno.h>
#include <stdlib.h>

#include "vignetted/unwind/cfi.h"
#include "vignetted/unwind/code.h"
#include "vignetted/unwind/fallback.h"
#include "vignetted/unwind/frame_size.h"

/*
 * A walk needs, for each frame, the row of its address.  Decoding one takes microseconds, and
 * programs are at the same addresses again and again: so rows are kept, by address, in a
 * direct-mapped table.  It is forgotten whole when any module comes or goes.
 */
#ifndef VG_UNWIND_ROWS_LOG       /* a fuzzer has fewer */
#define VG_UNWIND_ROWS_LOG 16
#endif
enum { ROWS = 1 << VG_UNWIND_ROWS_LOG };

struct kept_row {
	uint64_t address;            /* 0: empty; the row of address 0 is not kept */
	uint32_t module;             /* index, or VG_NONE */
	struct vg_row row;
};

struct vg_unwinder {
	struct vg_modules *modules;
	struct vg_fallback *fallback;
	struct kept_row *rows;       /* owned; ROWS of them */
	vg_frame_size *sizes;        /* owned; where a row counts from the frame pointer, its frame's */
	uint64_t generation;         /* of the modules when rows were kept */
	struct vg_unwind_counts counts;
};

/* What a walk knows of the frame that it is at. */
struct frame_state {
	uint64_t pc, sp, fp;
	bool fp_known;
	bool fp_guessed;             /* vg_guess_walk() found it */
};

/* ---- rows ---- */

/* NULL if there is no code at the address. */
static const struct kept_row *row_get(struct vg_unwinder *unwinder, uint64_t address)
{
	uint64_t hash = address * UINT64_C(0x9e3779b97f4a7c15);
	struct kept_row *kept = &unwinder->rows[hash >> (64 - VG_UNWIND_ROWS_LOG)];
	const struct vg_code_range *range;

	if (address != 0 && kept->address == address)
		return kept;
	range = vg_modules_find(unwinder->modules, address);
	if (range == NULL)
		return NULL;
	unwinder->counts.rows_decoded++;
	kept->address = address;
	kept->module = range->module;
	kept->row = (struct vg_row){ .kind = VG_ROW_NONE };
	unwinder->sizes[kept - unwinder->rows] = 0;
	if (range->module != VG_NONE)
		vg_cfi_row(unwinder->modules->memory,
			   &unwinder->modules->items.items[range->module].image, address, &kept->row);
	/* What was not read to its end is not to be kept. */
	if (unwinder->modules->memory->words_left == 0)
		kept->address = 0;
	return kept;
}

static void rows_forget(struct vg_unwinder *unwinder)
{
	for (size_t i = 0; i < ROWS; i++) {
		if (unwinder->rows[i].address != 0)
			unwinder->rows[i].address = 0;
	}
	unwinder->generation = unwinder->modules->generation;
}

/* ---- steps ---- */

/* The walk ends for want of a frame pointer.  Always false. */
static bool register_wanting(const struct frame_state *state, struct vg_walk *walk)
{
	walk->end = VG_WALK_REGISTER;
	walk->wanting_sp = state->sp;
	return false;
}

/* Whether the function that the row is of is all there, from where it is called, and its frame of one size. */
static bool frame_is_kept(struct vg_unwinder *unwinder, const struct kept_row *kept)
{
	struct vg_memory *memory = unwinder->modules->memory;
	const struct vg_image *image = &unwinder->modules->items.items[kept->module].image;
	struct vg_code_elsewhere elsewhere, ignored;
	uint64_t first, bytes;

	/* A part that lies elsewhere begins in the middle. */
	if (!vg_cfi_function(memory, image, kept->address, &first, &bytes) ||
	    !vg_code_begins_frame(memory, first) || !vg_code_keeps_frame(memory, first, bytes, &elsewhere))
		return false;
	for (size_t i = 0; i < elsewhere.count; i++) {
		if (vg_cfi_function(memory, image, elsewhere.at[i], &first, &bytes) &&
		    !vg_code_keeps_frame(memory, first, bytes, &ignored))
			return false;
	}
	return true;
}

/* Of a thread that waits, the frame pointer of a frame that counts from it is where the frame's size says; the
 * others tell that. */
static void fp_derive(struct vg_unwinder *unwinder, const struct kept_row *kept,
		      const struct vg_snapshot *snapshot, struct frame_state *state)
{
	vg_frame_size *size = &unwinder->sizes[kept - unwinder->rows];
	uint64_t bytes, pc;

	if (snapshot->whole && state->fp_known)
		vg_frame_size_note(size, state->sp, state->fp);
	if (snapshot->whole || state->fp_known || !vg_frame_size_known(*size, &bytes))
		return;
	if (!vg_frame_size_proven(*size) && !frame_is_kept(unwinder, kept)) {
		*size = VG_FRAME_SIZE_VARIES;
		return;
	}
	vg_frame_size_prove(size);
	state->fp = state->sp + bytes;
	state->fp_known = vg_snapshot_word(snapshot, state->fp + 8, &pc) != 0 ||
			  (vg_modules_find(unwinder->modules, pc - 1) != NULL &&
			   vg_code_after_call(unwinder->modules->memory, pc));
}

/* Whether an address that was not copied is near enough above the copy to be in the same stack. */
static bool is_above_copy(const struct vg_snapshot *snapshot, uint64_t address)
{
	return address - snapshot->stack_address < snapshot->stack_bytes + VG_SNAPSHOT_MAX_BYTES;
}

/* A word of the stack: where it is not in the snapshot, why the walk ends. */
static bool stack_word(const struct vg_snapshot *snapshot, uint64_t address, uint64_t *word,
		       struct vg_walk *walk)
{
	if (vg_snapshot_word(snapshot, address, word) == 0)
		return true;
	walk->end = is_above_copy(snapshot, address) ? VG_WALK_SNAPSHOT : VG_WALK_BAD_CFA;
	return false;
}

static uint64_t place(enum vg_row_base base, int32_t offset, uint64_t cfa,
		      const struct frame_state *state)
{
	uint64_t from = base == VG_FROM_CFA ? cfa : base == VG_FROM_FP ? state->fp : state->sp;

	return from + (uint64_t)(int64_t)offset;
}

/* Whether the frame pointer's saved value lies below the stack pointer and was not copied.  Unwind
 * information goes on naming that place after the pop at a function's end, when the register holds
 * the value already. */
static bool fp_popped(const struct vg_snapshot *snapshot, uint64_t saved_at,
		      const struct frame_state *state)
{
	return state->fp_known && saved_at < snapshot->stack_address && saved_at < state->sp &&
	       state->sp - saved_at <= vg_regs_red_zone_bytes;
}

/* Whether a step by the row takes more than we know.  Registers are known of the first frame only; of a thread
 * that waits, those that hold its call's arguments.  (glibc's vfork keeps its return address in one, for the
 * child uses the same stack.) */
static bool is_beyond_us(const struct vg_row *row, const struct vg_snapshot *snapshot, bool is_first)
{
	if (row->kind != VG_ROW_PLAIN || row->ra_base != VG_FROM_REGISTER)
		return row->kind == VG_ROW_COMPLEX;
	return !is_first || !(snapshot->whole || (snapshot->in_call && vg_regs_is_argument(row->ra_offset)));
}

static bool return_address(const struct vg_row *row, const struct vg_snapshot *snapshot, uint64_t cfa,
			   const struct frame_state *state, uint64_t *pc, struct vg_walk *walk)
{
	if (row->ra_base != VG_FROM_REGISTER)
		return stack_word(snapshot, place(row->ra_base, row->ra_offset, cfa, state), pc, walk);
	walk->end = VG_WALK_BAD_CFA;
	return vg_regs_unwind(&snapshot->regs, row->ra_offset, pc) == 0;
}

/* To the caller by unwind information.  False where the walk ends, with walk->end set. */
static bool step_by_row(const struct vg_row *row, const struct vg_snapshot *snapshot,
			struct frame_state *state, struct vg_walk *walk)
{
	struct frame_state caller = { .fp = state->fp, .fp_known = state->fp_known,
				      .fp_guessed = state->fp_guessed };
	uint64_t cfa, saved_at;

	if ((row->cfa_base == VG_FROM_FP || row->fp_base == VG_FROM_FP) && !state->fp_known)
		return register_wanting(state, walk);
	cfa = place(row->cfa_base, row->cfa_offset, 0, state);
	if (row->cfa_deref && !stack_word(snapshot, cfa, &cfa, walk))
		return false;
	cfa += row->cfa_added;
	/* A caller's frame lies above its callee's, except where a signal moved to another stack, and where
	 * nothing is left of the callee's. */
	if (cfa <= state->sp && !row->signal && !(cfa == state->sp && row->ra_base == VG_FROM_REGISTER)) {
		walk->end = VG_WALK_BAD_CFA;
		return false;
	}
	if (!return_address(row, snapshot, cfa, state, &caller.pc, walk))
		return false;
	if (row->fp_base == VG_FROM_NOWHERE) {
		caller.fp_known = false;
	} else if (row->fp_base != VG_FROM_SAME) {
		saved_at = place(row->fp_base, row->fp_offset, cfa, state);
		if (fp_popped(snapshot, saved_at, state))
			caller.fp = state->fp;
		else if (!stack_word(snapshot, saved_at, &caller.fp, walk))
			return false;
		caller.fp_known = true;
		caller.fp_guessed = false;
	}
	caller.sp = cfa;
	*state = caller;
	return true;
}

/* To the caller by the chain of frame pointers, where there is no unwind information: the saved
 * frame pointer, then the return address.  What does not look like that ends the walk. */
static bool step_by_frame_pointer(const struct vg_snapshot *snapshot, struct frame_state *state,
				  struct vg_walk *walk)
{
	struct frame_state caller = { .sp = state->fp + 16, .fp_known = true };

	if (!state->fp_known)
		return register_wanting(state, walk);
	walk->end = VG_WALK_NO_INFO;
	/* So the outermost function marks its frame (System V ABI, AMD64 supplement, 3.4.1): the loader's,
	 * which runs the constructors of libraries, has no unwind information. */
	if (state->fp == 0 && !state->fp_guessed && walk->count > 1)
		walk->end = VG_WALK_ROOT;
	if (state->fp < state->sp || state->fp % 8 != 0)
		return false;
	if (vg_snapshot_word(snapshot, state->fp, &caller.fp) != 0 ||
	    vg_snapshot_word(snapshot, state->fp + 8, &caller.pc) != 0) {
		if (is_above_copy(snapshot, state->fp))
			walk->end = VG_WALK_SNAPSHOT;
		return false;
	}
	*state = caller;
	return true;
}

/*
 * Out of a function that has no unwind information and has just made a system call: wrappers
 * written in assembly have no frame, so the return address is on top of the stack.  (glibc's
 * clone3 is one, where every sample of a thread that makes another one lands.)
 */
static bool step_by_top(struct vg_unwinder *unwinder, const struct vg_snapshot *snapshot,
			struct frame_state *state)
{
	struct vg_memory *memory = unwinder->modules->memory;
	uint64_t pc;

	if (!vg_code_after_syscall(memory, state->pc) ||
	    vg_snapshot_word(snapshot, state->sp, &pc) != 0 || !vg_code_after_call(memory, pc))
		return false;
	state->pc = pc;
	state->sp += 8;
	return true;
}

static bool step(struct vg_unwinder *unwinder, const struct kept_row *kept,
		 const struct vg_snapshot *snapshot, struct frame_state *state, struct vg_walk *walk)
{
	bool stepped;

	if (kept->row.kind == VG_ROW_NONE && walk->count == 1 &&
	    step_by_top(unwinder, snapshot, state))
		return true;
	if (kept->row.kind == VG_ROW_NONE)
		return step_by_frame_pointer(snapshot, state, walk);
	if (kept->row.cfa_base == VG_FROM_FP)
		fp_derive(unwinder, kept, snapshot, state);
	stepped = step_by_row(&kept->row, snapshot, state, walk);
	if (stepped && state->pc == 0) {
		/* The other way to say that there is no caller; or a stack where nobody ever was. */
		walk->end = snapshot->fp_guess == 0 ? VG_WALK_ROOT : VG_WALK_BAD_CFA;
		return false;
	}
	return stepped;
}

/* Whether the walk came to its end; false if a row was too complex for us. */
static bool rows_walk(struct vg_unwinder *unwinder, const struct vg_snapshot *snapshot,
		      uint32_t max_frames, struct vg_walk *walk, int *rc)
{
	bool guessed = !snapshot->whole && snapshot->fp_guess != 0;
	struct frame_state state = {
		.pc = vg_regs_pc(&snapshot->regs), .sp = vg_regs_sp(&snapshot->regs),
		.fp = guessed ? snapshot->fp_guess : vg_regs_fp(&snapshot->regs),
		.fp_known = snapshot->whole || guessed, .fp_guessed = guessed,
	};
	struct vg_frame frame = { .found = VG_FOUND_CFI };
	bool exact = true;           /* the address is an instruction, not a return address */
	bool by_guess;               /* the step used a guessed frame pointer */

	for (;;) {
		const struct kept_row *kept;

		frame.address = state.pc - (exact ? 0 : 1);
		kept = row_get(unwinder, frame.address);
		walk->left_the_map = kept == NULL;
		if (kept == NULL) {
			walk->end = VG_WALK_NO_INFO;
			frame.module = VG_NONE;
			*rc = walk->count == 0 ? vg_walk_push(walk, &frame) : 0;
			return true;
		}
		if (unwinder->modules->memory->words_left > 0 &&
		    is_beyond_us(&kept->row, snapshot, walk->count == 0))
			return false;
		frame.module = kept->module;
		*rc = vg_walk_push(walk, &frame);
		if (*rc != 0)
			return true;
		walk->stack_bytes = state.sp - snapshot->stack_address;
		if (unwinder->modules->memory->words_left == 0) {
			walk->end = VG_WALK_BAD_CFA;
			return true;
		}
		if (kept->row.kind == VG_ROW_ROOT ||
		    (walk->count == 1 && snapshot->whole && vg_regs_newborn(&snapshot->regs))) {
			walk->end = VG_WALK_ROOT;
			return true;
		}
		if (walk->count >= max_frames) {
			walk->end = VG_WALK_DEPTH;
			return true;
		}
		by_guess = state.fp_guessed && (kept->row.kind == VG_ROW_NONE ||
						kept->row.cfa_base == VG_FROM_FP);
		if (!step(unwinder, kept, snapshot, &state, walk))
			return true;
		exact = kept->row.signal;
		frame.found = by_guess ? VG_FOUND_GUESS : kept->row.kind == VG_ROW_NONE ?
			      VG_FOUND_FRAME_POINTER : VG_FOUND_CFI;
	}
}

int vg_unwind(struct vg_unwinder *unwinder, const struct vg_snapshot *snapshot,
	      uint32_t max_frames, struct vg_walk *walk)
{
	int rc = 0;

	if (unwinder->generation != unwinder->modules->generation)
		rows_forget(unwinder);
	walk->count = 0;
	walk->stack_bytes = snapshot->stack_bytes;
	walk->wanting_sp = 0;
	if (!rows_walk(unwinder, snapshot, max_frames, walk, &rc)) {
		walk->end = VG_WALK_REGISTER;
		if (snapshot->whole) {
			unwinder->counts.fallbacks++;
			rc = vg_fallback_unwind(unwinder->fallback, snapshot, max_frames, walk);
		}
	}
	unwinder->counts.walks++;
	unwinder->counts.frames += walk->count;
	return rc;
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
	unwinder->modules = modules;
	unwinder->rows = calloc(ROWS, sizeof *unwinder->rows);
	unwinder->sizes = calloc(ROWS, sizeof *unwinder->sizes);
	if (unwinder->rows == NULL || unwinder->sizes == NULL ||
	    vg_fallback_open(&unwinder->fallback, modules) != 0) {
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
	free(unwinder->rows);
	free(unwinder->sizes);
	free(unwinder);
}
