/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_WALKER_H
#define VG_VIGNETTED_WALKER_H

#include "vignetted/capture/priority.h"
#include "vignetted/target/tasks.h"
#include "vignetted/unwind/unwind.h"

/*
 * Walks the stacks that are copied from the process's threads, with the modules that the process had at the time of the
 * copy.  If a walk shows that /proc/PID/maps (the maps) has changed, reads the maps again, at most once a round.
 *
 *     vg_walker_begin(&walker);
 *     do {
 *             ...                              fills walker.snapshot, with task->copy.bytes of the stack
 *             rc = vg_walker_walk(&walker, task);
 *     } while (rc == -EAGAIN);
 */
struct vg_walker {
	struct vg_unwinder *unwinder; /* owned */
	struct vg_modules *modules;  /* modules, memory, tasks and priority are the session's */
	struct vg_memory *memory;
	struct vg_tasks *tasks;
	struct vg_priority *priority; /* lowered before long work */
	uint32_t max_frames;         /* the most frames that any recording wants */
	struct vg_snapshot snapshot; /* what is walked; the caller fills it */
	struct vg_walk walk;         /* the latest walk */
	bool other_stack_retried;    /* this sample was copied again, to get the stack that a signal interrupted */
	bool maps_current;           /* the maps were read in this round */
	uint64_t maps_reads;         /* how often the maps were read */
	uint32_t confirmed;          /* frames of the latest walk whose modules are proven to have been loaded */
	uint64_t maps_retry_ns;      /* CLOCK_MONOTONIC; before this time, unknown code is no reason to read the maps */
};

/* The caller has set modules, memory, tasks and priority.  Returns 0 or a negative errno; call vg_walker_close() in
 * both cases. */
int vg_walker_open(struct vg_walker *walker);
void vg_walker_close(struct vg_walker *walker);

/* Begins a round: the modules may have changed. */
void vg_walker_round(struct vg_walker *walker);

/* Reads the maps, unless they were already read in this round. */
void vg_walker_maps_read(struct vg_walker *walker);

/* Begins a sample.  Limits how much unwind information and code all walks of the sample together may read: the process
 * chooses these bytes, and a DWARF expression may be an endless loop.  If the sample reads the maps, which happens at
 * most once a round, it may read as much again. */
void vg_walker_begin(struct vg_walker *walker);

/* Whether the latest walk reached a stack that was not copied.  A signal handler may run on an alternate stack, and the
 * stack that the signal interrupted is then missing. */
bool vg_walker_needs_other_stack(const struct vg_walker *walker);

/*
 * Walks the snapshot, which was taken of `task`.  Reads the maps again if the walk reaches unknown code.  The walk ends
 * at the first frame for which it is not known which module was loaded at the snapshot's moment.  Adapts the size of
 * the thread's later copies.
 *
 * Returns 0, -ENOMEM, or -EAGAIN.  After -EAGAIN the caller copies again, as task->copy says.  -EAGAIN has one of three
 * reasons: the copy was too short; the copy lacked the stack that a signal interrupted; a module of the walk was
 * unloaded between the copy and the walk.  The third reason occurs only if the copy was made for this walk
 * (VG_EVIDENCE_MARKS): the stack of an older copy no longer exists, and cannot be copied again.
 */
int vg_walker_walk(struct vg_walker *walker, struct vg_task *task);

/* Call it after other code has changed walker->walk.  Ends the walk at the first frame whose module is not
 * confirmed. */
void vg_walker_confirm(struct vg_walker *walker);

/* Adds a mapping that the kernel recorded.  Records must come in order of time.  Reads the maps if no known module has
 * the mapping. */
void vg_walker_mapping_take(struct vg_walker *walker, const struct vg_mapping *mapping);

/* Enlarges task->copy.bytes if the latest walk reached the end of the copy and a larger copy is possible.  Returns
 * whether it did. */
bool vg_walker_copy_enlarge(const struct vg_walker *walker, struct vg_task *task);

#endif
