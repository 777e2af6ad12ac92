/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/timer_samples.h"

#include "vignetted/session/account.h"
#include "vignetted/session/recordings.h"
#include "vignetted/session/threads.h"
#include "vignetted/unwind/code.h"

/* How far timers may be behind: each of a thread's CPUs has one of its own, and what the scheduler says is as old as
 * its tick. */
enum { BEHIND_PERIODS = 4, BEHIND_NS = 10 * 1000 * 1000 };

/* Where the kernel's code is not sampled, being behind is nothing unusual, and stops make up for it. */
enum { USER_BEHIND_PERIODS = 2, USER_BEHIND_NS = 4 * 1000 * 1000 };

/* Timers of CPUs meet a thread at random, and their samples are made up to its CPU time (account.c): on a CPU that
 * has none it is so far behind. */
enum { CPUS_BEHIND_PERIODS = 16 };

/* As long as what else a round does may take. */
enum { FETCH_MAX_NS = 1000 * 1000 * 1000 };

/* Where timers copy too little of the stack, so many samples are passed over before another is walked. */
enum { TRUNCATED_EVERY = 64 };

bool vg_timer_samples_cover(const struct vg_session *session, const struct vg_recording *recording,
			    struct vg_task *task)
{
	const struct vg_timers *timers = &session->timers;
	uint64_t period_ns, behind_ns;

	if (!timers->interrupts.enabled || task->interrupts_of == 0 || task->meagre ||
	    session->round.all_now || recording->options.period_ns < timers->period_ns)
		return false;
	period_ns = vg_recording_period_ns(recording, vg_session_period_ns(session));
	behind_ns = timers->interrupts.wide ?
		    CPUS_BEHIND_PERIODS * timers->interrupts.period_ns + BEHIND_NS :
		    timers->interrupts.user_only ? USER_BEHIND_PERIODS * period_ns + USER_BEHIND_NS :
		    BEHIND_PERIODS * period_ns + BEHIND_NS;
	if (task->look.cpu_ns <= task->accounts[recording->index].cpu_ns + behind_ns)
		return true;
	/* Not each time anew: a stop reads what the thread has used, and it would seem to be covered again. */
	if (timers->interrupts.wide)
		task->interrupts_of = 0;
	return false;
}

/* Walks with as much of the stack as the thread's walks needed before, then with all there is. */
static int sample_walk(struct vg_session *session, struct vg_task *task, const struct vg_interrupt *sample)
{
	struct vg_walker *walker = &session->walker;
	size_t want_bytes = task->snapshot_bytes;
	int rc;

	do {
		rc = vg_interrupts_snapshot(&session->timers.interrupts, sample, want_bytes, &walker->snapshot);
		if (rc == 0)
			rc = vg_walker_walk(walker);
		if (rc != 0 || walker->walk.end != VG_WALK_SNAPSHOT)
			break;
		want_bytes *= 4;
	} while (walker->snapshot.stack_bytes < sample->stack_bytes);
	if (rc != 0)
		return rc;
	if (want_bytes > VG_SNAPSHOT_MAX_BYTES)
		want_bytes = VG_SNAPSHOT_MAX_BYTES;
	if (want_bytes > task->snapshot_bytes)
		task->snapshot_bytes = want_bytes;
	vg_walker_fit(walker, task);
	/* The stack is too deep; or the leaf keeps something below its stack pointer, where the kernel
	 * copies nothing and a stop does. */
	task->meagre = walker->walk.end == VG_WALK_SNAPSHOT ||
		       (walker->walk.end == VG_WALK_BAD_CFA && walker->walk.count == 1);
	session->pacing.stacks_truncated |= task->meagre;
	return 0;
}

/* One fetching. */
struct fetch {
	size_t hint;                 /* where to look for the next sample's thread */
	bool scanned;                /* for a thread that was not known */
};

/* NULL for one that no profile has been told of, too. */
static struct vg_task *task_begun(struct vg_session *session, pid_t tid, size_t *hint)
{
	struct vg_task *task = vg_tasks_find(&session->tasks, tid, hint);

	return task != NULL && task->begun != 0 ? task : NULL;
}

/* The thread that a sample is of, if it is one of ours and the sample is due. */
static struct vg_task *sample_task(struct vg_session *session, const struct vg_interrupt *sample, struct fetch *fetch)
{
	struct vg_task *task;

