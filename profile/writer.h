/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_WRITER_H
#define VG_PROFILE_WRITER_H

#include <msgpack.h>

#include "base/pauses.h"
#include "profile/model.h"

/* The writer's state of a thread between two samples. */
struct vg_writer_thread {
	uint64_t last_us;            /* time of the thread's latest sample; time of the thread's creation if there is no
	                                sample yet */
	uint64_t cpu_carry_ns;       /* remainder below VG_CPU_UNIT_NS, added to the thread's next sample */
	bool has_ended;
};

/* A thread that has ended: its id, and the sequence number of the chunk that says so. */
struct vg_writer_ended {
	uint32_t id, sequence;
};

/*
 * Writes a profile, chunk by chunk.  If this process is killed, all flushed chunks stay readable.  The caller owns the
 * descriptor and chooses the ids: consecutive numbers from 0, or from VG_STACK_ROOTS for stacks.  Write a record before
 * the records that refer to it.
 *
 * Every function returns 0 or a negative errno.  After the first failure every function returns that failure, and only
 * the end record is still written.
 *
 *     vg_writer_open(&writer, fd, 0);
 *     vg_writer_header(&writer, &header);
 *     vg_writer_thread(&writer, &thread, "main");
 *     vg_writer_sample(&writer, &(struct vg_writer_sample){ .count = 1, .time_ns = now_ns });
 *     rc = vg_writer_end(&writer, "done", now_ns, NULL, 0);
 *     vg_writer_close(&writer);
 */
struct vg_writer {
	int fd;                      /* the caller's */
	uint64_t limit_bytes;        /* size limit of the file; 0: none */
	uint64_t names_bytes;        /* kept free for names of JIT code, which are written at the end */
	uint64_t file_bytes;         /* bytes written to the file; with a limit, not more than that */
	size_t record_at;            /* where the current record begins in the buffer */
	bool is_over;                /* a record was left out because of the limit */
	uint64_t records_left_out;   /* because of the limit */
	uint32_t sequence;           /* of the current chunk */
	bool appends;                /* the descriptor has O_APPEND */
	int failed;                  /* negative errno of the first failure, or 0 */
	msgpack_sbuffer buffer;      /* the current chunk; its first bytes are reserved for the header */
	msgpack_packer packer;
	uint32_t name_max_bytes;     /* limit for names of modules, threads and JIT code.
	                                vg_writer_open() sets VG_NAME_MAX_BYTES */
	uint64_t names_truncated;
	uint64_t last_us;            /* the next sample's since_us counts from here */
	uint64_t event_ns;           /* the next event's since_ns counts from here */
	VG_ARRAY(struct vg_writer_thread) threads; /* by id */
	uint32_t thread_ids;         /* the next new id of vg_writer_thread_id() */
	VG_ARRAY(struct vg_writer_ended) ended; /* from ended_first on, oldest first; only with take() */
	size_t ended_first;
	uint64_t samples, events;    /* that were written */
	/* Set by the caller after vg_writer_open(), or NULL: takes the payload of each chunk instead of the file.  The
	 * bytes are valid during the call. */
	void (*take)(void *taker, const void *payload, size_t bytes);
	void *taker;
	uint32_t reuse_before;       /* the taker has dropped all chunks before this sequence number: the ids of threads
					that ended there are used again */
};

/* A named number, for maps in the file. */
struct vg_named_value {
	const char *name;
	uint64_t value;
};

/* The header record: like struct vg_header of the model, but with texts instead of string ids. */
struct vg_writer_header {
	uint64_t period_ns, start_unix_s;
	uint64_t start_us;           /* microseconds of this second; 0 is not written */
	uint64_t window_begin_ns;    /* of a flight recorder's dump; 0: the whole recording */
	uint32_t max_frames;
	const char *mode, *writer, *arch, *program;
	const char *counters;        /* names of perf counters, separated by commas; NULL: none */
};

void vg_writer_open(struct vg_writer *writer, int fd, uint64_t limit_bytes);
int vg_writer_header(struct vg_writer *writer, const struct vg_writer_header *header);
int vg_writer_module(struct vg_writer *writer, const struct vg_module *module, const char *name);
int vg_writer_module_unload(struct vg_writer *writer, uint32_t module, uint64_t time_ns);

/* An id for a thread. */
uint32_t vg_writer_thread_id(struct vg_writer *writer);

/* A second record with the same id is the same thread: the next sample counts from the thread's creation. */
int vg_writer_thread(struct vg_writer *writer, const struct vg_thread *thread, const char *name);
int vg_writer_thread_name(struct vg_writer *writer, uint32_t thread, uint64_t time_ns,
			  const char *name);
