/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/walker.h"

#include <errno.h>

#include "base/clock.h"

/* After a thread's first walk, and then after every SNAPSHOT_LEARN_WALKS walks, its copies shrink to twice what these
 * walks needed, rounded up to a multiple of SNAPSHOT_STEP_BYTES. */
enum { SNAPSHOT_LEARN_WALKS = 32, SNAPSHOT_STEP_BYTES = 2048 };

/* Walking a copy of this size or more takes long, so the priority is lowered first. */
enum { LONG_WALK_BYTES = 128 * 1024 };

/* The most words (8 bytes) of unwind information and code that one sample reads before, and after, the maps are read
 * again.  This is 14 times what any sample of tests/recording/complete.sh needs: 76,000 words for clang++ if libunwind
 * does all walks, else 42,000.  Reading SAMPLE_WORDS_MAX words takes 35 ms with the costliest unwind information that
 * we know (tests/fixtures/endless.c). */
enum { SAMPLE_WORDS_MAX = 1 << 20 };

/* If reading the maps found nothing new, they are not read again for 19 times as long as the reading took.  So reading
 * takes at most 5 % of the time. */
enum { MAPS_PAUSE_FACTOR = 19 };

/* The most searches through all modules in one round: a process can map files tens of thousands of times in a round. */
enum { SEARCHES_MAX = 64 };

int vg_walker_open(struct vg_walker *walker)
{
	walker->snapshot.modules = walker->modules;
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
	walker->maps_current = false;
	walker->modules->searches_left = SEARCHES_MAX;
}

/* Sets memory->pid to the id of a live thread: an exited thread has no memory, and the first thread may exit before the
 * others. */
static void memory_thread_choose(struct vg_walker *walker)
{
	const struct vg_tasks *tasks = walker->tasks;

	for (size_t i = 0; i < tasks->live.count && !vg_task_is_alive(tasks, walker->memory->pid); i++)
		walker->memory->pid = tasks->live.items[i].tid;
}

void vg_walker_maps_read(struct vg_walker *walker)
{
	if (walker->maps_current)
		return;
	walker->maps_current = true;
	walker->maps_reads++;
	vg_priority_lower_now(walker->priority);
	memory_thread_choose(walker);
	vg_modules_refresh(walker->modules);
}

void vg_walker_begin(struct vg_walker *walker)
{
	walker->memory->words_left = SAMPLE_WORDS_MAX;
	walker->other_stack_retried = false;
	walker->snapshot.is_fenced = false;
}

/* Sets walker->confirmed: for how many frames the module is proven to have been loaded at the snapshot's moment. */
static void walk_confirm(struct vg_walker *walker)
{
	struct vg_walk *walk = &walker->walk;

	walker->confirmed = (uint32_t)vg_modules_confirm(walker->modules, walk->frames, walk->count);
	if (walker->confirmed < walk->count)
		vg_unwinder_walk_discard(walker->unwinder);
}

static int walk_once(struct vg_walker *walker)
{
	int rc = vg_unwind(walker->unwinder, &walker->snapshot, walker->max_frames, &walker->walk);

	if (rc == 0)
		walk_confirm(walker);
	return rc;
}

/* Ends the walk at the first frame that is not confirmed.  Keeps at least the leaf frame, then without its module. */
static void walk_end(struct vg_walker *walker)
{
	struct vg_walk *walk = &walker->walk;

	if (walker->confirmed >= walk->count)
		return;
	walk->end = VG_WALK_MODULE_UNLOADED;
	walk->count = walker->confirmed;
	if (walk->count == 0) {
		walk->frames[0].module = VG_NONE;
		walk->count = 1;
	}
}

void vg_walker_confirm(struct vg_walker *walker)
{
	walk_confirm(walker);
	walk_end(walker);
}

