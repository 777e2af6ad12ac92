/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_RECORDER_H
#define VG_VIGNETTED_RECORDER_H

#include "base/intern.h"
#include "profile/writer.h"
#include "vignetted/target/modules.h"
#include "vignetted/unwind/walk.h"

/* Why a sample that was due was not taken. */
enum vg_loss {
	VG_LOSS_TICK_SKIPPED,        /* the helper was late by a whole period or more */
	VG_LOSS_NOT_STOPPED,         /* the thread, or one before it, did not stop in time */
	VG_LOSS_FORBIDDEN,           /* another tracer has the thread, or a policy forbids */
	VG_LOSS_UNREADABLE,          /* registers, stack or /proc could not be read */
	VG_LOSS_NO_MEMORY,           /* the helper's own */
	VG_LOSS_RING_FULL,           /* the helper was late to fetch the kernel's samples */
	VG_LOSS_OUT_OF_TIME,         /* the other threads had taken too long */
	VG_LOSS_THREAD_LIMIT,        /* more threads than are to be sampled */
	VG_LOSSES,
};

/* A node of the stack tree. */
struct vg_stack_key {
	uint64_t address;
	uint32_t parent, module, found, zero;
};

/*
 * Turns walks into the profile's stack tree and samples.  Memory is bounded: when the table of
 * stacks is full it starts afresh, and stacks seen again are written again.
 */
struct vg_recorder {
	struct vg_writer writer;
	struct vg_modules *modules;  /* the session's */
	VG_ARRAY(bool) announced;    /* by module: the profile has been told of it */
	struct vg_intern stacks;     /* struct vg_stack_key -> id - first_stack */
	uint32_t first_stack;        /* id of the table's first */
	uint32_t stacks_max;         /* in the table */
	uint32_t stacks_generation;  /* how often the table started afresh */
	uint64_t samples, stacks_complete, samples_repeated;
	uint64_t cpu_ns;             /* CPU time in samples */
	uint64_t reads_without_stop, copies_discarded;
	uint64_t lost[VG_LOSSES];
	uint64_t events_dropped;     /* the program's, not samples */
	uint32_t threads;
};

void vg_recorder_open(struct vg_recorder *recorder, int fd, uint64_t limit_bytes,
		      struct vg_modules *modules);

/* How much memory the helper may use in all; initially without limit. */
void vg_recorder_memory_limit(struct vg_recorder *recorder, uint64_t memory_bytes);

void vg_recorder_free(struct vg_recorder *recorder);

/* The stack id of a walk, below the system call that its thread waits in unless that is -1;
 * written if new.  Modules that it names are announced first. */
int vg_recorder_stack(struct vg_recorder *recorder, const struct vg_walk *walk, int64_t call,
		      uint64_t time_ns, uint32_t *stack);

/* Starts the table of stacks afresh before it is full. */
void vg_recorder_stacks_restart(struct vg_recorder *recorder);

/* Tells the profile of modules that are gone since the last call. */
int vg_recorder_unloads(struct vg_recorder *recorder, uint64_t time_ns);

/* Writes the losses and these statistics, as they are so far. */
int vg_recorder_counts(struct vg_recorder *recorder, const struct vg_named *more, size_t count);

/* Writes the end. */
int vg_recorder_finish(struct vg_recorder *recorder, const char *reason, uint64_t time_ns);

uint64_t vg_recorder_lost(const struct vg_recorder *recorder);

#endif
