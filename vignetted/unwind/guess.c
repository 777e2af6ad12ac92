/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/guess.h"

#include "vignetted/unwind/cfi.h"
#include "vignetted/unwind/code.h"

enum { GUESSES_MAX = 16 };

/* Whether unwind information covers the address, and where the function begins. */
static bool function_find(const struct vg_modules *modules, uint64_t address, uint64_t *first)
{
	const struct vg_code_range *range = vg_modules_find(modules, address);
	uint64_t bytes;

	return range != NULL && range->module != VG_NONE &&
	       vg_cfi_function(modules->memory,
			       &modules->items.items[range->module].image, address, first, &bytes);
}

/* The function whose caller is looked for. */
struct callee {
	bool has_info;               /* unwind information covers it */
	bool is_part;                /* one that lies elsewhere begins in the middle, and nobody calls it */
	uint64_t first;
};

static struct callee callee_of(const struct vg_modules *modules, uint64_t address)
{
	struct callee callee = { 0 };

	callee.has_info = function_find(modules, address, &callee.first);
	callee.is_part = callee.has_info && !vg_code_begins_frame(modules->memory, callee.first);
	return callee;
}

/* Whether it is another function that is called there: the stack is full of frames of earlier calls. */
static bool is_call_of_another(const struct vg_modules *modules, const struct callee *callee,
			       uint64_t return_address)
{
	uint64_t called = vg_code_called(modules->memory, return_address), ignored;

	if (called == 0 || callee->is_part)
		return false;
	return callee->has_info ? called != callee->first : function_find(modules, called, &ignored);
}

/* The lowest slot from there on that looks like a saved frame pointer below a return address: it
 * points further up the copied stack, and what follows it is behind a call that may be one of the callee.
 * 0: there is none. */
static uint64_t saved_pair_find(const struct vg_modules *modules, const struct vg_snapshot *snapshot,
				const struct callee *callee, uint64_t slot)
{
	struct vg_memory *memory = modules->memory;
	uint64_t value = 0, pc;

	for (slot = (slot + 7) / 8 * 8; vg_snapshot_word(snapshot, slot + 8, &pc) == 0; slot += 8) {
		vg_snapshot_word(snapshot, slot, &value);
		if (value > slot && value - snapshot->stack_address < snapshot->stack_bytes &&
		    vg_modules_find(modules, pc - 1) != NULL && vg_code_after_call(memory, pc) &&
		    !is_call_of_another(modules, callee, pc))
			return slot;
	}
	return 0;
}

int vg_guess_walk(struct vg_unwinder *unwinder, const struct vg_modules *modules,
		  struct vg_snapshot *snapshot, bool stack_cut, uint32_t max_frames, struct vg_walk *walk)
{
	uint64_t slot = walk->wanting_sp;
	struct callee callee;
	int rc = 0;

	if (slot == 0 || walk->count == 0)
		return 0;
	callee = callee_of(modules, walk->frames[walk->count - 1].address);
	for (int i = 0; i < GUESSES_MAX && rc == 0; i++) {
		slot = saved_pair_find(modules, snapshot, &callee, slot);
		if (slot == 0)
			break;
		snapshot->fp_guess = slot;
		rc = vg_unwind(unwinder, snapshot, max_frames, walk);
		if (walk->end == VG_WALK_ROOT || walk->end == VG_WALK_DEPTH ||
		    walk->end == VG_WALK_SNAPSHOT)
			return rc;
		slot += 8;
	}
	snapshot->fp_guess = 0;
	if (rc == 0)
		rc = vg_unwind(unwinder, snapshot, max_frames, walk);
	if (slot == 0 && stack_cut)
		walk->end = VG_WALK_SNAPSHOT;
	return rc;
}
