/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_WRITER_H
#define VG_PROFILE_WRITER_H

#include <msgpack.h>

#include "profile/model.h"

struct vg_writer_sink;

/* What the writer keeps of a thread from one sample to the next. */
struct vg_writer_thread {
	uint64_t last_us;            /* of its latest sample */
	uint64_t cpu_rest_ns;        /* CPU time that no sample says yet */
};

/*
 * Writes a profile, chunk by chunk, so that whatever was flushed stays readable whoever is
 * killed.  Ids are the caller's: dense from 0, stacks from VG_STACK_ROOTS, each written before
 * it is used.
 *
 * Every function returns 0 or a negative errno.  The first failure stays, and nothing is
 * written any more but the end.
 */
struct vg_writer {
	int fd;                      /* the caller's */
	uint64_t limit_bytes;        /* 0: none */
	uint64_t file_bytes;         /* written so far */
	uint32_t sequence;
	bool appends;                /* the descriptor writes at the file's end */
	int failed;                  /* the first failure, or 0 */
	msgpack_sbuffer buffer;      /* the chunk being filled, behind room for its header */
	msgpack_packer packer;
	uint32_t name_max_bytes;     /* of modules, threads and code; longer ones are cut; to be set
	                                behind vg_writer_open(), which sets the format's limit */
	uint64_t names_cut;
	uint64_t last_us;            /* the time that the next sample counts from */
	uint64_t event_ns;           /* the time that the next event counts from */
	VG_ARRAY(struct vg_writer_thread) threads; /* by id */
	struct vg_writer_sink *sink; /* the caller's; NULL, or records go there instead of the file; to be
	                                set behind vg_writer_open() */
};

/* A number with a name, for maps in the file. */
struct vg_named {
	const char *name;
	uint64_t value;
};

/* What the header record says; the model's struct vg_header with the strings themselves. */
struct vg_writer_header {
	uint64_t period_ns, start_unix_s;
	uint64_t from_ns;            /* session time that the profile begins with; 0 is not written */
	uint32_t max_frames;
	const char *mode, *writer, *arch, *program;
	const char *counters;        /* names with a comma between; NULL: none */
};

void vg_writer_open(struct vg_writer *writer, int fd, uint64_t limit_bytes);
int vg_writer_header(struct vg_writer *writer, const struct vg_writer_header *header);
int vg_writer_module(struct vg_writer *writer, const struct vg_module *module, const char *name);
int vg_writer_module_unload(struct vg_writer *writer, uint32_t module, uint64_t time_ns);
int vg_writer_thread(struct vg_writer *writer, const struct vg_thread *thread, const char *name);
int vg_writer_thread_name(struct vg_writer *writer, uint32_t thread, uint64_t time_ns,
			  const char *name);
int vg_writer_thread_end(struct vg_writer *writer, uint32_t thread, uint64_t time_ns);

/* parent is a stack id or an enum vg_walk_end; module is VG_NONE for none. */
int vg_writer_stack(struct vg_writer *writer, uint32_t id, uint32_t parent, uint32_t module,
		    uint64_t address, enum vg_found found);

struct vg_writer_sample {
	uint32_t thread;
	uint32_t stack;              /* a stack id or, for an empty stack, an enum vg_walk_end */
	uint32_t count;              /* samples that this stands for, the last of them at time_ns */
	uint64_t time_ns, wall_ns, cpu_ns;
	uint64_t interval;           /* token of its thread's innermost open interval; 0: none */
};

/* In order of time for each thread; of several threads in any order. */
int vg_writer_sample(struct vg_writer *writer, const struct vg_writer_sample *sample);

/* A string of the program's; longer than VG_LABEL_MAX_BYTES, it is cut. */
int vg_writer_label(struct vg_writer *writer, uint32_t id, const char *text, size_t length);

struct vg_writer_event {
	enum vg_event_what what;
	uint32_t thread;
	uint32_t kind, label;        /* ids of labels, or VG_NONE */
	uint64_t time_ns;
	uint64_t value;              /* of a counter an int64_t */
	uint64_t token, parent;      /* 0: none; no parent without a token */
};

/* In order of time for each thread. */
int vg_writer_event(struct vg_writer *writer, const struct vg_writer_event *event);

