/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_MODEL_H
#define VG_PROFILE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/err.h"
#include "base/intern.h"
#include "profile/record.h"

/*
 * A profile in memory.  The model knows nothing of any view.  Times are nanoseconds since the
 * session began, weights are nanoseconds.  Strings are ids into `strings`; VG_NONE is "none".
 */
#define VG_NONE UINT32_MAX

/* Why a walk up a stack ended. */
enum vg_walk_end {
	VG_WALK_ROOT = 0,       /* the thread's first frame was reached: the stack is complete */
	VG_WALK_SNAPSHOT = 1,   /* the stack went on beyond the bytes that were copied */
	VG_WALK_NO_INFO = 2,    /* no unwind information for the outermost frame */
	VG_WALK_BAD_CFA = 3,    /* unwind information led to an impossible frame */
	VG_WALK_DEPTH = 4,      /* the frame limit was reached */
	VG_WALK_UNREAD = 5,     /* the thread's registers or stack could not be read */
	VG_WALK_REGISTER = 6,   /* a register was needed that could not be learnt without a stop */
	VG_WALK_ENDS = 7,
};

/* How a frame's caller was found; 0 is not written. */
enum vg_found {
	VG_FOUND_CFI = 0,             /* unwind information */
	VG_FOUND_FRAME_POINTER = 1,   /* a validated frame-pointer chain */
	VG_FOUND_GUESS = 2,           /* a likely frame pointer, looked for in the copy */
	VG_FOUND_CALL = 3,            /* no frame: the system call that the thread waits in; the
	                                 address is its number on the profile's machine */
};

/* How the profile was taken.  Strings as everywhere in the model. */
struct vg_header {
	uint32_t version;            /* of the format: 1 */
	uint32_t max_frames;
	uint64_t period_ns;          /* 0: samples were taken on demand */
	uint64_t start_unix_s;
	uint64_t from_ns;            /* the profile is the end of a recording, from then on; 0: whole */
	uint32_t mode_name;          /* "wall" or "cpu" */
	uint32_t writer;             /* program and version */
	uint32_t arch;               /* as uname -m says it */
	uint32_t program;            /* basename of the main executable */
	uint32_t counters[VG_COUNTS_MAX]; /* names of what was counted of each thread */
	uint32_t counter_count;
};

struct vg_module {
	uint32_t id;
	uint32_t name;               /* basename */
	unsigned char build_id[VG_BUILD_ID_MAX_BYTES];
	uint8_t build_id_bytes;      /* 0: it has none */
	bool unresolved;             /* symbols were looked for and not found */
	uint64_t base;               /* where the first PT_LOAD was; absolute address */
	uint64_t size_bytes;
	uint64_t load_ns;
	uint64_t unload_ns;          /* UINT64_MAX: never seen unloaded */
};

struct vg_thread {
	uint32_t id;
	uint32_t name;
	int32_t tid;
	uint64_t begin_ns;
	uint64_t end_ns;             /* UINT64_MAX: still alive at the end */
	uint64_t last_ns;            /* of its latest sample; the reader's own */
	uint32_t last_run;           /* the reader's own */
	uint32_t last_sample;        /* index of its latest, or VG_NONE; the reader's own */
};

/* A node of the stack tree: one frame and the stack below it. */
struct vg_stack {
	uint32_t parent;             /* index of the caller's node, or VG_NONE */
	uint32_t module;             /* index, or VG_NONE: no module is known at that address */
	uint64_t address;            /* module-relative; absolute without a module.  For every frame
	                                but the leaf and a signal's, one less than the return
	                                address, so that it lies in the call */
	uint32_t depth;              /* frames from here to the root, this one included */
	uint8_t end;                 /* enum vg_walk_end of the whole stack */
	uint8_t found;               /* enum vg_found */
};

struct vg_sample {
	uint64_t time_ns;
	uint64_t wall_ns;
	uint64_t cpu_ns;
	uint64_t interval;           /* token of its thread's innermost open interval; 0: none */
	uint32_t thread;             /* index */
	uint32_t stack;              /* index of the leaf's node, or VG_NONE: an empty stack */
	uint32_t count;              /* samples that this stands for: the thread did not move */
	uint8_t end;                 /* enum vg_walk_end, for empty stacks too */
};

