/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/breakpad/breakpad_slots.h"

#include "symbols/table/table.h"

/* True if the number gets an element in the array.  Most numbers get one, because writers count from
 * 0.  Much larger numbers go to the hash table: an untrusted number must not make the array take much
 * more memory than the records that were read before. */
static bool fits_dense(const struct vg_sym_slots *slots, uint64_t number)
{
	return number < 4 * ((uint64_t)slots->count + 256);
}

static int dense_add(struct vg_sym_slots *slots, uint64_t number)
{
	size_t room = (size_t)number + 1;

	if (room > slots->dense.count) {
		if (vg_array_reserve(&slots->dense, room - slots->dense.count) != 0)
			return -ENOMEM;
		memset(slots->dense.items + slots->dense.count, 0xff,
		       (room - slots->dense.count) * sizeof *slots->dense.items);
		slots->dense.count = room;
	}
	slots->dense.items[number] = slots->count;
	return 0;
}

static int sparse_add(struct vg_sym_slots *slots, uint64_t number)
{
	uint32_t at;
	int rc = vg_array_reserve(&slots->sparse_slots, 1);

	if (rc == 0)
		rc = vg_intern(&slots->sparse, &number, sizeof number, &at);
	return rc == 1 ? vg_array_push(&slots->sparse_slots, &slots->count) : rc;
}

int vg_sym_slot(struct vg_sym_slots *slots, uint64_t number, uint32_t *slot)
{
	uint32_t at;
	int rc;

	if (number < slots->dense.count && slots->dense.items[number] != VG_SYMBOLS_NONE) {
		*slot = slots->dense.items[number];
		return 0;
	}
	if (vg_intern_find(&slots->sparse, &number, sizeof number, &at)) {
		*slot = slots->sparse_slots.items[at];
		return 0;
	}
	if (slots->count >= VG_SYM_SLOTS_MAX)
		return -ENOMEM;
	rc = fits_dense(slots, number) ? dense_add(slots, number) : sparse_add(slots, number);
	if (rc != 0)
		return rc;
	*slot = slots->count++;
	return 1;
}

void vg_sym_slots_free(struct vg_sym_slots *slots)
{
	vg_array_free(&slots->dense);
	vg_intern_free(&slots->sparse);
	vg_array_free(&slots->sparse_slots);
	slots->count = 0;
}
