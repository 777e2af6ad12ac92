/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/interrupted.h"

#include <sys/resource.h>
#include <time.h>

#include "vignetted/account.h"
#include "vignetted/code.h"
#include "vignetted/pacing.h"
#include "vignetted/walking.h"

/* How far interrupts may be behind: each of a thread's CPUs has a timer of its own, and what the
 * scheduler says is as old as its tick. */
enum { BEHIND_PERIODS = 4, BEHIND_NS = 10 * 1000 * 1000 };

/* Where the kernel's code is not sampled, being behind is nothing unusual, and stops make up for it. */
enum { USER_BEHIND_PERIODS = 2, USER_BEHIND_NS = 4 * 1000 * 1000 };

/* What an interrupt's timer adds to a thread's getting a CPU and losing it, and what more if both program
 * the CPU's timer (twice that, but a CPU that has nothing else to do programs it anyway); what a timer for
 * each CPU adds to a thread's being made and its end; and what a stop takes of a thread, with what our
 * waking for it takes of whoever has the CPU: measured on a virtual machine that had little to spare,
 * about.  Whichever is less is used. */
enum { SWITCH_NS = 300, PROGRAM_NS = 7500, INHERIT_NS = 20 * 1000, STOP_NS = 160 * 1000 };
/* Of a server that had a CPU of its own, by its throughput, a stop took up to 0.5 ms at 99 Hz: all requests
 * that it holds up come at once then.  Half of what programming takes such a CPU does anyway. */
enum { SELDOM = 32, SELDOM_NS = 320 * 1000, IDLE_PROGRAM_NS = PROGRAM_NS / 2 };
/* What a stop takes where we have a CPU that nobody else wants. */
enum { ROOMY_STOP_NS = 50 * 1000 };
static const uint64_t WEIGH_FIRST_NS = UINT64_C(60) * 1000 * 1000;
static const uint64_t WEIGH_EVERY_NS = UINT64_C(200) * 1000 * 1000;
/* Windows in which stops cost less, without one between in which they do not, until timers are halted
 * (a single burst of switches is borne) and closed; one in which they cost far less counts for more.
 * Halted timers cost a switch a fifth of what they did, or less, and a server that shares a CPU with its
 * client for a while goes back to one of its own: to open them takes some 10 us a thread and CPU.  But they are
 * made and freed with each thread all the same, so that where this is most of what they cost they run until new
 * threads have none any more, which the threads that a program starts with are not to bring about: but those
 * do not end at once. */
enum { DEAR_WINDOWS = 2, SHUT_WINDOWS = 25, NARROW_WINDOWS = 12, NARROW_ENDED = 500 };
enum { FAR_WORSE = 2, FAR_WORSE_WINDOWS = 3 };
enum { NOTICEABLE = 500, DEAR = 50 };

/* Of the memory that the helper may have: what it keeps of stacks is what little memory is for. */
enum { RINGS_SHARE = 8 };

/* New threads may be made while those that are known are being covered. */
enum { COVER_ROUNDS = 8 };

/* Where interrupts copy too little, so many are passed over before another is looked at. */
enum { MEAGRE_EVERY = 64 };

/* From now on what interrupts cost is counted anew. */
static void weighed_now(struct vg_session *session)
{
	session->weighed_ns = vg_now_ns();
	session->weighed_cpu_ns = session->target_cpu_ns;
	session->weighed_found = session->tasks.found;
	session->weighed_made = session->interrupts.made;
	session->weighed_count = session->tasks.live.count;
	session->weighed_stops = session->pauses.stops;
	session->switches = 0;
	session->looked_cpu_ns = 0;
}

static void events_open(struct vg_session *session, uint64_t period_ns)
{
	struct vg_interrupts *interrupts = &session->interrupts;
	struct vg_tasks *tasks = &session->tasks;
	struct rlimit memory;
	size_t covered = 0;

	vg_interrupts_close(interrupts);
	interrupts->max_bytes = session->max_memory_bytes;
	if (getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur < interrupts->max_bytes)
		interrupts->max_bytes = memory.rlim_cur;
	interrupts->max_bytes /= RINGS_SHARE;
	for (size_t i = 0; i < tasks->live.count; i++)
		tasks->live.items[i].interrupts_of = 0;
	for (int round = 0; round < COVER_ROUNDS && covered < tasks->live.count; round++) {
		size_t count = tasks->live.count;

		if (vg_interrupts_open(interrupts, tasks->live.items + covered, count - covered,
				       period_ns) != 0)
			break;
		covered = count;
		vg_tasks_scan(tasks);
	}
	/* One that came meanwhile has not begun. */
	tasks->stale = true;
	session->timers_shut = false;
	session->weigh_every_ns = WEIGH_FIRST_NS;
	session->dear_windows = session->making_windows = 0;
	weighed_now(session);
}

