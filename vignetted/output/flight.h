/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_FLIGHT_H
#define VG_VIGNETTED_FLIGHT_H

#include <stdbool.h>

#include "base/pauses.h"
#include "profile/writer.h"
#include "vignetted/output/event_queue.h"
#include "vignetted/output/open_intervals.h"

#define VG_FLIGHT_MEMORY_DEFAULT_BYTES (UINT64_C(64) << 20)
#define VG_FLIGHT_MEMORY_MIN_BYTES (UINT64_C(1) << 20)
/* The flight recorder keeps at most this number of statistics, of kinds of losses, and of entries in the loss
 * history. */
enum { VG_FLIGHT_COUNTS = 64, VG_FLIGHT_LOSSES = 16, VG_FLIGHT_LOSS_HISTORY = 32 };

/* A frame of the stack table. */
struct vg_flight_node {
	uint64_t address;
	uint32_t parent, module;
	uint32_t dumped;             /* id in the dump in progress, or 0 */
	uint8_t found, end;          /* enum vg_found_by, enum vg_walk_end */
};

/* A copy of one of the recorder's stack tables.  It is kept as long as an entry of the queue refers to it, even if the
 * recorder has begun another table. */
struct vg_flight_table {
	uint32_t first;              /* id of its first node */
	uint64_t used;               /* 1 + the number of the latest entry that refers to it */
	VG_ARRAY(struct vg_flight_node) nodes;
};

struct vg_flight_thread {
	struct vg_thread thread;
	char *name;                  /* owned; its latest name, or NULL */
	uint32_t dumped;             /* id in the dump in progress, or VG_NONE */
};

struct vg_flight_module {
	struct vg_module module;
	char *name;                  /* owned; NULL: no module has this id */
	bool dumped;
};

struct vg_flight_label {
	char *text;                  /* owned; or NULL */
	uint32_t length;
	uint32_t dumped;             /* id in the dump in progress, or VG_NONE */
};

/*
 * A reader of the queue while the flight recorder continues: a dump.  The functions are callbacks, so that the flight
 * recorder does not depend on dumps.  An entry that the reader needs is not dropped before the reader has read it.
 */
struct vg_flight_reader {
	/* Returns whether the reader still has to read the entry with that number. */
	bool (*needs)(const struct vg_flight_reader *reader, uint64_t number);
	/* Reads up to `entries` entries now, because memory is short and the oldest entry must be dropped. */
	void (*catch_up)(struct vg_flight_reader *reader, size_t entries);
};

/*
 * The memory of a flight recorder: what a writer was given in the last seconds, which are called the window.  If memory
 * is short, the oldest entries are dropped before they leave the window.  `dropped` counts such entries.
 *
 *     vg_flight_open(&flight, window_ns, memory_bytes, &recorder.stacks_generation);
 *     recorder.writer.sink = vg_flight_sink(&flight);
 *     ...                                      vg_dump_begin(&dump, &flight, ...)
 *     vg_flight_close(&flight);
 *
 * All zero is a flight recorder that keeps nothing.
 */
struct vg_flight {
	struct vg_writer_sink sink;  /* must be the first member; for vg_flight_sink() */
	uint64_t window_ns, memory_bytes;
	uint32_t name_max_bytes;     /* the longest name in a dump */
	const uint32_t *generation;  /* the recorder's: vg_recorder.stacks_generation */
	uint32_t generation_seen;    /* its value when the latest table began */
	uint64_t now_ns;             /* the end of the window: the latest time of an entry or of vg_flight_trim() */
	uint64_t memory_short_ns;    /* time of the latest entry that was dropped because memory was short */
	uint64_t dropped;            /* entries and other items that were lost because memory was short */
	uint64_t period_before_queue_ns; /* sampling period before the first entry; 0: the header's */
	struct vg_event_queue queue;
	struct vg_open_intervals open; /* intervals that were open before the first entry of the queue */
	VG_ARRAY(struct vg_flight_table) tables; /* oldest first */
	bool tables_grown;           /* the tables have grown since memory was last checked */
	VG_ARRAY(struct vg_flight_thread) threads; /* by id, ascending */
	size_t cleanup_count;        /* at this number of threads, exited ones are dropped */
	VG_ARRAY(struct vg_flight_module) modules; /* the index is the id */
	struct vg_intern label_ids;  /* label id -> index in labels; no array, because some ids are high */
	VG_ARRAY(struct vg_flight_label) labels;
	struct vg_writer_header header;
	char arch[65];
	struct vg_named_value stats[VG_FLIGHT_COUNTS], lost[VG_FLIGHT_LOSSES];
	size_t stats_count, lost_count;
	struct {                     /* the losses at some earlier times; the oldest are overwritten */
		uint64_t time_ns;
		struct vg_named_value counts[VG_FLIGHT_LOSSES];
		size_t count;
	} loss_history[VG_FLIGHT_LOSS_HISTORY];
	uint64_t loss_history_count; /* number of entries that were ever added to loss_history */
	uint64_t pauses[VG_PAUSES_BUCKETS][2]; /* the pause histogram, as in vg_writer_pauses() */
	size_t pauses_count;
	struct vg_flight_reader *reader; /* NULL: no dump reads the queue */
};

/* *generation must be valid until vg_flight_close().  It is read when stacks arrive: a changed value shows that the
 * recorder has begun another stack table. */
void vg_flight_open(struct vg_flight *flight, uint64_t window_ns, uint64_t memory_bytes,
		    const uint32_t *generation);
void vg_flight_close(struct vg_flight *flight);

/* Drops entries that are older than the window. */
void vg_flight_trim(struct vg_flight *flight, uint64_t now_ns);

/* Return NULL if the item was dropped. */
struct vg_flight_node *vg_flight_node(struct vg_flight *flight, uint32_t id);
struct vg_flight_thread *vg_flight_thread(struct vg_flight *flight, uint32_t id);
struct vg_flight_label *vg_flight_label(struct vg_flight *flight, uint32_t id);

/* Sets the statistic `name` to `value`.  Does nothing if the flight recorder does not have this statistic. */
void vg_flight_stat(struct vg_flight *flight, const char *name, uint64_t value);

/* Returns the value of a loss at time_ns.  Takes it from the newest entry of the loss history whose time is time_ns or
 * earlier.  0: there is no such entry, or the entry does not have the loss. */
uint64_t vg_flight_lost_before(const struct vg_flight *flight, const char *name, uint64_t time_ns);

/* ---- for flight_sink.c, which fills the flight recorder ---- */

/* Appends an entry.  Sets all its members that are not arguments to zero.  If there is no memory, counts the entry as
 * dropped and returns NULL. */
struct vg_queue_entry *vg_flight_push(struct vg_flight *flight, uint64_t time_ns, enum vg_entry_kind kind,
				      uint32_t thread);

/* Returns the table that has the stack, or NULL if it was dropped. */
struct vg_flight_table *vg_flight_table_of(struct vg_flight *flight, uint32_t id);

/* Drops threads that exited before the window.  If there are still too many threads, also drops threads that exited in
 * the window, the earliest exits first. */
void vg_flight_threads_drop(struct vg_flight *flight);

#endif
