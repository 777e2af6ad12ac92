/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/timers.h"

#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"

/* Beyond so many CPUs a machine is others' for the most part.  The period of CPUs' timers is another each second, by
 * a tenth in either direction. */
enum { CPUS_MOST = 64, VARY_EVERY_NS = 1000 * 1000 * 1000, VARY_LEAST = 900, VARY_MORE = 201 };

/* Of the memory that the helper may have: what it keeps of stacks is what little memory is for. */
enum { RINGS_SHARE = 8 };

/* New threads may be made while those that are known are being covered. */
enum { COVER_ROUNDS = 8 };

static void window_begin(struct vg_timers *timers, const struct vg_timers_world *world)
{
	timers->window.at_ns = vg_now_ns();
	timers->window.cpu_ns = world->activity->process_cpu_ns;
	timers->window.found = world->tasks->found;
	timers->window.made = timers->interrupts.told.made;
	timers->window.threads = world->tasks->live.count;
	timers->window.stops = world->stops;
	world->activity->switches = world->activity->used_ns = 0;
	for (size_t i = 0; i < world->tasks->live.count; i++)
		world->tasks->live.items[i].window_slices = world->tasks->live.items[i].look.slices;
}

/* ---- the policy's steps ---- */

static void threads_open(struct vg_timers *timers, const struct vg_timers_world *world)
{
	struct vg_interrupts *interrupts = &timers->interrupts;
	struct vg_tasks *tasks = world->tasks;
	struct rlimit memory;
	size_t covered = 0;

	vg_interrupts_close(interrupts);
	interrupts->pid = world->pid;
	interrupts->max_bytes = world->max_memory_bytes;
	if (getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur < interrupts->max_bytes)
		interrupts->max_bytes = memory.rlim_cur;
	interrupts->max_bytes /= RINGS_SHARE;
	for (size_t i = 0; i < tasks->live.count; i++)
		tasks->live.items[i].interrupts_of = 0;
	for (int round = 0; round < COVER_ROUNDS && covered < tasks->live.count; round++) {
		size_t count = tasks->live.count;

		if (vg_interrupts_open(interrupts, tasks->live.items + covered, count - covered,
				       timers->period_ns) != 0)
			break;
		covered = count;
		vg_tasks_scan(tasks);
	}
	/* One that came meanwhile has not begun. */
	tasks->stale = true;
	timers->cpus = interrupts->ring_count;
	timers->user_only = interrupts->user_only;
	vg_policy_enter(&timers->policy, interrupts->event_count > 0 ? VG_TIMERS_THREADS : VG_TIMERS_NONE);
	window_begin(timers, world);
}

/* From now on new threads are stopped, or read; those that are there longest have timers still.  Where
 * these do not sample the kernel's code, which is nearly all that one does who makes threads, stops do. */
static void few_keep(struct vg_timers *timers, const struct vg_timers_world *world)
{
	struct vg_tasks *tasks = world->tasks;
	struct vg_interrupts *interrupts = &timers->interrupts;

	if (interrupts->user_only)
		vg_interrupts_close(interrupts);
	else
		vg_interrupts_narrow(interrupts, tasks->live.items, tasks->live.count);
	for (size_t i = 0; i < tasks->live.count; i++) {
		struct vg_task *task = &tasks->live.items[i];

		task->interrupts_of = vg_interrupts_cover(interrupts, task->tid) ? task->tid : 0;
	}
	vg_policy_enter(&timers->policy, interrupts->event_count > 0 ? VG_TIMERS_FEW : VG_TIMERS_NONE);
}

/* Where that is not allowed, it is not asked for again. */
static void cpus_open(struct vg_timers *timers, const struct vg_timers_world *world)
{
	timers->varied_ns = world->activity->round_ns;
	timers->cpus_denied = vg_interrupts_widen(&timers->interrupts) != 0;
	if (timers->cpus_denied) {
		vg_policy_refused(&timers->policy);
		return;
	}
	for (size_t i = 0; i < world->tasks->live.count; i++)
		world->tasks->live.items[i].interrupts_of = VG_INTERRUPTS_CPUS;
	vg_policy_enter(&timers->policy, VG_TIMERS_CPUS);
}

static void step_do(struct vg_timers *timers, const struct vg_timers_world *world, enum vg_policy_step step)
{
	switch (step) {
	case VG_POLICY_KEEP:
		break;
	case VG_POLICY_OPEN:
		threads_open(timers, world);
		break;
	case VG_POLICY_FEW:
		few_keep(timers, world);
		break;
	case VG_POLICY_CPUS:
		cpus_open(timers, world);
		break;
	case VG_POLICY_HALT:
		vg_interrupts_enable(&timers->interrupts, false);
		break;
	case VG_POLICY_RUN:
		vg_interrupts_enable(&timers->interrupts, true);
		break;
	case VG_POLICY_CLOSE:
		vg_interrupts_close(&timers->interrupts);
		vg_policy_enter(&timers->policy, VG_TIMERS_CLOSED);
		break;
	}
}

