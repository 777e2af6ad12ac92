/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_RECORDER_H
#define VG_VIGNETTED_RECORDER_H

#include "base/intern.h"
#include "profile/writer.h"
#include "vignetted/target/kernel_symbols.h"
#include "vignetted/target/modules.h"
#include "vignetted/unwind/walk.h"

/* Why a sample that was due was not taken. */
enum vg_loss {
	VG_LOSS_TICK_SKIPPED,        /* the helper was late by one sampling period or more */
	VG_LOSS_NOT_STOPPED,         /* the thread did not stop in time, or an earlier thread still has not stopped */
	VG_LOSS_FORBIDDEN,           /* another tracer has the thread, or a policy forbids tracing */
	VG_LOSS_UNREADABLE,          /* registers, stack or /proc could not be read */
	VG_LOSS_NO_MEMORY,           /* the helper has no memory */
	VG_LOSS_RING_FULL,           /* the helper was late to fetch timer samples */
	VG_LOSS_ROUND_TIMEOUT,       /* the round took too long, and ended before this thread */
	VG_LOSS_UNMATCHED,           /* a timer sample of an unknown thread, or with an impossible time */
	VG_LOSS_THREAD_LIMIT,        /* the thread is beyond the limit of threads */
	VG_LOSSES,
};

/* Totals since the recording began. */
struct vg_losses {
	uint64_t samples[VG_LOSSES];
	uint64_t events;             /* of the program */
};

/* Writes how much the losses have grown since `before`; NULL: since the recording began. */
int vg_losses_write(struct vg_writer *writer, const struct vg_losses *losses, const struct vg_losses *before);

/* A node of the stack table.  `zero` is 0, because all bytes of the struct are hashed. */
struct vg_stack_key {
	uint64_t address;
	uint32_t parent, module, found, zero;
};

/* By number: what is already in the profile. */
struct vg_reported {
	bool *items;
	size_t count, capacity;
};

/* What the profile has of a module.  All zero: nothing. */
struct vg_reported_module {
	bool is_reported;            /* a stack has named it */
	bool is_unloaded;
	uint64_t load_ns, unload_ns; /* as in the profile */
	uint32_t restarts;           /* vg_recorder.restarts when it was last written */
};

/*
 * Turns walks into the profile's stack table, and writes the modules that the stacks name, the counts and the end.  The
 * caller writes the samples.  Memory is bounded: when the stack table is full, a new one begins, and stacks are written
 * again.
 *
 *     vg_recorder_open(&recorder, fd, limit_bytes, memory_bytes, modules);
 *     rc = vg_recorder_stack(&recorder, &walk, -1, time_ns, &stack);
 *     ...                                      vg_writer_sample(&recorder.writer, ...) with that stack
 *     rc = vg_recorder_finish(&recorder, "reason", time_ns);
 *     vg_recorder_free(&recorder);
 */
struct vg_recorder {
	struct vg_writer writer;
	struct vg_modules *modules;  /* the session's */
	const struct vg_kernel_symbols *kernel; /* the session's; NULL: no walk has kernel frames */
	VG_ARRAY(struct vg_reported_module) reported_modules;
	uint32_t restarts;           /* calls of vg_recorder_restart() */
	struct vg_reported reported_kernel_modules, reported_kernel_symbols; /* by number in `kernel` */
	struct vg_intern stacks;     /* struct vg_stack_key -> id - first_stack */
	uint32_t first_stack;        /* the first id in the table */
	struct vg_intern stacks_before; /* during a restart: the table before, */
	uint32_t first_before;       /* and its first id */
	uint32_t stacks_max;         /* the most stacks in the table */
	uint32_t stacks_generation;  /* number of earlier tables */
	uint64_t samples, stacks_complete, samples_repeated;
	int64_t merged_ns;           /* wall time of samples, minus one sampling period for each sample */
	uint64_t cpu_ns;             /* CPU time in samples */
	uint64_t reads_without_stop, copies_discarded;
	struct vg_losses losses;
	uint32_t threads;
};

/* limit_bytes: of the file; 0: none.  The stack table gets a share of memory_bytes, which is the memory that the helper
 * may use in all; it also has a fixed limit. */
void vg_recorder_open(struct vg_recorder *recorder, int fd, uint64_t limit_bytes, uint64_t memory_bytes,
		      struct vg_modules *modules);
void vg_recorder_free(struct vg_recorder *recorder);

/* Sets *stack to the id of the walk's stack.  If `call` is not -1, the thread waits in that system call, and the stack
 * gets a leaf frame for it.  If the stack is new, writes the modules that the stack names, then the stack.  Returns
 * 0 or a negative errno. */
int vg_recorder_stack(struct vg_recorder *recorder, const struct vg_walk *walk, int64_t call,
		      uint64_t time_ns, uint32_t *stack);

/* Forgets which stacks and modules are in the profile: they are written again when they occur again.  Until
 * vg_recorder_restart_end(), vg_recorder_stack_again() writes a stack of the table before again, at time_ns, and sets
 * *stack to its new id.  It returns 0, or a negative errno with *stack unchanged. */
void vg_recorder_restart(struct vg_recorder *recorder);
int vg_recorder_stack_again(struct vg_recorder *recorder, uint64_t time_ns, uint32_t *stack);
void vg_recorder_restart_end(struct vg_recorder *recorder);

/* Writes which modules were unloaded since the latest call. */
int vg_recorder_unloads_write(struct vg_recorder *recorder, uint64_t time_ns);

/* Writes the end of the profile. */
int vg_recorder_finish(struct vg_recorder *recorder, const char *reason, uint64_t time_ns);

/* The number of lost samples. */
uint64_t vg_recorder_lost(const struct vg_recorder *recorder);

#endif
