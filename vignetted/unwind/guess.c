/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/guess.h"

#include "vignetted/unwind/cfi.h"
#include "vignetted/unwind/code.h"

enum { GUESSES_MAX = 16 };

/* Whether unwind information covers the address.  *first is the address at which the function begins. */
static bool function_find(const struct vg_modules *modules, uint64_t address, uint64_t *first)
{
	const struct vg_code_range *range = vg_modules_find(modules, address);
	uint64_t bytes;

	return range != NULL && range->module != VG_NONE &&
	       vg_cfi_function(modules->memory,
			       &modules->items.items[range->module].image, address, first, &bytes);
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
static bool is_call_of_another(const struct vg_modules *modules, const struct callee *callee,
			       uint64_t return_address)
{
	struct vg_code_reader reader = { .memory = modules->memory };
	uint64_t called = vg_code_call_target(&reader, return_address), ignored;

	if (called == 0 || callee->is_part)
		return false;
	return callee->has_info ? called != callee->first : function_find(modules, called, &ignored);
}

/* Finds the lowest stack word, at or above `slot`, that looks like a saved frame pointer.  Two conditions: the word's
 * value points further up in the copied stack, and the next word above is a return address behind a call that may have
 * called the callee.  Returns the address of the word that was found; 0: none. */
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
		  struct vg_snapshot *snapshot, bool stack_truncated, uint32_t max_frames, struct vg_walk *walk)
{
	uint64_t slot = walk->fp_missing_sp;
	struct callee callee;
	int rc = 0;

	if (slot == 0 || walk->count == 0)
		return 0;
	callee = callee_find(modules, walk->frames[walk->count - 1].address);
	for (int i = 0; i < GUESSES_MAX && rc == 0; i++) {
		slot = saved_pair_find(modules, snapshot, &callee, slot);
		if (slot == 0)
			break;
		snapshot->fp_guess = slot;
		rc = vg_unwind(unwinder, snapshot, max_frames, walk);
		if (walk->end == VG_WALK_ROOT || walk->end == VG_WALK_FRAME_LIMIT ||
		    walk->end == VG_WALK_TRUNCATED)
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
