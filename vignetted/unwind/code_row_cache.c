/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/code_row_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vignetted/unwind/code.h"

enum { SETS_LOG = 11, SETS = 2 << SETS_LOG };

struct vg_code_row_cache {
	struct vg_code_row_set sets[SETS]; /* two places for each hash value: the latest result, and the one before */
	struct vg_code_space space;
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

/* Whether the JIT code around the set's address is still the code for which the rows were computed. */
static bool is_unchanged(struct vg_code_row_set *set, struct vg_memory *memory, const struct vg_code_range *jit,
			 uint64_t period)
{
	struct vg_code_reader reader = { .memory = memory, .jit = jit };
	unsigned char around[VG_CODE_AROUND_BYTES];

	if (vg_code_reader_read(&reader, set->address - sizeof around / 2, around, sizeof around) != 0 ||
	    memcmp(around, set->around, sizeof around) != 0)
		return false;
	set->period = period;
	return true;
}

struct vg_code_row_set *vg_code_row_cache_get(struct vg_code_row_cache *cache, struct vg_memory *memory,
					      uint64_t address, enum vg_code_search how,
					      const struct vg_code_range *jit, uint64_t time_ns)
{
	uint64_t hash = (address + how) * UINT64_C(0x9e3779b97f4a7c15), period = time_ns / VG_CODE_PERIOD_NS;
	struct vg_code_row_set *set = &cache->sets[hash >> (64 - SETS_LOG) << 1];
	struct vg_code_reader reader;

	for (int place = 0; place < 2; place++) {
		if (set[place].address == address && set[place].how == how && address != 0 &&
		    (jit == NULL || set[place].period == period || is_unchanged(&set[place], memory, jit, period)))
			return &set[place];
	}
	reader = (struct vg_code_reader){ .memory = memory, .jit = jit };
	set[1] = set[0];
	*set = (struct vg_code_row_set){ .address = address, .how = how, .period = period };
	/* The rows of JIT code without bytes around it are used once. */
	if (jit != NULL && vg_code_reader_read(&reader, address - sizeof set->around / 2, set->around,
					  sizeof set->around) != 0)
		set->address = 0;
	vg_code_rows_find(&cache->space, &reader, address, how, &set->found);
	/* Reading may have stopped early, with the result that rows are missing.  Do not keep this result. */
	if (memory->words_left == 0)
		set->address = 0;
	return set;
}

enum vg_code_verdict vg_code_row_set_verify(struct vg_code_row_cache *cache, struct vg_code_row_set *set,
					    struct vg_memory *memory, size_t row, uint64_t pc,
					    const struct vg_code_range *caller_jit)
{
	struct vg_code_reader caller, callee;
	uint64_t beginning;

	if (set->verified[row].pc == pc)
		return set->verified[row].verdict;
	caller = (struct vg_code_reader){ .memory = memory, .jit = caller_jit };
	callee = (struct vg_code_reader){ .memory = memory };
	/* The verdict depends on the beginning only.  Another return address of the same function keeps it. */
	beginning = vg_code_call_target(&caller, pc);
	if (beginning == 0)
		set->verified[row].verdict = VG_CODE_UNDECIDED;
	else if (set->verified[row].beginning != beginning)
		set->verified[row].verdict =
			vg_code_rows_verify(&cache->space, &callee, beginning, set->address, &set->found.rows[row]);
	/* Reading may have stopped early.  Do not keep this verdict. */
	set->verified[row].pc = memory->words_left > 0 ? pc : 0;
	set->verified[row].beginning = memory->words_left > 0 ? beginning : 0;
	return set->verified[row].verdict;
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