static int walk(struct vg_walker *walker)
{
	bool changed, unknown, fenced, read;
	uint64_t since_ns;
	int rc;

	if (walker->snapshot.stack_bytes >= LONG_WALK_BYTES)
		vg_priority_lower_now(walker->priority);
	rc = walk_once(walker);
	since_ns = vg_now_ns();
	if (rc != 0)
		return rc;

	/* changed: a module of the walk was unloaded or replaced.  unknown: the walk reached code that may have been
	 * loaded since the maps were read.  fenced: what ended the copy may be gone, and the stack may have its
	 * addresses. */
	changed = walker->confirmed < walker->walk.count;
	unknown = walker->walk.range_unknown && since_ns >= walker->maps_retry_ns;
	fenced = walker->snapshot.is_fenced && since_ns >= walker->maps_retry_ns &&
		 (walker->walk.end != VG_WALK_ROOT || walker->walk.stack_bytes > walker->snapshot.stack_bytes);
	read = !walker->maps_current && (changed || unknown || fenced);
	if (read) {
		vg_walker_maps_read(walker);
		/* The first walk may have used up what a sample may read, and this walk replaces it. */
		walker->memory->words_left = SAMPLE_WORDS_MAX;
		rc = walk_once(walker);
		/* If nothing new was loaded, do not read the maps at every sample: a stack without unwind information
		 * can lead to unknown code every time, and the maps may be long. */
		if (!changed && (walker->walk.range_unknown || fenced))
			walker->maps_retry_ns = vg_now_ns() + MAPS_PAUSE_FACTOR * (vg_now_ns() - since_ns);
	}
	if (rc == 0)
		walk_end(walker);
	if (rc == 0 && read && (fenced || walker->walk.end == VG_WALK_MODULE_UNLOADED) &&
	    walker->snapshot.moment.evidence == VG_EVIDENCE_MARKS)
		return -EAGAIN;
	return rc;
}

void vg_walker_mapping_take(struct vg_walker *walker, const struct vg_mapping *mapping)
{
	uint64_t since_ns;

	if (vg_modules_mapping_add(walker->modules, mapping) || walker->maps_current)
		return;
	since_ns = vg_now_ns();
	if (since_ns < walker->maps_retry_ns)
		return;
	vg_walker_maps_read(walker);
	/* The maps have no such module.  Do not read them again soon: a JIT compiler may map code from files all the
	 * time. */
	if (!vg_modules_mapping_add(walker->modules, mapping))
		walker->maps_retry_ns = vg_now_ns() + MAPS_PAUSE_FACTOR * (vg_now_ns() - since_ns);
}

bool vg_walker_copy_enlarge(const struct vg_walker *walker, struct vg_task *task)
{
	if (walker->walk.end != VG_WALK_TRUNCATED ||
	    task->copy.bytes >= VG_SNAPSHOT_MAX_BYTES ||
	    (walker->snapshot.stack_bytes < task->copy.bytes && walker->snapshot.other.bytes < task->copy.bytes))
		return false;
	task->copy.bytes *= 4;
	if (task->copy.bytes > VG_SNAPSHOT_MAX_BYTES)
		task->copy.bytes = VG_SNAPSHOT_MAX_BYTES;
	return true;
}

bool vg_walker_needs_other_stack(const struct vg_walker *walker)
{
	uint64_t ignored;

	return walker->walk.other_sp != 0 && vg_snapshot_word(&walker->snapshot, walker->walk.other_sp, &ignored) != 0;
}

/* Shrinks the thread's copies to twice what its latest walks needed: each copied page makes a pause longer. */
static void snapshot_size_learn(const struct vg_walker *walker, struct vg_task *task)
{
	size_t needed_bytes = walker->walk.stack_bytes, fit_bytes;

	if (needed_bytes > walker->snapshot.stack_bytes)
		needed_bytes = walker->snapshot.stack_bytes;
	if (needed_bytes > task->copy.needed_bytes)
		task->copy.needed_bytes = needed_bytes;
	if (++task->copy.walks % SNAPSHOT_LEARN_WALKS != 1)
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

	if (rc != 0)
		return rc;
	task->copy.other_sp = walker->walk.other_sp;
	/* Only once per sample: the thread runs between two stops, and may then be on yet another stack. */
	if (vg_walker_needs_other_stack(walker) && !walker->other_stack_retried) {
		walker->other_stack_retried = true;
		return -EAGAIN;
	}
	if (vg_walker_copy_enlarge(walker, task))
		return -EAGAIN;
	snapshot_size_learn(walker, task);
	return 0;
}
