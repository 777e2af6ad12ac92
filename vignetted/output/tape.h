/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_TAPE_H
#define VG_VIGNETTED_TAPE_H

#include <stddef.h>
#include <stdint.h>

/* What a flight recorder keeps in the order in which it came. */
enum vg_tape_kind {
	VG_TAPE_SAMPLE,
	VG_TAPE_EVENT,
	VG_TAPE_COUNT,               /* of the sample before */
	VG_TAPE_RATE,
};

struct vg_tape_entry {
	uint64_t time_ns;            /* session time */
	union {
		struct { uint64_t wall_ns, cpu_ns, interval; uint32_t stack, count; } sample;
		struct { uint64_t value, token, parent; uint32_t kind, label; } event;
		struct { uint64_t values[4]; } count;
		struct { uint64_t period_ns; } rate;
	};
	uint32_t thread;
	uint8_t kind;                /* enum vg_tape_kind */
	uint8_t what;                /* of an event: enum vg_event_what; of a count: how many */
};

/*
 * A queue of entries, numbered as they come.  It takes memory in blocks from the kernel and gives
 * it back as it shrinks.  All zero is an empty one.
 */
enum { VG_TAPE_BLOCK_BYTES = 64 * 1024 };

struct vg_tape {
	struct vg_tape_block *head, *tail;
	uint64_t first, next;        /* numbers of the oldest, and of the one that will come */
	size_t blocks;
};

/* Room for one more, to be filled; valid until it is dropped.  NULL: no memory. */
struct vg_tape_entry *vg_tape_push(struct vg_tape *tape);

/* Whether that takes another block. */
int vg_tape_is_full(const struct vg_tape *tape);

/* The oldest, or NULL. */
struct vg_tape_entry *vg_tape_first(const struct vg_tape *tape);

/* Drops the oldest; there must be one. */
void vg_tape_drop(struct vg_tape *tape);

/* Reads on from `number`; what it has not read must not be dropped meanwhile. */
struct vg_tape_cursor {
	struct vg_tape_block *block;
	uint64_t number;
};

/* The next entry, or NULL where there is none yet. */
const struct vg_tape_entry *vg_tape_read(const struct vg_tape *tape, struct vg_tape_cursor *cursor);

void vg_tape_free(struct vg_tape *tape);

#endif
