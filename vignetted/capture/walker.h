/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_WALKER_H
#define VG_VIGNETTED_WALKER_H

#include "vignetted/capture/priority.h"
#include "vignetted/target/tasks.h"
#include "vignetted/unwind/unwind.h"

/*
 * Walks the stacks that are copied from the process's threads, with the modules that it has then.  Reads the
 * maps again where a walk shows that they have changed: once a round at most.
 */
struct vg_walker {
	struct vg_unwinder *unwinder; /* owned */
	struct vg_modules *modules;  /* the session's, as the next three are */
	struct vg_memory *memory;
	struct vg_tasks *tasks;
	struct vg_priority *priority; /* is lowered before what takes long */
	uint32_t max_frames;         /* the most that a recording wants */
	struct vg_snapshot snapshot; /* what is walked: filled by the caller */
	struct vg_walk walk;         /* the latest */
	bool maps_fresh;             /* the maps were read in this round */
	uint64_t maps_reads;         /* times that they were read, in all */
	uint64_t maps_again_ns;      /* CLOCK_MONOTONIC: not before, for a walk that left them */
};

/* The caller has set the pointers.  0 or a negative errno; vg_walker_close() is due either way. */
int vg_walker_open(struct vg_walker *walker);
void vg_walker_close(struct vg_walker *walker);

/* A round begins: what the modules were may no longer hold. */
void vg_walker_round(struct vg_walker *walker);

/* Reads the maps again, once a round.  Where maps_reads has changed, profiles are to be
 * told which modules are gone. */
void vg_walker_maps_read(struct vg_walker *walker);

/* Begins a sample: all its walks together may read so much of unwind information and code, and no more.  What these
 * hold is the process's choice, and an expression in them may be a loop. */
void vg_walker_allow(struct vg_walker *walker);

/* Walks the snapshot, which is of the thread; reads the maps again if that leaves them.  0; -EAGAIN: the copy of the stack was
 * too short, and task->copy.bytes is larger now: copy again; -ENOMEM.  Lets later snapshots of the thread be as long as
 * its walks need. */
int vg_walker_walk(struct vg_walker *walker, struct vg_task *task);

/* Whether the latest walk ran out of the copy, and a larger one can be had: then task->copy.bytes is larger. */
bool vg_walker_enlarge(const struct vg_walker *walker, struct vg_task *task);

#endif
