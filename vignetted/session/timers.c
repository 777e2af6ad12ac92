/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/timers.h"

#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "vignetted/session/pacing.h"

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

/* What an interrupt of a CPU's timer takes of a machine that is at work on all CPUs, by its throughput; and what one
 * of each takes where CPUs are idle, which are what most of these wake.  Beyond so many CPUs a machine is others' for the most part.
 * What is cheaper than a share of the noticeable is worth no timers of CPUs.  Their period is another each second,
 * by a tenth in either direction. */
enum { INTERRUPT_NS = 40 * 1000, ROOMY_INTERRUPT_NS = 10 * 1000, WIDE_CPUS = 64, WIDE_CHEAP = 4 };
enum { VARY_EVERY_NS = 1000 * 1000 * 1000, VARY_LEAST = 900, VARY_MORE = 201 };

/* Of the memory that the helper may have: what it keeps of stacks is what little memory is for. */
enum { RINGS_SHARE = 8 };

/* New threads may be made while those that are known are being covered. */
enum { COVER_ROUNDS = 8 };

/* What a window's timers cost, or would have. */
struct costs {
	uint64_t switching_ns, making_ns, timers_ns; /* timers of threads, in both */
	uint64_t stopping_ns;
	uint64_t wide_ns;            /* of CPUs; far more than all others where there can be none */
	uint64_t made, new;          /* threads; and how many more there were at the end */
	bool far_more;               /* timers of threads, than stops */
};

static uint64_t least(uint64_t one_ns, uint64_t other_ns)
{
	return one_ns < other_ns ? one_ns : other_ns;
}

