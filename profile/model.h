/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_MODEL_H
#define VG_PROFILE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/build_id.h"
#include "base/err.h"
#include "base/intern.h"
#include "profile/record.h"

/*
 * A profile in memory, independent of the views.  vg_profile_read() (reader.h) fills the profile, and
 * vg_profile_free() frees it.  Symbols may be added to it, and a view may shorten its stacks
 * (vgtool/analysis/instruction_frames.h).  Nothing else changes the profile.  Example:
 *
 *     struct vg_profile profile = { 0 };
 *     if (vg_profile_read(&profile, &file, &err) == 0)
 *             printf("%s: %zu samples\n", vg_profile_text(&profile, profile.header.program),
 *                    profile.samples.count);
 *     vg_profile_free(&profile);
 *
 * Times are nanoseconds since the recording began.  Weights are nanoseconds.  In the comments below, a "string" is an
 * id in `strings`, and an "index" is an index into one of the arrays of struct vg_profile.  VG_NONE stands for a
 * missing string or a missing index.
 */
#define VG_NONE UINT32_MAX

/* Why a walk up a stack ended.  The numbers are the roots of vgp(5). */
enum vg_walk_end {
	VG_WALK_ROOT = 0,            /* the root frame was reached: the stack is complete */
	VG_WALK_TRUNCATED = 1,       /* the stack continued beyond the bytes that were copied */
	VG_WALK_NO_INFO = 2,         /* no unwind information for the outermost frame that was found */
	VG_WALK_BAD_INFO = 3,        /* the unwind information gave an impossible frame */
	VG_WALK_FRAME_LIMIT = 4,
	VG_WALK_UNREADABLE = 5,      /* the thread's registers or stack could not be read */
	VG_WALK_NO_REGISTER = 6,     /* the walk needed a register, and the thread was not stopped to read it */
	VG_WALK_MODULE_UNLOADED = 7, /* the module was unloaded before its unwind information was read,
	                                or it is unknown which module was at the address */
	VG_WALK_WORK_LIMIT = 8,      /* the unwind information or the code took too long to read */
	VG_WALK_END_COUNT = 9,
};

/* How a frame was found. */
enum vg_found_by {
	VG_FOUND_BY_CFI = 0,         /* by the unwind information of its callee; the record then has no found_by */
	VG_FOUND_BY_FRAME_POINTER = 1, /* by a chain of frame pointers that was checked */
	VG_FOUND_BY_SCAN = 2,        /* by a value in the stack copy that looks like a frame pointer */
	VG_FOUND_BY_SYSTEM_CALL = 3, /* not a frame: the system call in which the thread waits; the address is the
	                                number of the system call on the profile's machine */
	VG_FOUND_BY_INSTRUCTIONS = 4, /* by following the instructions of its callee */
	VG_FOUND_IN_KERNEL = 5,      /* a function of the kernel; in place of an address there is the number of a
	                                kernel symbol of the frame's module */
};

/* How the profile was recorded. */
struct vg_header {
	uint32_t version;            /* of the format: 1 */
	uint32_t max_frames;
	uint64_t period_ns;          /* 0: samples were taken on demand */
	uint64_t start_unix_s;
	uint64_t start_us;           /* microseconds of this second; 0: also if they are unknown */
	uint64_t window_begin_ns;    /* begin of a flight recorder's dump; 0: the profile is the whole recording */
	uint32_t mode_name;          /* string, "wall" or "cpu" */
	uint32_t writer;             /* string, program and version */
	uint32_t arch;               /* string, as uname -m prints it */
	uint32_t program;            /* string, file name of the main executable */
	uint32_t counters[VG_PERF_COUNTERS_MAX]; /* strings, names of the perf counters */
	uint32_t counter_count;
};

/* A process that was recorded.  A file has one; merge.h makes a profile of several. */
struct vg_process {
	uint32_t name;               /* string; the program, unless vg_merge_rename() changed it */
	uint32_t program;            /* string, file name of the main executable */
	int32_t pid;                 /* the id of its first thread, the main thread; 0: no thread was recorded */
	uint64_t start_ns;           /* when its recording began, since 1970; 0: unknown */
	uint64_t begin_ns;           /* when its recording began, since the profile's earliest recording began */
	uint64_t duration_ns;
	uint64_t first_stack, first_jit_code; /* indices; its items end where those of the next process begin */
};

