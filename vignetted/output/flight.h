/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_FLIGHT_H
#define VG_VIGNETTED_FLIGHT_H

#include <stdbool.h>

#include "base/pauses.h"
#include "profile/writer.h"
#include "vignetted/output/open_intervals.h"
#include "vignetted/output/tape.h"

#define VG_FLIGHT_MEMORY_DEFAULT_BYTES (UINT64_C(64) << 20)
#define VG_FLIGHT_MEMORY_LEAST_BYTES (UINT64_C(1) << 20)
enum { VG_FLIGHT_COUNTS = 64, VG_FLIGHT_LOSSES = 16, VG_FLIGHT_SNAPSHOTS = 32 };

struct vg_flight_node {
	uint64_t address;
	uint32_t parent, module;
	uint32_t dumped;             /* id in the dump in progress, or 0 */
	uint8_t found, end;          /* enum vg_found, enum vg_walk_end */
};

/* One table of stacks of the recorder's.  When that begins another, this one is kept for as long
 * as an entry of the tape names it. */
struct vg_flight_table {
	uint32_t first;              /* id of its first node */
	uint64_t used;               /* number of the entry behind the latest that names it */
	VG_ARRAY(struct vg_flight_node) nodes;
};

struct vg_flight_thread {
	struct vg_thread thread;
	char *name;                  /* owned; its latest, or NULL */
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
 * Reads the tape while the flight recorder goes on: a dump.  It is a callback, so that the recorder needs to know
 * nothing of dumps.  An entry that the reader needs is never dropped before the reader has read it.
 */
struct vg_flight_reader {
	/* Whether it has yet to read the tape's entry of that number. */
	bool (*needs)(const struct vg_flight_reader *reader, uint64_t number);
	/* Reads up to that many entries now: memory is short, and the oldest entry must go. */
	void (*hurry)(struct vg_flight_reader *reader, size_t entries);
};

/*
 * Keeps the last seconds of what a writer is told, in bounded memory.  Where that is short the
 * oldest go before their time, and are counted.
 */
struct vg_flight {
	struct vg_writer_sink sink;  /* first; for vg_flight_sink() */
	uint64_t window_ns, memory_bytes;
	uint32_t name_max_bytes;     /* of names in dumps */
	const uint32_t *generation;  /* of the recorder's table of stacks */
	uint32_t generation_seen;
	uint64_t now_ns;             /* the latest time that was told of */
	uint64_t short_ns;           /* time of the latest entry that memory was short for */
	uint64_t dropped;            /* how many of those there were */
	uint64_t rate_ns;            /* the period in force before the tape; 0: the header's */
	struct vg_tape tape;
	struct vg_open_intervals open; /* before the tape */
	VG_ARRAY(struct vg_flight_table) tables; /* oldest first */
	bool grown;                  /* they take more than when room was last made */
	VG_ARRAY(struct vg_flight_thread) threads; /* by id, ascending */
	size_t sweep_at;             /* look for threads that are long gone when there are so many */
	VG_ARRAY(struct vg_flight_module) modules; /* at their ids */
	struct vg_intern label_ids;  /* -> indices below: some have high ids */
	VG_ARRAY(struct vg_flight_label) labels;
	struct vg_writer_header header;
	char arch[65];
	struct vg_named stats[VG_FLIGHT_COUNTS], lost[VG_FLIGHT_LOSSES];
	size_t stats_count, lost_count;
	struct {                     /* what was lost so far, now and then */
		uint64_t time_ns;
		struct vg_named counts[VG_FLIGHT_LOSSES];
		size_t count;
	} snapshots[VG_FLIGHT_SNAPSHOTS];
	uint64_t snapshots_taken;
	uint64_t pauses[VG_PAUSES_BUCKETS][2];
	size_t pauses_count;
	struct vg_flight_reader *reader; /* NULL: nobody reads the tape */
};

/* All zero is one that keeps nothing.  `generation` is read whenever stacks are told of. */
void vg_flight_open(struct vg_flight *flight, uint64_t window_ns, uint64_t memory_bytes,
		    const uint32_t *generation);
void vg_flight_close(struct vg_flight *flight);

/* Lets go what is older than the window. */
void vg_flight_trim(struct vg_flight *flight, uint64_t now_ns);

/* NULL: not kept any more. */
struct vg_flight_node *vg_flight_node(struct vg_flight *flight, uint32_t id);
struct vg_flight_thread *vg_flight_thread(struct vg_flight *flight, uint32_t id);
struct vg_flight_label *vg_flight_label(struct vg_flight *flight, uint32_t id);

/* Corrects one of the latest statistics. */
void vg_flight_stat(struct vg_flight *flight, const char *name, uint64_t value);

/* What was lost before that time, as of the latest snapshot before it. */
uint64_t vg_flight_lost_before(const struct vg_flight *flight, const char *name, uint64_t time_ns);

/* ---- for flight_sink.c, which fills it ---- */

/* Room on the tape for an entry, whose rest is zero.  NULL: there is no memory, which is counted. */
struct vg_tape_entry *vg_flight_push(struct vg_flight *flight, uint64_t time_ns, enum vg_tape_kind kind,
				     uint32_t thread);

/* The table that has the stack.  NULL: no table has it any more. */
struct vg_flight_table *vg_flight_table_of(struct vg_flight *flight, uint32_t id);

/* Drops threads that ended before the window.  If there are still too many, drops more of those that have ended,
 * the oldest first. */
void vg_flight_threads_sweep(struct vg_flight *flight);

#endif