/* From now on what interrupts cost is counted anew. */
static void weighed_now(struct vg_session *session)
{
	session->weighed_ns = vg_now_ns();
	session->weighed_cpu_ns = session->target_cpu_ns;
	session->weighed_found = session->tasks.found;
	session->weighed_made = session->interrupts.told.made;
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
	interrupts->pid = session->target.pid;
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

void vg_timers_follow(struct vg_session *session, uint64_t period_ns)
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
	return session->interrupts.enabled ? session->interrupts.told.made - session->weighed_made :
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

/* From now on the CPUs' timers sample.  Where that is not allowed, it is not asked for again. */
static void events_widen(struct vg_session *session)
{
	session->dear_windows = session->making_windows = 0;
	session->varied_ns = session->round_ns;
	session->wide_denied = vg_interrupts_widen(&session->interrupts) != 0;
	if (session->wide_denied)
		return;
	for (size_t i = 0; i < session->tasks.live.count; i++)
		session->tasks.live.items[i].interrupts_of = VG_INTERRUPTS_CPUS;
}

/* Timers run where stops do not cost less.  Those that have stood still for a while are not worth what they
 * cost even so; but a few threads' own are few. */
static void timers_follow(struct vg_session *session, const struct costs *costs)
{
	struct vg_interrupts *interrupts = &session->interrupts;
	bool wanted = session->dear_windows < DEAR_WINDOWS;

	if (!wanted && costs->wide_ns <= costs->stopping_ns) {
		events_widen(session);
		return;
	}
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
static void shut_judge(struct vg_session *session, const struct costs *costs, uint64_t elapsed_ns)
{
	bool stops_cost_more = costs->stopping_ns > 2 * least(costs->timers_ns, costs->wide_ns) &&
			       costs->stopping_ns > elapsed_ns / NOTICEABLE;

	session->dear_windows = stops_cost_more ? session->dear_windows - 1 : DEAR_WINDOWS;
	if (session->dear_windows == 0)
		events_open(session, session->timers_ns);
}

/* A budget may have ticks come so seldom that what comes from one to the next is more than a ring holds. */
static bool rings_suffice(const struct vg_session *session)
{
	const struct vg_interrupts *interrupts = &session->interrupts;

	return interrupts->ring_count == 0 ||
	       2 * session->ticks.period_ns <= vg_interrupts_room(interrupts) * interrupts->period_ns;
}

static bool may_widen(const struct vg_session *session)
{
	const struct vg_interrupts *interrupts = &session->interrupts;

	return !session->wide_denied && !interrupts->user_only && !interrupts->narrow &&
	       interrupts->ring_count <= WIDE_CPUS && rings_suffice(session);
}

/* Threads have timers of their own again when these have cost next to nothing for a while, or those of CPUs, and
 * noticeably, twice what something else would. */
static void wide_judge(struct vg_session *session, const struct costs *costs, uint64_t elapsed_ns)
{
	bool dear = costs->timers_ns < elapsed_ns / NOTICEABLE / WIDE_CHEAP ||
		    (costs->wide_ns > 2 * least(costs->timers_ns, costs->stopping_ns) &&
		     costs->wide_ns > elapsed_ns / NOTICEABLE);

	if (session->round_ns - session->varied_ns >= VARY_EVERY_NS) {
		vg_interrupts_vary(&session->interrupts,
				   VARY_LEAST + (uint32_t)(session->ticks.random % VARY_MORE));
		session->varied_ns = session->round_ns;
	}
	session->dear_windows = dear ? session->dear_windows + 1 : 0;
	if (session->dear_windows >= SHUT_WINDOWS || !rings_suffice(session))
		events_open(session, session->timers_ns);
}

/* The window's, at its end. */
static struct costs costs_of(const struct vg_session *session, uint64_t elapsed_ns, bool idle)
{
	const struct vg_interrupts *interrupts = &session->interrupts;
	struct costs costs = { .made = threads_made(session) };
	/* Of those that live for long, where nothing else is sampled. */
	uint64_t used_ns = interrupts->narrow ? session->looked_cpu_ns :
			   session->target_cpu_ns - session->weighed_cpu_ns;

	costs.switching_ns = session->switches * switch_ns(session->timers_ns, idle);
	costs.making_ns = costs.made * interrupts->ring_count * INHERIT_NS;
	costs.timers_ns = costs.switching_ns + costs.making_ns;
	costs.stopping_ns = used_ns / session->timers_ns * stop_ns(session, idle);
	costs.wide_ns = !may_widen(session) ? UINT64_MAX / 2 : elapsed_ns / session->timers_ns *
			(session->idle.is_roomy ? ROOMY_INTERRUPT_NS : INTERRUPT_NS * interrupts->ring_count);
	if (session->tasks.live.count > session->weighed_count)
		costs.new = session->tasks.live.count - session->weighed_count;
	costs.far_more = costs.timers_ns > FAR_WORSE * costs.stopping_ns && costs.timers_ns > elapsed_ns / DEAR;
	return costs;
}

static void timers_judge(struct vg_session *session, const struct costs *costs, uint64_t elapsed_ns)
{
	/* Not back and forth, and not for what nobody would notice; nor for good for little more. */
	bool making = costs->making_ns > costs->switching_ns;
	bool too_dear = (session->interrupts.enabled ? costs->timers_ns : 2 * costs->timers_ns) >
			(making ? costs->stopping_ns : least(costs->stopping_ns, costs->wide_ns)) &&
			costs->timers_ns > elapsed_ns / (making ? DEAR : NOTICEABLE);
	uint32_t *windows = making ? &session->making_windows : &session->dear_windows;

	*windows += making && costs->far_more && costs->made > costs->new + NARROW_ENDED ? NARROW_WINDOWS :
		    costs->far_more ? FAR_WORSE_WINDOWS : 1;
	if (!too_dear)
		session->dear_windows = session->making_windows = 0;
	if (session->making_windows >= NARROW_WINDOWS)
		events_narrow(session);
	else
		timers_follow(session, costs);
}

void vg_timers_weigh(struct vg_session *session)
{
	uint64_t elapsed_ns = vg_now_ns() - session->weighed_ns;
	struct costs costs = { 0 };
	bool idle, weighing;

	if (elapsed_ns < session->weigh_every_ns)
		return;
	idle = leaves_idle(session, elapsed_ns);
	weighing = session->interrupts.event_count > 0 || session->timers_shut;
	if (weighing)
		costs = costs_of(session, elapsed_ns, idle);
	session->weigh_every_ns = costs.far_more && !session->interrupts.wide ? WEIGH_FIRST_NS : WEIGH_EVERY_NS;
	vg_pacing_weigh(session);
	weighed_now(session);
	if (!weighing)
		return;
	if (session->timers_shut)
		shut_judge(session, &costs, elapsed_ns);
	else if (session->interrupts.wide)
		wide_judge(session, &costs, elapsed_ns);
	else
		timers_judge(session, &costs, elapsed_ns);
}