struct vg_module {
	uint32_t id;
	uint32_t name;               /* string, file name without directories */
	unsigned char build_id[VG_BUILD_ID_MAX_BYTES];
	uint8_t build_id_bytes;      /* 0: it has none */
	bool unresolved;             /* symbols were searched for and not found */
	uint64_t base;               /* address of the first PT_LOAD in memory */
	uint64_t size_bytes;
	uint64_t load_ns;
	uint64_t unload_ns;          /* UINT64_MAX: not seen unloaded */
};

struct vg_thread {
	uint32_t id;
	uint32_t name;               /* string */
	int32_t tid;
	uint32_t process;            /* index */
	uint64_t begin_ns;
	uint64_t end_ns;             /* UINT64_MAX: not seen to exit */
	/* For the reader only: */
	uint64_t last_ns;            /* time of the latest sample */
	uint32_t last_segment;       /* vg_reader.segment of the latest sample */
	uint32_t last_sample;        /* index of the latest sample, or VG_NONE */
};

/* A node of the stack tree: one frame with all its callers. */
struct vg_stack {
	uint32_t parent;             /* index of the caller's node, or VG_NONE */
	uint32_t module;             /* index, or VG_NONE: no module is known at the address */
	uint64_t address;            /* relative to the module; absolute without a module.  For a caller it is the
	                                return address minus one, so that it lies in the call instruction.  It is exact
	                                for the leaf frame and for frames that a signal interrupted */
	uint32_t depth;              /* frames from here to the root, including this one */
	uint8_t end;                 /* enum vg_walk_end of the whole stack */
	uint8_t found_by;            /* enum vg_found_by */
};

struct vg_sample {
	uint64_t time_ns;
	uint64_t wall_ns;
	uint64_t cpu_ns;
	uint64_t interval;           /* token of the thread's innermost open interval; 0: none */
	uint32_t thread;             /* index */
	uint32_t stack;              /* index of the leaf frame's node, or VG_NONE: an empty stack */
	uint32_t count;              /* number of samples that this element stands for: the thread did not run between
	                                them */
	uint8_t end;                 /* enum vg_walk_end, for empty stacks too */
};

/* An event of the program.  The events of one thread are sorted by time.  Events of different threads are unsorted. */
struct vg_event {
	uint64_t time_ns;
	uint64_t value;              /* the argument; an int64_t for a counter */
	uint64_t token;              /* token of the interval; 0: not an interval event */
	uint64_t parent;             /* token of the enclosing interval; 0: none; equal to `token`: unknown */
	uint32_t thread;             /* index */
	uint32_t kind, label;        /* strings, or VG_NONE */
	uint8_t type;                /* enum vg_event_type */
};

/* The growth of a thread's perf counters since the thread's previous reading.  The first reading of a thread has the
 * growth since counting began. */
struct vg_counter_reading {
	uint64_t time_ns;
	uint64_t values[VG_PERF_COUNTERS_MAX]; /* in the order of the header's names */
	uint32_t thread;             /* index */
	uint32_t sample;             /* index of the thread's latest sample before this reading, or VG_NONE */
};

struct vg_function {
	uint32_t id;
	uint32_t name;               /* string */
	uint32_t file;               /* string, or VG_NONE: unknown */
	uint32_t module;             /* index, or VG_NONE */
};

/* The functions at one address: `count` items of symbol_lines from index `first`, innermost inlined function first. */
struct vg_symbol {
	uint32_t first, count;
};
struct vg_symbol_line {
	uint32_t function;           /* index */
	uint32_t line;               /* 0: unknown */
};

struct vg_jit_code {
	uint64_t address, size_bytes;
	uint32_t name;               /* string, from the process's perf map */
};

/* A loss or a statistic. */
struct vg_count {
	uint32_t name;               /* string */
	uint64_t value;
};

/* A part of the file that could not be read. */
struct vg_damage {
	uint64_t offset, bytes;
	const char *problem;         /* static text */
};

