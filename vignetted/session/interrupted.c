/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/interrupted.h"

#include "base/clock.h"
#include "vignetted/session/account.h"
#include "vignetted/session/walking.h"
#include "vignetted/unwind/code.h"

/* How far interrupts may be behind: each of a thread's CPUs has a timer of its own, and what the
 * scheduler says is as old as its tick. */
enum { BEHIND_PERIODS = 4, BEHIND_NS = 10 * 1000 * 1000 };

/* Where the kernel's code is not sampled, being behind is nothing unusual, and stops make up for it. */
enum { USER_BEHIND_PERIODS = 2, USER_BEHIND_NS = 4 * 1000 * 1000 };

/* Timers of CPUs meet a thread at random, and what they tell is made up to what it used (account.c): on a CPU that
 * has none it is so far behind. */
enum { WIDE_BEHIND_PERIODS = 16 };

/* As long as what else a round does may take. */
enum { FETCH_MAX_NS = 1000 * 1000 * 1000 };

/* Where interrupts copy too little, so many are passed over before another is looked at. */
enum { MEAGRE_EVERY = 64 };

bool vg_interrupted_covers(const struct vg_session *session, const struct vg_recording *recording,
			   struct vg_task *task, uint64_t cpu_ns)
{
	uint64_t period_ns, behind_ns;

	if (!session->interrupts.enabled || task->interrupts_of == 0 || task->meagre ||
	    session->all_now || recording->options.period_ns < session->timers_ns)
		return false;
	period_ns = vg_recording_period_ns(session, recording);
	behind_ns = session->interrupts.wide ?
		    WIDE_BEHIND_PERIODS * session->interrupts.period_ns + BEHIND_NS :
		    session->interrupts.user_only ? USER_BEHIND_PERIODS * period_ns + USER_BEHIND_NS :
		    BEHIND_PERIODS * period_ns + BEHIND_NS;
	if (cpu_ns <= task->accounts[recording->index].cpu_ns + behind_ns)
		return true;
	/* Not each time anew: a stop tells what the thread has used, and it would seem to be covered again. */
	if (session->interrupts.wide)
		task->interrupts_of = 0;
	return false;
}

/* Walks with as much of the stack as the thread's walks needed before, then with all there is. */
static int interrupt_walk(struct vg_session *session, struct vg_task *task,
			  const struct vg_interrupt *interrupt, uint64_t now_ns)
{
	size_t want_bytes = task->snapshot_bytes;
	int rc;

	do {
		rc = vg_interrupts_snapshot(&session->interrupts, interrupt, want_bytes,
					    &session->snapshot);
		if (rc == 0)
			rc = vg_walk_snapshot(session, now_ns);
		if (rc != 0 || session->walk.end != VG_WALK_SNAPSHOT)
			break;
		want_bytes *= 4;
	} while (session->snapshot.stack_bytes < interrupt->stack_bytes);
	if (rc != 0)
		return rc;
	if (want_bytes > task->snapshot_bytes)
		task->snapshot_bytes = want_bytes;
	vg_walk_fit(session, task);
	/* The stack is too deep; or the leaf keeps something below its stack pointer, where the kernel
	 * copies nothing and a stop does. */
	task->meagre = session->walk.end == VG_WALK_SNAPSHOT ||
		       (session->walk.end == VG_WALK_BAD_CFA && session->walk.count == 1);
	session->meagre_seen |= task->meagre;
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
static struct vg_task *interrupt_task(struct vg_session *session,
				      const struct vg_interrupt *interrupt, struct fetch *fetch)
{
	struct vg_task *task;

	task = task_begun(session, interrupt->tid, &fetch->hint);
	if (task == NULL && !fetch->scanned) {
		fetch->scanned = session->tasks.stale = true;
		vg_session_scan(session);
		task = task_begun(session, interrupt->tid, &fetch->hint);
	}
	if (task == NULL) {
		/* It has come and gone, or is one too many, which is counted elsewhere. */
		VG_EACH_RECORDING(i, session->live)
			session->recordings[i].recorder.lost[VG_LOSS_UNREADABLE] += session->tasks.over == 0;
		return NULL;
	}
	/* A CPU's timer has met it, which may have gone where there is none; or its own, just before there were those. */
	if (session->interrupts.wide) {
		task->interrupts_of = VG_INTERRUPTS_CPUS;
		return task->untraceable ? NULL : task;
	}
	/* A thread that was made while we covered its maker may have events twice. */
	if (task->interrupts_of == 0)
		task->interrupts_of = interrupt->owner;
	return task->interrupts_of == interrupt->owner && !task->untraceable ? task : NULL;
}

/* Those recordings for which a sample of the thread is due: slower ones, or where a budget makes them
 * so, pass some over. */
static vg_recording_set interrupt_due(struct vg_session *session, struct vg_task *task,
				      uint64_t time_ns)
{
	uint64_t each_ns = session->interrupts.period_ns;
	bool passed = task->meagre && session->interrupts.taken % MEAGRE_EVERY != 0;
	vg_recording_set due = 0;

	VG_EACH_RECORDING(i, session->live & task->begun) {
		const struct vg_recording *recording = &session->recordings[i];
		struct vg_account *account = &task->accounts[i];

		if (recording->options.period_ns < session->timers_ns || time_ns < recording->begin_ns)
			continue;        /* not its own; or from before it */
		account->interrupts_ns = passed ? 0 : account->interrupts_ns + each_ns;
		if (!passed && account->interrupts_ns + each_ns / 2 >=
		    vg_recording_period_ns(session, recording))
			due |= 1u << i;
	}
	return due;
}

static void interrupt_take(struct vg_session *session, const struct vg_interrupt *interrupt,
			   struct fetch *fetch)
{
	struct vg_task *task = interrupt_task(session, interrupt, fetch);
	vg_recording_set due;
	uint64_t time_ns;
	int64_t call = -1;

	if (task == NULL || interrupt->time_ns < session->begin_ns)
		return;
	due = interrupt_due(session, task, interrupt->time_ns);
	if (due == 0)
		return;
	vg_walk_allow(session);
	task->interrupted_ns = time_ns = interrupt->time_ns - session->begin_ns;
	if (interrupt_walk(session, task, interrupt, time_ns) != 0) {
		VG_EACH_RECORDING(i, due)
			session->recordings[i].recorder.lost[VG_LOSS_NO_MEMORY]++;
		return;
	}
	if (interrupt->in_kernel)
		call = vg_code_syscall(&session->memory, vg_regs_pc(&interrupt->regs));
	task->ran = true;
	if (time_ns > session->events.drained_ns)
		vg_session_events(session);
	session->interval = vg_events_interval_at(&session->events, task, time_ns);
	VG_EACH_RECORDING(i, due) {
		if (!task->meagre)
			vg_account_interrupt(session, &session->recordings[i], task, call, time_ns);
		task->accounts[i].interrupts_ns = 0;
	}
}

void vg_interrupted_fetch(struct vg_session *session)
{
	struct vg_interrupt interrupt;
	struct fetch fetch = { 0 };
	uint64_t now_ns = vg_now_ns();
	bool more = true;

	/* They come in the order of their times.  Where there are more, or more events between them, than
	 * we can keep up with, or walks of them take long, there would be no end to it: later ones have time until the
	 * next round. */
	while (more && session->live != 0 && vg_interrupts_next(&session->interrupts, &interrupt)) {
		more = interrupt.time_ns < now_ns && vg_now_ns() - now_ns < FETCH_MAX_NS;
		interrupt_take(session, &interrupt, &fetch);
		vg_priority_lower(&session->tracer.priority);
	}
}