void vg_interrupted_follow(struct vg_session *session, uint64_t period_ns)
{
	if (session->stop_always)
		return;
	if (period_ns == 0) {
		vg_interrupts_close(&session->interrupts);
		session->timers_shut = false;
	} else if (session->timers_ns != period_ns ||
		   (session->interrupts.event_count == 0 && !session->timers_shut)) {
		events_open(session, period_ns);
	}
	session->timers_ns = period_ns;
	vg_pacing_adapt(session);
}

/* From now on new threads are stopped, or looked at; those that are there longest have timers still.  Where
 * these do not sample the kernel's code, which is nearly all that one does who makes threads, stops do. */
static void events_narrow(struct vg_session *session)
{
	struct vg_tasks *tasks = &session->tasks;
	struct vg_interrupts *interrupts = &session->interrupts;

	session->dear_windows = session->making_windows = 0;
	session->weigh_every_ns = WEIGH_FIRST_NS;
	if (interrupts->user_only)
		vg_interrupts_close(interrupts);
	else
		vg_interrupts_narrow(interrupts, tasks->live.items, tasks->live.count);
	for (size_t i = 0; i < tasks->live.count; i++) {
		struct vg_task *task = &tasks->live.items[i];

		task->interrupts_of = vg_interrupts_cover(interrupts, task->tid) ? task->tid : 0;
	}
}

/* Threads, since interrupts were weighed.  Those that live shorter than from one tick to the next are for
 * the most part not found; but the kernel tells of each, unless timers are halted. */
static uint64_t threads_made(const struct vg_session *session)
{
	if (session->interrupts.narrow)
		return 0;                /* they cost nothing */
	return session->interrupts.enabled ? session->interrupts.made - session->weighed_made :
					     session->tasks.found - session->weighed_found;
}

/* A CPU's timer is programmed for the earliest of all that are due on it: for ours, if what is left of its
 * period, which is as often much as little, is less than what is left until the scheduler's tick. */
static uint64_t switch_ns(uint64_t period_ns, bool idle)
{
	struct timespec tick = { .tv_nsec = 4000 * 1000 };
	uint64_t tick_ns, earliest_ns;

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	tick_ns = (uint64_t)tick.tv_nsec;
	earliest_ns = period_ns < tick_ns ? tick_ns - period_ns / 2 : tick_ns * tick_ns / 2 / period_ns;
	return SWITCH_NS + (idle ? IDLE_PROGRAM_NS : PROGRAM_NS) * earliest_ns / tick_ns;
}

static uint64_t stop_ns(const struct vg_session *session, bool idle)
{
	uint64_t seldom_ns = session->timers_ns / SELDOM;

	if (session->idle.is_roomy)
		return ROOMY_STOP_NS;
	return STOP_NS + (!idle ? 0 : seldom_ns < SELDOM_NS ? seldom_ns : SELDOM_NS);
}

/* The thread that leaves CPUs most. */
static const struct vg_task *switcher(const struct vg_session *session)
{
	const struct vg_task *most = NULL;
	uint64_t switches = 0;

	for (size_t i = 0; i < session->tasks.live.count; i++) {
		const struct vg_task *task = &session->tasks.live.items[i];
		uint64_t own = task->look.slices - task->weighed_slices;

		if (task->weighed_ns == 0 || own < switches)
			continue;
		switches = own;
		most = task;
	}
	return most;
}

/* Whether the CPUs that threads leave are idle then, where it matters; and whether one is free for us, where we
 * have stopped somebody. */
static bool leaves_idle(struct vg_session *session, uint64_t elapsed_ns)
{
	bool notice = session->switches * switch_ns(session->timers_ns, true) >= elapsed_ns / NOTICEABLE;
	const struct vg_task *most = NULL;
	bool idle;

	if (notice || session->pauses.stops != session->weighed_stops)
		most = switcher(session);
	if (most == NULL)
		return false;
	/* It reads files, which may be long ones. */
	vg_priority_rest(&session->tracer.priority);
	idle = vg_idle_look(&session->idle, most, vg_now_ns());
	vg_priority_room(&session->tracer.priority, session->idle.is_roomy);
	return notice && idle;
}

/* Timers run where stops do not cost less.  Those that have stood still for a while are not worth what they
 * cost even so; but a few threads' own are few. */
