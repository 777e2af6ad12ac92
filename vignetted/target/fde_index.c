/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/fde_index.h"

static void entries_free(struct vg_fde_index *index)
{
	if (index->total != NULL)
		*index->total -= (uint32_t)index->entries.count;
	vg_array_free(&index->entries);
}

bool vg_fde_index_add(struct vg_fde_index *index, uint32_t code, uint32_t fde)
{
	const struct vg_fde_entry place = { code, fde };

	if (!index->overflowed && index->entries.count < VG_FDE_INDEX_MAX &&
	    (index->total == NULL || *index->total < VG_FDE_INDEX_ALL_MAX) &&
	    vg_array_push(&index->entries, &place) == 0) {
		if (index->total != NULL)
			++*index->total;
		return true;
	}
	/* An incomplete index would make functions look as if they had no unwind information. */
	index->overflowed = index->complete = true;
	entries_free(index);
	return false;
}

static int by_code(const void *left, const void *right)
{
	const struct vg_fde_entry *a = left, *b = right;

	if (a->code != b->code)
		return a->code < b->code ? -1 : 1;
	return a->fde < b->fde ? -1 : a->fde > b->fde;
}

void vg_fde_index_complete(struct vg_fde_index *index)
{
	bool sorted = true;

	/* The entries are mostly sorted already: linkers keep the order of functions within a section. */
	for (size_t i = 1; i < index->entries.count && sorted; i++)
		sorted = by_code(&index->entries.items[i - 1], &index->entries.items[i]) <= 0;
	if (!sorted)
		qsort(index->entries.items, index->entries.count, sizeof *index->entries.items, by_code);
	index->complete = true;
}

const struct vg_fde_entry *vg_fde_index_find(const struct vg_fde_index *index, uint32_t code)
{
	size_t low = 0, high = index->complete ? index->entries.count : 0;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (index->entries.items[middle].code <= code)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? &index->entries.items[low - 1] : NULL;
}

void vg_fde_index_free(struct vg_fde_index *index)
{
	entries_free(index);
}