	task = task_begun(session, sample->tid, &fetch->hint);
	if (task == NULL && !fetch->scanned) {
		fetch->scanned = session->tasks.stale = true;
		vg_threads_scan(session);
		task = task_begun(session, sample->tid, &fetch->hint);
	}
	if (task == NULL) {
		/* It has come and gone, or is one too many, which is counted elsewhere. */
		VG_EACH_RECORDING(i, session->live)
			session->recordings[i].recorder.lost[VG_LOSS_UNREADABLE] += session->tasks.over == 0;
		return NULL;
	}
	/* A CPU's timer has met it, which may have gone where there is none; or its own, just before there were those. */
	if (session->timers.interrupts.wide) {
		task->interrupts_of = VG_INTERRUPTS_CPUS;
		return task->untraceable ? NULL : task;
	}
	/* A thread that was made while we covered its maker may have events twice. */
	if (task->interrupts_of == 0)
		task->interrupts_of = sample->owner;
	return task->interrupts_of == sample->owner && !task->untraceable ? task : NULL;
}

/* Those recordings for which a sample of the thread is due: slower ones, or where a budget makes them
 * so, pass some over. */
static vg_recording_set sample_due(struct vg_session *session, struct vg_task *task,
				      uint64_t time_ns)
{
	uint64_t each_ns = session->timers.interrupts.period_ns;
	bool passed = task->meagre && session->timers.interrupts.taken % TRUNCATED_EVERY != 0;
	vg_recording_set due = 0;

	VG_EACH_RECORDING(i, session->live & task->begun) {
		const struct vg_recording *recording = &session->recordings[i];
		struct vg_account *account = &task->accounts[i];

		if (recording->options.period_ns < session->timers.period_ns || time_ns < recording->begin_ns)
			continue;        /* not its own; or from before it */
		account->interrupts_ns = passed ? 0 : account->interrupts_ns + each_ns;
		if (!passed && account->interrupts_ns + each_ns / 2 >=
		    vg_recording_period_ns(recording, vg_session_period_ns(session)))
			due |= 1u << i;
	}
	return due;
}

static void sample_take(struct vg_session *session, const struct vg_interrupt *sample, struct fetch *fetch)
{
	struct vg_task *task = sample_task(session, sample, fetch);
	struct vg_taken taken = { .call = -1, .walk = &session->walker.walk };
	vg_recording_set due;
	int rc;

	if (task == NULL || sample->time_ns < session->begin_ns)
		return;
	due = sample_due(session, task, sample->time_ns);
	if (due == 0)
		return;
	vg_walker_allow(&session->walker);
	task->interrupted_ns = taken.time_ns = sample->time_ns - session->begin_ns;
	rc = sample_walk(session, task, sample);
	vg_recordings_unloads(session, taken.time_ns);
	if (rc != 0) {
		vg_recordings_lost(session, due, VG_LOSS_NO_MEMORY);
		return;
	}
	if (sample->in_kernel)
		taken.call = vg_code_syscall(&session->memory, vg_regs_pc(&sample->regs));
	task->ran = true;
	if (taken.time_ns > session->events.drained_ns)
		vg_recordings_events(session, false);
	taken.interval = vg_events_interval_at(&session->events, task, taken.time_ns);
	taken.waits_rarely_read = session->fetch_periods > 1;
	vg_account_renew(task);
	VG_EACH_RECORDING(i, due) {
		if (!task->meagre)
			vg_account_timer_sample(&session->recordings[i], task, &session->events, taken,
						session->timers.interrupts.wide);
		task->accounts[i].interrupts_ns = 0;
	}
}

void vg_timer_samples_fetch(struct vg_session *session)
{
	struct vg_interrupt sample;
	struct fetch fetch = { 0 };
	uint64_t now_ns = vg_now_ns();
	bool more = true;

	/* They come in the order of their times.  Where there are more, or more events between them, than
	 * we can keep up with, or walks of them take long, there would be no end to it: later ones have time until the
	 * next round. */
	while (more && session->live != 0 && vg_interrupts_next(&session->timers.interrupts, &sample)) {
		more = sample.time_ns < now_ns && vg_now_ns() - now_ns < FETCH_MAX_NS;
		sample_take(session, &sample, &fetch);
		vg_priority_lower(&session->tracer.priority);
	}
}
