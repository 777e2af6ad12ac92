/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_EVENT_QUEUE_H
#define VG_VIGNETTED_EVENT_QUEUE_H

#include <stddef.h>
#include <stdint.h>

/* The kinds of entries that a flight recorder keeps in the order of their arrival. */
enum vg_entry_kind {
	VG_ENTRY_SAMPLE,
	VG_ENTRY_EVENT,
	VG_ENTRY_COUNTERS,           /* perf counters, read at the thread's latest sample */
	VG_ENTRY_RATE,               /* the sampling period changed to period_ns at time_ns */
};

struct vg_queue_entry {
	uint64_t time_ns;            /* the recording's time */
	union {
		struct { uint64_t wall_ns, cpu_ns, interval; uint32_t stack, count; } sample;
		struct { uint64_t value, token, parent; uint32_t kind, label; } event;
		struct { uint64_t values[4]; } counters;
		struct { uint64_t period_ns; } rate;
	};
	uint32_t thread;
	uint8_t kind;                /* enum vg_entry_kind */
	union {
		uint8_t event_type;  /* VG_ENTRY_EVENT: enum vg_event_type */
		uint8_t counter_count; /* VG_ENTRY_COUNTERS: number of values */
	};
};

/*
 * A queue of entries, numbered in the order of their arrival.  It takes memory from the kernel in blocks, and returns
 * blocks as it shrinks.  All zero is an empty queue.
 *
 *     entry = vg_event_queue_push(&queue);
 *     while ((entry = vg_event_queue_read(&queue, &cursor)) != NULL) ...
 *     vg_event_queue_drop(&queue);
 */
enum { VG_QUEUE_BLOCK_BYTES = 64 * 1024 };

struct vg_event_queue {
	struct vg_event_queue_block *head, *tail;
	uint64_t first, next;        /* numbers of the oldest entry, and of the next one to be pushed */
	size_t blocks;
};

/* Appends an entry, which the caller fills.  The entry is valid until it is dropped.  NULL: no memory. */
struct vg_queue_entry *vg_event_queue_push(struct vg_event_queue *queue);

/* Whether the next push needs another block. */
int vg_event_queue_is_full(const struct vg_event_queue *queue);

/* The oldest entry, or NULL. */
struct vg_queue_entry *vg_event_queue_first(const struct vg_event_queue *queue);

/* Drops the oldest entry, which must exist. */
void vg_event_queue_drop(struct vg_event_queue *queue);

/* A reader's place: the number of the entry that it reads next.  Entries that it has not read must not be dropped. */
struct vg_event_queue_cursor {
	struct vg_event_queue_block *block;
	uint64_t number;
};

/* The next entry, or NULL if there is none yet. */
const struct vg_queue_entry *vg_event_queue_read(const struct vg_event_queue *queue,
						 struct vg_event_queue_cursor *cursor);

void vg_event_queue_free(struct vg_event_queue *queue);

#endif