static void timers_follow(struct vg_session *session)
{
	struct vg_interrupts *interrupts = &session->interrupts;
	bool wanted = session->dear_windows < DEAR_WINDOWS;

	if (!interrupts->narrow && session->dear_windows >= SHUT_WINDOWS) {
		vg_interrupts_close(interrupts);
		session->timers_shut = true;
		session->dear_windows = DEAR_WINDOWS;
	} else if (interrupts->enabled != wanted) {
		vg_interrupts_enable(interrupts, wanted);
	}
}

/* Those that were closed come back when stops have cost more for a while; not where neither costs anything,
 * for to open them does. */
static void timers_return(struct vg_session *session, bool stops_cost_more)
{
	session->dear_windows = stops_cost_more ? session->dear_windows - 1 : DEAR_WINDOWS;
	if (session->dear_windows == 0)
		events_open(session, session->timers_ns);
}

void vg_interrupted_weigh(struct vg_session *session)
{
	struct vg_interrupts *interrupts = &session->interrupts;
	uint64_t elapsed_ns = vg_now_ns() - session->weighed_ns;
	uint64_t used_ns, switching_ns, making_ns, timers_ns, stopping_ns, made, new = 0;
	bool making, stops_cost_less, far_less, idle;
	uint32_t *windows;

	if (elapsed_ns < session->weigh_every_ns)
		return;
	idle = leaves_idle(session, elapsed_ns);
	if (interrupts->event_count == 0 && !session->timers_shut) {
		session->weigh_every_ns = WEIGH_EVERY_NS;
		vg_pacing_weigh(session);
		weighed_now(session);
		return;
	}
	/* Of those that live for long, where nothing else is sampled. */
	used_ns = interrupts->narrow ? session->looked_cpu_ns :
		  session->target_cpu_ns - session->weighed_cpu_ns;
	switching_ns = session->switches * switch_ns(session->timers_ns, idle);
	made = threads_made(session);
	if (session->tasks.live.count > session->weighed_count)
		new = session->tasks.live.count - session->weighed_count;
	making_ns = made * interrupts->ring_count * INHERIT_NS;
	timers_ns = switching_ns + making_ns;
	stopping_ns = used_ns / session->timers_ns * stop_ns(session, idle);
	far_less = timers_ns > FAR_WORSE * stopping_ns && timers_ns > elapsed_ns / DEAR;
	session->weigh_every_ns = far_less ? WEIGH_FIRST_NS : WEIGH_EVERY_NS;
	vg_pacing_weigh(session);
	weighed_now(session);
	if (session->timers_shut) {
		timers_return(session, stopping_ns > 2 * timers_ns && stopping_ns > elapsed_ns / NOTICEABLE);
		return;
	}
	/* Not back and forth, and not for what nobody would notice; nor for good for little more. */
	making = making_ns > switching_ns;
	stops_cost_less = (interrupts->enabled ? timers_ns : 2 * timers_ns) > stopping_ns &&
			  timers_ns > elapsed_ns / (making ? DEAR : NOTICEABLE);
	windows = making ? &session->making_windows : &session->dear_windows;
	*windows += making && far_less && made > new + NARROW_ENDED ? NARROW_WINDOWS :
		    far_less ? FAR_WORSE_WINDOWS : 1;
	if (!stops_cost_less)
		session->dear_windows = session->making_windows = 0;
	if (session->making_windows >= NARROW_WINDOWS)
		events_narrow(session);
	else
		timers_follow(session);
}

bool vg_interrupted_covers(const struct vg_session *session, const struct vg_recording *recording,
			   const struct vg_task *task, uint64_t cpu_ns)
{
	uint64_t period_ns, behind_ns;

	if (!session->interrupts.enabled || task->interrupts_of == 0 || task->meagre ||
	    session->all_now || recording->options.period_ns < session->interrupts.period_ns)
		return false;
	period_ns = vg_recording_period_ns(session, recording);
	behind_ns = session->interrupts.user_only ? USER_BEHIND_PERIODS * period_ns + USER_BEHIND_NS :
		    BEHIND_PERIODS * period_ns + BEHIND_NS;
	return cpu_ns <= task->accounts[recording->index].cpu_ns + behind_ns;
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

	/* Before Linux 5.13 children made by fork(2) inherit events too. */
	if (interrupt->pid != session->target.pid)
		return NULL;
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

		if (recording->options.period_ns < each_ns || time_ns < recording->begin_ns)
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
	 * we can keep up with, there would be no end to it: later ones have time until the next round. */
	while (more && session->live != 0 && vg_interrupts_next(&session->interrupts, &interrupt)) {
		more = interrupt.time_ns < now_ns;
		interrupt_take(session, &interrupt, &fetch);
		vg_priority_lower(&session->tracer.priority);
	}
}