/* What the program itself told of, in the order in which it was written: that of time for each
 * thread, not for several. */
struct vg_event {
	uint64_t time_ns;
	uint64_t value;              /* the argument; of a counter an int64_t */
	uint64_t token;              /* of an interval; 0: it has none */
	uint64_t parent;             /* token of the thread's innermost open interval; 0: none; its own: not known */
	uint32_t thread;             /* index */
	uint32_t kind, label;        /* strings, or VG_NONE */
	uint8_t what;                /* enum vg_event_what */
};

/* How far the counters of a thread went since the thread's count before, or since it was first
 * counted. */
struct vg_thread_count {
	uint64_t time_ns;
	uint64_t values[VG_COUNTS_MAX]; /* in the order of the header's names */
	uint32_t thread;             /* index */
	uint32_t sample;             /* index of the thread's latest sample, or VG_NONE */
};

struct vg_function {
	uint32_t id;
	uint32_t name;
	uint32_t file;               /* VG_NONE: unknown */
	uint32_t module;             /* index or VG_NONE */
};

/* What one address resolves to: `count` pairs from symbol_lines, innermost inline first. */
struct vg_symbol {
	uint32_t first, count;
};
struct vg_symbol_line {
	uint32_t function;           /* index */
	uint32_t line;               /* 0: unknown */
};

/* Code of no module, named by the program that made it. */
struct vg_code {
	uint64_t address, size_bytes;
	uint32_t name;
};

/* A named number: losses by cause, statistics. */
struct vg_count {
	uint32_t name;
	uint64_t value;
};

/* A place in the file that could not be read. */
struct vg_damage {
	uint64_t offset, bytes;
	const char *what;            /* static text */
};

struct vg_profile {
	struct vg_header header;
	struct vg_intern strings;
	VG_ARRAY(struct vg_module) modules;
	VG_ARRAY(struct vg_thread) threads;
	VG_ARRAY(struct vg_stack) stacks;
	VG_ARRAY(struct vg_sample) samples;
	VG_ARRAY(struct vg_event) events;
	VG_ARRAY(struct vg_thread_count) thread_counts;
	VG_ARRAY(struct vg_function) functions;
	VG_ARRAY(struct vg_symbol) symbols;
	VG_ARRAY(struct vg_symbol_line) symbol_lines;
	VG_ARRAY(struct vg_code) code; /* by address */
	struct vg_counts { struct vg_count *items; size_t count, capacity; } lost, stats;
	VG_ARRAY(struct vg_damage) damage;
	uint64_t damaged_bytes;      /* all of it; the list above is bounded */
	uint64_t duration_ns;
	uint64_t file_bytes;
	uint64_t samples_total;      /* the sum of their counts */
	uint64_t samples_orphaned;   /* what they refer to was lost with a damaged chunk */
	uint32_t end_reason;         /* string, or VG_NONE: the file is truncated */
	bool resolved;               /* it has symbol records */

	/* The reader's own: ids of the file -> indices above. */
	struct vg_intern module_ids, thread_ids, stack_ids, function_ids, label_ids;
	VG_ARRAY(uint32_t) labels;   /* strings */
	/* stack_ids stays empty as long as ids count upwards with the stacks. */
	struct vg_intern symbol_keys; /* struct vg_symbol_key -> index into symbols */
};

struct vg_symbol_key {
	uint64_t address;
	uint32_t module;             /* index */
	uint32_t zero;
};

void vg_profile_free(struct vg_profile *profile);

/* NULL for VG_NONE. */
const char *vg_profile_text(const struct vg_profile *profile, uint32_t string);

/* A loss or a statistic by its name; NULL if it is not there. */
const struct vg_count *vg_profile_count(const struct vg_profile *profile,
					const struct vg_counts *counts, const char *name);

/* What a frame's address resolves to, innermost first; NULL and *count 0 if nothing is known. */
const struct vg_symbol_line *vg_profile_symbol(const struct vg_profile *profile, uint32_t module,
					       uint64_t address, size_t *count);

/* The name of the code of no module at that address: a string, or VG_NONE. */
uint32_t vg_profile_code(const struct vg_profile *profile, uint64_t address);

/* "complete", "snapshot too small", ...: for people. */
const char *vg_walk_end_name(enum vg_walk_end end);

#endif