struct vg_profile {
	struct vg_header header;
	struct vg_intern strings;
	VG_ARRAY(struct vg_process) processes; /* empty while a file is still being read */
	VG_ARRAY(struct vg_module) modules;
	VG_ARRAY(struct vg_thread) threads;
	VG_ARRAY(struct vg_stack) stacks;
	VG_ARRAY(struct vg_sample) samples;
	VG_ARRAY(struct vg_event) events;
	VG_ARRAY(struct vg_counter_reading) counter_readings;
	VG_ARRAY(struct vg_function) functions;
	VG_ARRAY(struct vg_symbol) symbols;
	VG_ARRAY(struct vg_symbol_line) symbol_lines;
	VG_ARRAY(struct vg_jit_code) jit_code; /* of each process, sorted by address */
	struct vg_counts { struct vg_count *items; size_t count, capacity; } lost, stats;
	VG_ARRAY(struct vg_damage) damage; /* the first 1000 */
	uint64_t damaged_bytes;      /* sum of all damage */
	uint64_t duration_ns;
	uint64_t file_bytes;
	uint64_t samples_total;      /* sum of the samples' `count` */
	uint64_t unknown_records, unknown_fields; /* of later versions of the format; they were skipped */
	uint64_t samples_without_stack; /* samples whose stack was in a damaged chunk */
	uint32_t end_reason;         /* string, or VG_NONE: the file is truncated */
	uint64_t kernel_symbols;     /* symbols of the kernel, which the recorder wrote */
	bool resolved;               /* the file has symbol records, or symbols were added in memory */
	bool partly_resolved;        /* of several merged files, some have stacks and no symbol records */

	/* For the reader only: maps from ids of the file to indices. */
	struct vg_intern module_ids, thread_ids, function_ids, label_ids;
	struct vg_intern stack_ids;  /* empty if the id of each stack is VG_STACK_ROOTS + index */
	VG_ARRAY(uint32_t) labels;   /* strings, by index in label_ids */
	struct vg_intern symbol_keys; /* struct vg_symbol_key -> index into symbols */
};

struct vg_symbol_key {
	uint64_t address;
	uint32_t module;             /* index */
	uint32_t zero;               /* always 0; takes the place of padding, because keys are compared as bytes */
};

/* Frees everything and zeroes the profile.  Accepts NULL. */
void vg_profile_free(struct vg_profile *profile);

/* The text of a string; NULL for VG_NONE.  Valid until the profile is freed. */
const char *vg_profile_text(const struct vg_profile *profile, uint32_t string);

/* The loss or statistic of that name in profile->lost or profile->stats, or NULL. */
const struct vg_count *vg_profile_count(const struct vg_profile *profile,
					const struct vg_counts *counts, const char *name);

/* Returns the functions at a frame's address, innermost first, and their number in *count.  If there are none, returns
 * NULL and sets *count to 0. */
const struct vg_symbol_line *vg_profile_symbol(const struct vg_profile *profile, uint32_t module,
					       uint64_t address, size_t *count);

/* The JIT code at the node's address, or NULL.  The node has no module. */
const struct vg_jit_code *vg_profile_jit_code(const struct vg_profile *profile, const struct vg_stack *stack);

/* Its name: a string, or VG_NONE. */
uint32_t vg_profile_jit_name(const struct vg_profile *profile, const struct vg_stack *stack);

/* "complete", "stack truncated", ...: for messages and JSON. */
const char *vg_walk_end_name(enum vg_walk_end end);

/* ---- what adds to a profile: each function returns 0 or -ENOMEM ---- */

/* For a zeroed profile: each text of the header is "", and there is no end reason. */
int vg_profile_begin(struct vg_profile *profile);

/* Adds text to `strings`, as UTF-8 without control characters, truncated to VG_NAME_MAX_BYTES. */
int vg_profile_add_string(struct vg_profile *profile, const char *text, size_t length, uint32_t *string);

/* Adds damage to `damaged_bytes` and, up to 1000 items, to `damage`. */
int vg_profile_add_damage(struct vg_profile *profile, const struct vg_damage *damage);

/*
 * With these functions the profile is the same as if its file had the FUNCTION and SYMBOL records of vgp(5).  Modules
 * and functions are indices.
 *
 *	vg_profile_add_function(&profile, "work", "work.c", module, &line.function);
 *	vg_profile_add_symbol(&profile, module, 0x1234, &line, 1);
 */

/* Copies the texts; file: NULL: unknown.  Sets *function. */
int vg_profile_add_function(struct vg_profile *profile, const char *name, const char *file, uint32_t module,
			    uint32_t *function);

/* Adds the functions at an address, innermost first.  Ignores an address that has symbols already. */
int vg_profile_add_symbol(struct vg_profile *profile, uint32_t module, uint64_t address,
			  const struct vg_symbol_line *lines, size_t count);

#endif
