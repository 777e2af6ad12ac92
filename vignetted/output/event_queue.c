/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/output/event_queue.h"

#include <string.h>
#include <sys/mman.h>

enum {
	BLOCK_ENTRIES = (VG_QUEUE_BLOCK_BYTES - 2 * sizeof(uint64_t)) / sizeof(struct vg_queue_entry),
};

struct vg_event_queue_block {
	struct vg_event_queue_block *next;
	uint64_t first;              /* number of its first entry */
	struct vg_queue_entry entries[BLOCK_ENTRIES];
};

_Static_assert(sizeof(struct vg_event_queue_block) <= VG_QUEUE_BLOCK_BYTES, "a block fits into its memory");

int vg_event_queue_is_full(const struct vg_event_queue *queue)
{
	return queue->tail == NULL || queue->next == queue->tail->first + BLOCK_ENTRIES;
}

static int block_append(struct vg_event_queue *queue)
{
	/* Not from the heap: the heap would keep a freed block that lies between used ones. */
	struct vg_event_queue_block *block = mmap(NULL, VG_QUEUE_BLOCK_BYTES, PROT_READ | PROT_WRITE,
						  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (block == MAP_FAILED)
		return -1;
	block->first = queue->next;
	if (queue->tail != NULL)
		queue->tail->next = block;
	else
		queue->head = block;
	queue->tail = block;
	queue->blocks++;
	return 0;
}

struct vg_queue_entry *vg_event_queue_push(struct vg_event_queue *queue)
{
	if (vg_event_queue_is_full(queue) && block_append(queue) != 0)
		return NULL;
	return &queue->tail->entries[queue->next++ - queue->tail->first];
}

struct vg_queue_entry *vg_event_queue_first(const struct vg_event_queue *queue)
{
	return queue->first < queue->next ? &queue->head->entries[queue->first - queue->head->first] : NULL;
}

static void head_free(struct vg_event_queue *queue)
{
	struct vg_event_queue_block *head = queue->head;

	queue->head = head->next;
	if (queue->head == NULL)
		queue->tail = NULL;
	queue->blocks--;
	munmap(head, VG_QUEUE_BLOCK_BYTES);
}

void vg_event_queue_drop(struct vg_event_queue *queue)
{
	if (++queue->first == queue->head->first + BLOCK_ENTRIES)
		head_free(queue);
}

const struct vg_queue_entry *vg_event_queue_read(const struct vg_event_queue *queue,
						 struct vg_event_queue_cursor *cursor)
{
	if (cursor->number >= queue->next)
		return NULL;
	/* If all entries of the cursor's block were read, the block may have been freed. */
	if (cursor->number == queue->first)
		cursor->block = queue->head;
	while (cursor->number >= cursor->block->first + BLOCK_ENTRIES)
		cursor->block = cursor->block->next;
	return &cursor->block->entries[cursor->number++ - cursor->block->first];
}

void vg_event_queue_free(struct vg_event_queue *queue)
{
	while (queue->head != NULL)
		head_free(queue);
	memset(queue, 0, sizeof *queue);
}
