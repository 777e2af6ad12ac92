/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/walking.h"

#include "base/clock.h"

/* Snapshots shrink to what the walks between two looks needed, in steps. */
enum { SNAPSHOT_FIT_EVERY = 32, SNAPSHOT_STEP_BYTES = 2048 };

/* A walk of so much takes long, whoever has the CPU. */
enum { LONG_WALK_BYTES = 128 * 1024 };

/* Fourteen times what any sample of the programs of tests/complete.sh takes: 76,000 words of clang++ where libunwind does
 * all walks; else 42,000 of clang++, 22,000 of node, 19,000 of openssl and 17,000 of python3.  So much of the costliest
 * unwind information that we know (tests/fixtures/endless.c) takes 35 ms to read. */
enum { SAMPLE_WORDS_MAX = 1 << 20 };

/* After the maps were read in vain, so many times as long without: 5% of the time at most. */
enum { MAPS_REST = 19 };

/* A thread that has ended shows no memory, and the first one may end before the others. */
static void memory_follow(struct vg_session *session)
{
	for (size_t i = 0; i < session->tasks.live.count &&
	     !vg_task_is_alive(&session->tasks, session->memory.pid); i++)
		session->memory.pid = session->tasks.live.items[i].tid;
}

void vg_walk_modules(struct vg_session *session, uint64_t now_ns)
{
	if (session->maps_fresh)
		return;
	session->maps_fresh = true;
	session->maps_reads++;
	vg_priority_rest(&session->tracer.priority);
	memory_follow(session);
	if (vg_modules_refresh(&session->modules) != 0)
		return;
	VG_EACH_RECORDING(i, session->live)
		vg_recorder_unloads(&session->recordings[i].recorder,
				    vg_recording_time_ns(&session->recordings[i], now_ns));
}

void vg_walk_allow(struct vg_session *session)
{
	session->memory.words_left = SAMPLE_WORDS_MAX;
}

static int walk_once(struct vg_session *session)
{
	return vg_unwind(session->unwinder, &session->snapshot, session->max_frames, &session->walk);
}

static int walk_again(struct vg_session *session, uint64_t now_ns)
{
	vg_walk_modules(session, now_ns);
	return walk_once(session);
}

int vg_walk_snapshot(struct vg_session *session, uint64_t now_ns)
{
	uint64_t since_ns;
	int rc;

	if (session->snapshot.stack_bytes >= LONG_WALK_BYTES)
		vg_priority_rest(&session->tracer.priority);
	rc = walk_once(session);
	since_ns = vg_now_ns();

	/* What the walk went through may be gone, or something else be there. */
	if (rc == 0 && !session->maps_fresh &&
	    !vg_modules_hold(&session->modules, session->walk.frames, session->walk.count))
		rc = walk_again(session, now_ns);
	/* Something was loaded since the maps were read. */
	if (rc == 0 && session->walk.left_the_map && !session->maps_fresh &&
	    since_ns >= session->maps_again_ns) {
		rc = walk_again(session, now_ns);
		/* Or nothing was: code without unwind information leads anywhere, at every sample,
		 * and the maps may be long. */
		if (session->walk.left_the_map)
			session->maps_again_ns = vg_now_ns() + MAPS_REST * (vg_now_ns() - since_ns);
	}
	return rc;
}

bool vg_walk_grow(struct vg_session *session, struct vg_task *task)
{
	if (session->walk.end != VG_WALK_SNAPSHOT ||
	    task->snapshot_bytes >= VG_SNAPSHOT_MAX_BYTES ||
	    session->snapshot.stack_bytes < task->snapshot_bytes)
		return false;
	task->snapshot_bytes *= 4;
	if (task->snapshot_bytes > VG_SNAPSHOT_MAX_BYTES)
		task->snapshot_bytes = VG_SNAPSHOT_MAX_BYTES;
	return true;
}

/* Copies no more than the thread's latest walks needed, twice over: each page that is copied makes
 * a pause longer. */
void vg_walk_fit(struct vg_session *session, struct vg_task *task)
{
	size_t needed_bytes = session->walk.stack_bytes, fit_bytes;

	if (needed_bytes > session->snapshot.stack_bytes)
		needed_bytes = session->snapshot.stack_bytes;
	if (needed_bytes > task->needed_bytes)
		task->needed_bytes = needed_bytes;
	if (++task->walks % SNAPSHOT_FIT_EVERY != 1)
		return;
	fit_bytes = (2 * task->needed_bytes + SNAPSHOT_STEP_BYTES) / SNAPSHOT_STEP_BYTES *
		    SNAPSHOT_STEP_BYTES;
	if (fit_bytes < task->snapshot_bytes)
		task->snapshot_bytes = fit_bytes;
	task->needed_bytes = 0;
}