int vg_writer_thread_end(struct vg_writer *writer, uint32_t thread, uint64_t time_ns);

/* parent is a stack id or, for a root frame, an enum vg_walk_end.  module is VG_NONE if it is unknown. */
int vg_writer_stack(struct vg_writer *writer, uint32_t id, uint32_t parent, uint32_t module,
		    uint64_t address, enum vg_found_by found_by);

struct vg_writer_sample {
	uint32_t thread;
	uint32_t stack;              /* a stack id or, for an empty stack, an enum vg_walk_end */
	uint32_t count;              /* number of samples that this record stands for; time_ns is the time of the last
	                                one */
	uint64_t time_ns, wall_ns, cpu_ns;
	uint64_t interval;           /* token of the thread's innermost open interval; 0: none */
};

/* Samples of one thread must be in the order of their times. */
int vg_writer_sample(struct vg_writer *writer, const struct vg_writer_sample *sample);

/* A string of the program, truncated to VG_LABEL_MAX_BYTES. */
int vg_writer_label(struct vg_writer *writer, uint32_t id, const char *text, size_t length);

struct vg_writer_event {
	enum vg_event_type type;
	uint32_t thread;
	uint32_t kind, label;        /* ids of labels, or VG_NONE */
	uint64_t time_ns;
	uint64_t value;              /* an int64_t for a counter */
	uint64_t token, parent;      /* 0: none.  If `parent` is set, `token` must be set */
};

/* Events of one thread must be in the order of their times. */
int vg_writer_event(struct vg_writer *writer, const struct vg_writer_event *event);

struct vg_writer_perf_counters {
	uint32_t thread, count;
	uint64_t time_ns;            /* at or after the thread's latest sample */
	uint64_t values[VG_PERF_COUNTERS_MAX]; /* in the order of the header's names */
};

/* The growth of the thread's perf counters since its previous reading.  Write it after the samples that the reading
 * covers. */
int vg_writer_perf_counters(struct vg_writer *writer, const struct vg_writer_perf_counters *reading);

/* From time_ns on, samples are due every period_ns. */
int vg_writer_rate(struct vg_writer *writer, uint64_t time_ns, uint64_t period_ns);

/* Writes the totals since the recording began: a reader uses only the last record of each kind.  `kind` is
 * VG_RECORD_LOST or VG_RECORD_STATS. */
int vg_writer_counts(struct vg_writer *writer, enum vg_record kind, const struct vg_named_value *counts, size_t count);

/* Writes nothing if there are no pauses. */
int vg_writer_pauses(struct vg_writer *writer, const struct vg_pauses *pauses);

/* Writes the end record and flushes.  After a failure this function still tries to write the end record, so that the
 * file contains the reason why the recording ended.  In this case one sequence number is missing before the
 * chunk of the end record.  Returns the first failure, or 0. */
int vg_writer_end(struct vg_writer *writer, const char *reason, uint64_t time_ns,
		  const struct vg_named_value *totals, size_t count);

int vg_writer_function(struct vg_writer *writer, uint32_t id, const char *name, const char *file,
		       uint32_t module);
int vg_writer_symbol(struct vg_writer *writer, uint32_t module, uint64_t address,
		     const struct vg_symbol_line *lines, size_t count);
/* address is absolute. */
int vg_writer_jit_code(struct vg_writer *writer, uint64_t address, uint64_t size_bytes,
		   const char *name);
int vg_writer_unresolved(struct vg_writer *writer, uint32_t module);

/* The name of a kernel function.  Frames of `module` have the number in place of an address. */
int vg_writer_kernel_symbol(struct vg_writer *writer, uint32_t module, uint32_t number, const char *name);

/* Copies a record of another profile unchanged.  The caller copies all records of a chunk, and calls vg_writer_flush()
 * before the first and after the last record. */
int vg_writer_copy(struct vg_writer *writer, const void *record, size_t length);

/* Writes that records are missing here, because `bytes` bytes were damaged. */
int vg_writer_gap(struct vg_writer *writer, uint64_t bytes);

/* True if the size limit leaves room only for the last records: rests of weights, ends of threads, statistics, and the
 * end record.  The caller then ends the recording.  If it writes on, records are left out. */
enum { VG_WRITER_RESERVE_BYTES = 16 * 1024 };
bool vg_writer_full(const struct vg_writer *writer);

/* Writes the current chunk, with one write(2) if the kernel takes all of it. */
int vg_writer_flush(struct vg_writer *writer);

/* Frees memory.  Does not flush, and does not close the descriptor. */
void vg_writer_close(struct vg_writer *writer);

#endif
