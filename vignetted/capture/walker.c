/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/walker.h"

#include <errno.h>

#include "base/clock.h"

/* Snapshots shrink to what the walks between two looks needed, in steps. */
enum { SNAPSHOT_FIT_EVERY = 32, SNAPSHOT_STEP_BYTES = 2048 };

/* A walk of so much takes long, whoever has the CPU. */
enum { LONG_WALK_BYTES = 128 * 1024 };

/* Fourteen times what any sample of the programs of tests/recording/complete.sh takes: 76,000 words of clang++ where
 * libunwind does all walks; else 42,000 of clang++, 22,000 of node, 19,000 of openssl and 17,000 of python3.  So much of
 * the costliest unwind information that we know (tests/fixtures/endless.c) takes 35 ms to read. */
enum { SAMPLE_WORDS_MAX = 1 << 20 };

/* After the maps were read in vain, so many times as long without: 5% of the time at most. */
enum { MAPS_REST = 19 };

int vg_walker_open(struct vg_walker *walker)
{
	return vg_unwinder_open(&walker->unwinder, walker->modules);
}

void vg_walker_close(struct vg_walker *walker)
{
	vg_unwinder_free(walker->unwinder);
	vg_snapshot_free(&walker->snapshot);
	vg_walk_free(&walker->walk);
}

void vg_walker_round(struct vg_walker *walker)
{
	walker->maps_fresh = false;
	vg_modules_doubt(walker->modules);
}

/* A thread that has ended shows no memory, and the first one may end before the others. */
static void memory_follow(struct vg_walker *walker)
{
	const struct vg_tasks *tasks = walker->tasks;

	for (size_t i = 0; i < tasks->live.count && !vg_task_is_alive(tasks, walker->memory->pid); i++)
		walker->memory->pid = tasks->live.items[i].tid;
}

void vg_walker_maps_read(struct vg_walker *walker)
{
	if (walker->maps_fresh)
		return;
	walker->maps_fresh = true;
	walker->maps_reads++;
	vg_priority_rest(walker->priority);
	memory_follow(walker);
	vg_modules_refresh(walker->modules);
}

void vg_walker_allow(struct vg_walker *walker)
{
	walker->memory->words_left = SAMPLE_WORDS_MAX;
}

static int walk_once(struct vg_walker *walker)
{
	return vg_unwind(walker->unwinder, &walker->snapshot, walker->max_frames, &walker->walk);
}

static int walk_again(struct vg_walker *walker)
{
	vg_walker_maps_read(walker);
	return walk_once(walker);
}

static int walk(struct vg_walker *walker)
{
	uint64_t since_ns;
	int rc;

	if (walker->snapshot.stack_bytes >= LONG_WALK_BYTES)
		vg_priority_rest(walker->priority);
	rc = walk_once(walker);
	since_ns = vg_now_ns();

	/* What the walk went through may be gone, or something else be there. */
	if (rc == 0 && !walker->maps_fresh &&
	    !vg_modules_hold(walker->modules, walker->walk.frames, walker->walk.count))
		rc = walk_again(walker);
	/* Something was loaded since the maps were read. */
	if (rc == 0 && walker->walk.left_the_map && !walker->maps_fresh && since_ns >= walker->maps_again_ns) {
		rc = walk_again(walker);
		/* Or nothing was: code without unwind information leads anywhere, at every sample,
		 * and the maps may be long. */
		if (walker->walk.left_the_map)
			walker->maps_again_ns = vg_now_ns() + MAPS_REST * (vg_now_ns() - since_ns);
	}
	return rc;
}

bool vg_walker_enlarge(const struct vg_walker *walker, struct vg_task *task)
{
	if (walker->walk.end != VG_WALK_SNAPSHOT ||
	    task->copy.bytes >= VG_SNAPSHOT_MAX_BYTES ||
	    walker->snapshot.stack_bytes < task->copy.bytes)
		return false;
	task->copy.bytes *= 4;
	if (task->copy.bytes > VG_SNAPSHOT_MAX_BYTES)
		task->copy.bytes = VG_SNAPSHOT_MAX_BYTES;
	return true;
}

/* Copies no more than the thread's latest walks needed, twice over: each page that is copied makes
 * a pause longer. */
static void snapshot_fit(const struct vg_walker *walker, struct vg_task *task)
{
	size_t needed_bytes = walker->walk.stack_bytes, fit_bytes;

	if (needed_bytes > walker->snapshot.stack_bytes)
		needed_bytes = walker->snapshot.stack_bytes;
	if (needed_bytes > task->copy.needed_bytes)
		task->copy.needed_bytes = needed_bytes;
	if (++task->copy.walks % SNAPSHOT_FIT_EVERY != 1)
		return;
	fit_bytes = (2 * task->copy.needed_bytes + SNAPSHOT_STEP_BYTES) / SNAPSHOT_STEP_BYTES *
		    SNAPSHOT_STEP_BYTES;
	if (fit_bytes < task->copy.bytes)
		task->copy.bytes = fit_bytes;
	task->copy.needed_bytes = 0;
}

int vg_walker_walk(struct vg_walker *walker, struct vg_task *task)
{
	int rc = walk(walker);

	if (rc == 0 && vg_walker_enlarge(walker, task))
		return -EAGAIN;
	if (rc == 0)
		snapshot_fit(walker, task);
	return rc;
}
