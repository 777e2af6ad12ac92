/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/output/tape.h"

#include <string.h>
#include <sys/mman.h>

enum {
	BLOCK_ENTRIES = (VG_TAPE_BLOCK_BYTES - 2 * sizeof(uint64_t)) / sizeof(struct vg_tape_entry),
};

struct vg_tape_block {
	struct vg_tape_block *next;
	uint64_t first;              /* number of its first entry */
	struct vg_tape_entry entries[BLOCK_ENTRIES];
};

_Static_assert(sizeof(struct vg_tape_block) <= VG_TAPE_BLOCK_BYTES, "a block is what is asked for");

int vg_tape_is_full(const struct vg_tape *tape)
{
	return tape->tail == NULL || tape->next == tape->tail->first + BLOCK_ENTRIES;
}

static int block_append(struct vg_tape *tape)
{
	/* Not from the heap, which would keep what is given back between what is not. */
	struct vg_tape_block *block = mmap(NULL, VG_TAPE_BLOCK_BYTES, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (block == MAP_FAILED)
		return -1;
	block->first = tape->next;
	if (tape->tail != NULL)
		tape->tail->next = block;
	else
		tape->head = block;
	tape->tail = block;
	tape->blocks++;
	return 0;
}

struct vg_tape_entry *vg_tape_push(struct vg_tape *tape)
{
	if (vg_tape_is_full(tape) && block_append(tape) != 0)
		return NULL;
	return &tape->tail->entries[tape->next++ - tape->tail->first];
}

struct vg_tape_entry *vg_tape_first(const struct vg_tape *tape)
{
	return tape->first < tape->next ? &tape->head->entries[tape->first - tape->head->first] : NULL;
}

static void head_free(struct vg_tape *tape)
{
	struct vg_tape_block *head = tape->head;

	tape->head = head->next;
	if (tape->head == NULL)
		tape->tail = NULL;
	tape->blocks--;
	munmap(head, VG_TAPE_BLOCK_BYTES);
}

void vg_tape_drop(struct vg_tape *tape)
{
	if (++tape->first == tape->head->first + BLOCK_ENTRIES)
		head_free(tape);
}

const struct vg_tape_entry *vg_tape_read(const struct vg_tape *tape, struct vg_tape_cursor *cursor)
{
	if (cursor->number >= tape->next)
		return NULL;
	/* The block where the cursor was may be gone, if all of it was read. */
	if (cursor->number == tape->first)
		cursor->block = tape->head;
	while (cursor->number >= cursor->block->first + BLOCK_ENTRIES)
		cursor->block = cursor->block->next;
	return &cursor->block->entries[cursor->number++ - cursor->block->first];
}

void vg_tape_free(struct vg_tape *tape)
{
	while (tape->head != NULL)
		head_free(tape);
	memset(tape, 0, sizeof *tape);
}