void vg_timers_follow(struct vg_timers *timers, const struct vg_timers_world *world, uint64_t period_ns)
{
	bool changed = timers->period_ns != period_ns;

	timers->period_ns = period_ns;
	if (period_ns == 0) {
		vg_interrupts_close(&timers->interrupts);
		vg_policy_enter(&timers->policy, VG_TIMERS_NONE);
	} else if (changed || timers->policy.mode == VG_TIMERS_NONE) {
		threads_open(timers, world);
	}
}

/* ---- what a window was ---- */

/* Those that live shorter than from one tick to the next are for the most part not found; but the kernel reports
 * each, unless timers are halted or closed. */
static uint64_t threads_made(const struct vg_timers *timers, const struct vg_tasks *tasks)
{
	if (timers->policy.mode == VG_TIMERS_FEW)
		return 0;                /* they cost nothing */
	return timers->interrupts.enabled ? timers->interrupts.told.made - timers->window.made :
					    tasks->found - timers->window.found;
}

/* The thread that leaves CPUs most. */
static const struct vg_task *switcher(const struct vg_tasks *tasks)
{
	const struct vg_task *most = NULL;
	uint64_t switches = 0;

	for (size_t i = 0; i < tasks->live.count; i++) {
		const struct vg_task *task = &tasks->live.items[i];
		uint64_t own = task->look.slices - task->window_slices;

		if (task->window_slices == 0 || own < switches)
			continue;
		switches = own;
		most = task;
	}
	return most;
}

/* Finds whether the CPUs that threads leave are idle then, where it matters; and whether one is free for us, where we
 * have stopped somebody. */
static void idle_find(struct vg_timers *timers, const struct vg_timers_world *world, struct vg_load *load)
{
	bool matters = vg_policy_switches_matter(load, &vg_policy_prices);
	const struct vg_task *most = NULL;

	if (matters || world->stops != timers->window.stops)
		most = switcher(world->tasks);
	if (most != NULL) {
		/* It reads files, which may be long ones. */
		vg_priority_rest(world->priority);
		load->is_idle = vg_idle_look(&timers->idle, most, vg_now_ns()) && matters;
		vg_priority_room(world->priority, timers->idle.is_roomy);
	}
	load->has_room = timers->idle.is_roomy;
}

/* A budget may have ticks come so seldom that what comes from one to the next is more than a ring holds. */
static bool rings_suffice(const struct vg_timers *timers, uint64_t ticks_period_ns)
{
	const struct vg_interrupts *interrupts = &timers->interrupts;

	return interrupts->ring_count == 0 ||
	       2 * ticks_period_ns <= vg_interrupts_room(interrupts) * interrupts->period_ns;
}

static struct vg_load window_load(struct vg_timers *timers, const struct vg_timers_world *world)
{
	const struct vg_activity *activity = world->activity;
	bool few = timers->policy.mode == VG_TIMERS_FEW;
	struct timespec tick = { .tv_nsec = 4000 * 1000 };
	struct vg_load load = {
		.elapsed_ns = vg_now_ns() - timers->window.at_ns,
		.period_ns = timers->period_ns,
		.switches = activity->switches,
		/* Of those that live for long, where nothing else is sampled. */
		.used_ns = few ? activity->used_ns : activity->process_cpu_ns - timers->window.cpu_ns,
		.threads_made = threads_made(timers, world->tasks),
		.threads_more = world->tasks->live.count > timers->window.threads ?
				world->tasks->live.count - timers->window.threads : 0,
		.cpus = timers->cpus,
		.rings_suffice = rings_suffice(timers, world->ticks_period_ns),
	};

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	load.tick_ns = (uint64_t)tick.tv_nsec;
	load.may_use_cpus = !timers->cpus_denied && !timers->user_only && !few && timers->cpus <= CPUS_MOST &&
			    load.rings_suffice;
	idle_find(timers, world, &load);
	return load;
}

bool vg_timers_due(const struct vg_timers *timers)
{
	return vg_now_ns() - timers->window.at_ns >= timers->policy.window_ns;
}

void vg_timers_step(struct vg_timers *timers, const struct vg_timers_world *world)
{
	struct vg_load load = window_load(timers, world);

	window_begin(timers, world);
	if (timers->policy.mode == VG_TIMERS_CPUS &&
	    world->activity->round_ns - timers->varied_ns >= VARY_EVERY_NS) {
		vg_interrupts_vary(&timers->interrupts, VARY_LEAST + (uint32_t)(world->random % VARY_MORE));
		timers->varied_ns = world->activity->round_ns;
	}
	if (timers->period_ns != 0)
		step_do(timers, world, vg_policy_step(&timers->policy, &load, &vg_policy_prices));
}

void vg_timers_close(struct vg_timers *timers)
{
	vg_interrupts_close(&timers->interrupts);
}