struct vg_writer_count {
	uint32_t thread, count;
	uint64_t time_ns;            /* not before the thread's latest sample */
	uint64_t values[VG_COUNTS_MAX]; /* in the order of the header's names */
};

/* How far the thread's counters went since its count before; to be written behind the samples that
 * it is of. */
int vg_writer_count(struct vg_writer *writer, const struct vg_writer_count *count);

/* From now on samples are due at that distance. */
int vg_writer_rate(struct vg_writer *writer, uint64_t time_ns, uint64_t period_ns);

/* Counts so far: the last record of each kind holds. */
int vg_writer_lost(struct vg_writer *writer, const struct vg_named *counts, size_t count);
int vg_writer_stats(struct vg_writer *writer, const struct vg_named *counts, size_t count);

/* Pairs (length in ns that was not exceeded, how many stops). */
int vg_writer_pauses(struct vg_writer *writer, const uint64_t (*pairs)[2], size_t count);

/* The last record of a whole profile; flushes.  After a failure too, which stays: if it fits, the
 * file says why it ends, with one chunk missing before. */
int vg_writer_end(struct vg_writer *writer, const char *reason, uint64_t time_ns,
		  const struct vg_named *totals, size_t count);

int vg_writer_function(struct vg_writer *writer, uint32_t id, const char *name, const char *file,
		       uint32_t module);
int vg_writer_symbol(struct vg_writer *writer, uint32_t module, uint64_t address,
		     const struct vg_symbol_line *lines, size_t count);
/* Code that belongs to no module; address is absolute. */
int vg_writer_code(struct vg_writer *writer, uint64_t address, uint64_t size_bytes,
		   const char *name);
int vg_writer_unresolved(struct vg_writer *writer, uint32_t module);

/* A record taken as it is from another profile.  Its chunk must be copied whole: flush before
 * the first of its records and after the last. */
int vg_writer_copy(struct vg_writer *writer, const void *record, size_t length);

/* The mark that records before this chunk are missing. */
int vg_writer_gap(struct vg_writer *writer, uint64_t bytes);

/* Whether the size limit is so near that only the end may still be written. */
enum { VG_WRITER_RESERVE_BYTES = 16 * 1024 };
bool vg_writer_full(const struct vg_writer *writer);

/*
 * Takes what a writer is told, in the order in which it is told, instead of a file.  What is pointed
 * to is valid during the call only, but for names of counts, and what the header names.  Codes,
 * ends and symbols are not told.
 */
struct vg_writer_sink {
	int (*header)(struct vg_writer_sink *sink, const struct vg_writer_header *header);
	int (*module)(struct vg_writer_sink *sink, const struct vg_module *module, const char *name);
	int (*module_unload)(struct vg_writer_sink *sink, uint32_t module, uint64_t time_ns);
	int (*thread)(struct vg_writer_sink *sink, const struct vg_thread *thread, const char *name);
	int (*thread_name)(struct vg_writer_sink *sink, uint32_t thread, const char *name);
	int (*thread_end)(struct vg_writer_sink *sink, uint32_t thread, uint64_t time_ns);
	int (*stack)(struct vg_writer_sink *sink, uint32_t id, uint32_t parent, uint32_t module,
		     uint64_t address, enum vg_found found);
	int (*sample)(struct vg_writer_sink *sink, const struct vg_writer_sample *sample);
	int (*label)(struct vg_writer_sink *sink, uint32_t id, const char *text, size_t length);
	int (*event)(struct vg_writer_sink *sink, const struct vg_writer_event *event);
	int (*count)(struct vg_writer_sink *sink, const struct vg_writer_count *count);
	int (*rate)(struct vg_writer_sink *sink, uint64_t time_ns, uint64_t period_ns);
	int (*lost)(struct vg_writer_sink *sink, const struct vg_named *counts, size_t count);
	int (*stats)(struct vg_writer_sink *sink, const struct vg_named *counts, size_t count);
	int (*pauses)(struct vg_writer_sink *sink, const uint64_t (*pairs)[2], size_t count);
};

/* Writes out the chunk being filled, with one write(2) where the system allows. */
int vg_writer_flush(struct vg_writer *writer);

/* Frees memory; neither flushes nor closes. */
void vg_writer_close(struct vg_writer *writer);

#endif
