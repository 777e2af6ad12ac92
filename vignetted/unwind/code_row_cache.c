/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/code_row_cache.h"

#include <errno.h>
#include <stdlib.h>

#include "vignetted/unwind/code.h"

enum { SETS_LOG = 10, SETS = 1 << SETS_LOG };

struct vg_code_row_cache {
	struct vg_code_row_set sets[SETS]; /* direct-mapped */
};

int vg_code_row_cache_open(struct vg_code_row_cache **cache)
{
	*cache = calloc(1, sizeof **cache);
	return *cache != NULL ? 0 : -ENOMEM;
}

void vg_code_row_cache_free(struct vg_code_row_cache *cache)
{
	free(cache);
}

struct vg_code_row_set *vg_code_row_cache_get(struct vg_code_row_cache *cache, struct vg_memory *memory,
					      uint64_t address, bool is_backward)
{
	uint64_t hash = (address + is_backward) * UINT64_C(0x9e3779b97f4a7c15);
	struct vg_code_row_set *set = &cache->sets[hash >> (64 - SETS_LOG)];

	if (set->address == address && set->is_backward == is_backward && address != 0)
		return set;
	set->address = address;
	set->is_backward = is_backward;
	set->stack_replaced = false;
	set->verified_beginning = 0;
	set->count = is_backward ? vg_code_rows_backward(memory, address, set->rows, &set->stack_replaced) :
		     vg_code_rows(memory, address, set->rows);
	/* Reading may have stopped early, with the result that rows are missing.  Do not keep this result. */
	if (memory->words_left == 0)
		set->address = 0;
	return set;
}

/* The verdict of vg_code_rows_verify(), cached.  `beginning` is 0 if the function's beginning is not known. */
static enum vg_code_verdict verify(struct vg_code_row_set *set, struct vg_memory *memory, uint64_t beginning,
				   size_t row)
{
	if (beginning == 0)
		return VG_CODE_UNDECIDED;
	if (set->verified_beginning != beginning || set->verified_row != row) {
		set->verdict = vg_code_rows_verify(memory, beginning, set->address, &set->rows[row]);
		/* Reading may have stopped early.  Do not keep this verdict. */
		set->verified_beginning = memory->words_left > 0 ? beginning : 0;
		set->verified_row = row;
	}
	return set->verdict;
}

bool vg_code_row_set_finds_caller(struct vg_code_row_set *set, struct vg_memory *memory, size_t row, uint64_t pc,
				  uint64_t sp)
{
	enum vg_code_verdict verdict;

	if (!vg_code_after_call(memory, pc))
		return false;
	verdict = verify(set, memory, vg_code_call_target(memory, pc), row);
	return verdict == VG_CODE_RIGHT ||
	       (verdict == VG_CODE_UNDECIDED && vg_code_rows_is_aligned(sp - sizeof(uint64_t)));
}

void vg_code_row_cache_clear(struct vg_code_row_cache *cache)
{
	/* Do not write to empty sets: a write would allocate a page.  Most programs have unwind information everywhere
	 * and never use this cache. */
	for (size_t i = 0; i < SETS; i++) {
		if (cache->sets[i].address != 0)
			cache->sets[i].address = 0;
	}
}
