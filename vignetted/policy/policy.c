/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/policy/policy.h"

/* ---- the method of a tick ---- */

bool vg_repeats(const struct vg_repeat_facts *facts)
{
	bool stack_same = facts->any_stack && facts->timeslices == facts->stack_timeslices;

	if (!facts->same_interval)
		return false;
	if (facts->cpu_only)
		return stack_same || facts->timeslices == facts->passed_timeslices;
	return stack_same && facts->has_stack;
}

enum vg_method vg_method_choose(bool running, bool has_timers, bool cpu_only)
{
	if (running)
		return has_timers ? VG_METHOD_TIMER : VG_METHOD_STOP;
	return cpu_only ? VG_METHOD_PASS : VG_METHOD_READ;
}

/* ---- timers or stops ---- */

/* Measured in a virtual machine of two cores by bench/victims.sh (doc/design/policy.md). */
const struct vg_policy_prices vg_policy_prices = {
	.switch_ns = 300,
	.program_timer_ns = 7500,
	.stop_ns = 160 * 1000,
};

/* The method changes after STEPS steps in a row in which the other method was better: it cost less than 1 / BETTER of
 * the current method, and the difference was more than 1 / NOTICEABLE of the elapsed time.  For a thread that is
 * stopped, timers are also better if they cost less than 1 / (NOTICEABLE * BETTER) of the elapsed time.  With 500 in
 * place of 100, a busy redis-server was stopped, and its shares were wrong (doc/design/policy.md). */
enum { STEPS = 3, BETTER = 2, NOTICEABLE = 100 };

bool vg_policy_due(const struct vg_policy *policy, const struct vg_policy_load *load)
{
	return policy->decided ? load->elapsed_ns >= VG_POLICY_STEP_NS : load->used_ns >= load->period_ns;
}

/* Returns the average cost of one switch.  The kernel programs the CPU's timer for the earliest timer that is due.  The
 * thread's timer is the earliest if the rest of its period is shorter than the time until the next scheduler tick.  The
 * rest of the period is evenly distributed between 0 and the whole period. */
static uint64_t switch_ns(const struct vg_policy_load *load, const struct vg_policy_prices *prices)
{
	uint64_t tick_ns = load->scheduler_tick_ns, period_ns = load->period_ns;
	uint64_t earliest_ns = period_ns < tick_ns ? tick_ns - period_ns / 2 : tick_ns * tick_ns / 2 / period_ns;

	return prices->switch_ns + prices->program_timer_ns * earliest_ns / tick_ns;
}

struct vg_policy_costs vg_policy_costs(const struct vg_policy_load *load, const struct vg_policy_prices *prices)
{
	return (struct vg_policy_costs){
		.timers_ns = load->switches * switch_ns(load, prices),
		.stops_ns = load->used_ns / load->period_ns * prices->stop_ns,
	};
}

/* Whether the other method costs so much less that a change is worthwhile. */
static bool is_costly(uint64_t own_ns, uint64_t other_ns, uint64_t elapsed_ns)
{
	return own_ns > BETTER * other_ns && own_ns - other_ns > elapsed_ns / NOTICEABLE;
}

void vg_policy_step(struct vg_policy *policy, const struct vg_policy_load *load, const struct vg_policy_prices *prices)
{
	struct vg_policy_costs costs = vg_policy_costs(load, prices);
	bool other_is_better;

	/* Begin with timers, because their samples are better.  A stop takes effect when the thread leaves the kernel.
	 * So if a thread makes many system calls, most stops find it at the end of a system call. */
	if (!policy->decided) {
		policy->decided = policy->timers = true;
		return;
	}
	if (policy->timers)
		other_is_better = is_costly(costs.timers_ns, costs.stops_ns, load->elapsed_ns);
	else
		other_is_better = is_costly(costs.stops_ns, costs.timers_ns, load->elapsed_ns) ||
			   costs.timers_ns < load->elapsed_ns / NOTICEABLE / BETTER;
	policy->steps_against = other_is_better ? policy->steps_against + 1 : 0;
	if (policy->steps_against < STEPS)
		return;
	policy->steps_against = 0;
	policy->timers = !policy->timers;
}

/* ---- the pace: sampling periods between two ticks ---- */

/* Time from one decision to the next.  It is long enough for a step of each thread, even if ticks are far apart.  If no
 * recording wants wall time, a decision needs no steps.  Such a decision comes after PACE_FIRST_PERIOD_NS if ticks are
 * one period apart. */
static const uint64_t PACE_PERIOD_NS = UINT64_C(300) * 1000 * 1000;
static const uint64_t PACE_FIRST_PERIOD_NS = UINT64_C(50) * 1000 * 1000;

/* The longest time between two ticks.  Threads without a timer are sampled at ticks only.  If all threads run nearly
 * all the time, all of them have timers, and ticks may be farther apart (FETCH_BUSY_NS). */
static const uint64_t FETCH_NS = UINT64_C(25) * 1000 * 1000;
static const uint64_t FETCH_BUSY_NS = UINT64_C(125) * 1000 * 1000;

/* The samples between two ticks fill at most half of a ring: the next tick may be 1.5 times as far away
 * (session/ticks.c), and the helper may get a CPU late.  The time between two ticks is also at most half of
 * time_left_ns. */
enum { CAPACITY_SHARE = 2 };

/* Threads run "nearly all the time" if runnable_ns is this share of awake_ns or more.  BUSY_PERCENT is needed to move
 * ticks apart, BUSY_KEEP_PERCENT to keep them apart. */
enum { BUSY_PERCENT = 90, BUSY_KEEP_PERCENT = 80 };

/* A thread is added to awake_ns if it ran for 1 / ACTIVE_SHARE of the time or more.  A wait is short if it takes less
 * than 1 / SHORT_WAIT_SHARE of a period. */
enum { ACTIVE_SHARE = 100, SHORT_WAIT_SHARE = 20 };

void vg_pace_thread(struct vg_pace_load *load, uint64_t elapsed_ns, uint64_t runnable_ns, uint64_t switches)
{
	if (runnable_ns < elapsed_ns / ACTIVE_SHARE)
		return;
	if (runnable_ns > elapsed_ns || elapsed_ns - runnable_ns < switches * (load->period_ns / SHORT_WAIT_SHARE))
		runnable_ns = elapsed_ns;
	load->awake_ns += elapsed_ns;
	load->runnable_ns += runnable_ns;
}

bool vg_pace_due(const struct vg_pace_load *load, uint32_t periods)
{
	return load->elapsed_ns >= (periods == 1 && load->cpu_only ? PACE_FIRST_PERIOD_NS : PACE_PERIOD_NS) ||
	       (periods > 1 && (load->stops > 0 || load->unloads > 0 ||
				periods * load->period_ns > load->time_left_ns));
}

uint32_t vg_pace_periods(const struct vg_pace_load *load, uint32_t before)
{
	uint64_t percent = before > 1 ? BUSY_KEEP_PERCENT : BUSY_PERCENT;
	/* A thread has a step every 200 ms.  If no thread had a step since the latest decision, assume that
	 * nothing has changed. */
	bool busy = load->awake_ns > 0 ? load->runnable_ns * 100 >= load->awake_ns * percent :
		    before * load->period_ns > FETCH_NS;
	uint64_t fetch_ns, periods;

	busy = busy && load->found == 0 && !load->events;
	fetch_ns = busy ? FETCH_BUSY_NS : FETCH_NS;

	if (!(busy || load->cpu_only) || load->counters || load->stops > 0 || load->unloads > 0 ||
	    load->period_ns == 0)
		return 1;
	if (fetch_ns > load->ring_capacity_ns / CAPACITY_SHARE)
		fetch_ns = load->ring_capacity_ns / CAPACITY_SHARE;
	if (fetch_ns > load->time_left_ns / CAPACITY_SHARE)
		fetch_ns = load->time_left_ns / CAPACITY_SHARE;
	periods = fetch_ns / load->period_ns;
	return periods > 0 ? (uint32_t)periods : 1;
}

/* ---- the state of a stopped thread ---- */

/* The largest error of the computed time at which a thread was queued.  It was measured with 230 threads from which the
 * helper took the CPU: the error was less than 2 us for 215 of them, and less than 5 us for 220
 * (doc/design/time.md). */
static const int64_t QUEUE_BEGIN_ERROR_NS = 5 * 1000;

enum vg_thread_state vg_stop_state(const struct vg_stop *stop)
{
	int64_t queue_begin_ns = (int64_t)(stop->stopped_ns - stop->ran_ns - stop->queued_ns);
	int64_t after_ns = queue_begin_ns - (int64_t)stop->got_cpu_ns;

	/* The kernel restarts a call that a stop has interrupted.  If another stop follows at once, it may find the
	 * call before its sleep. */
	if (stop->waits && stop->was_waiting)
		return VG_THREAD_WAITING;
	/* A thread that has slept begins a timeslice.  If `waits` is set here, the call had not slept yet. */
	if (stop->timeslices == 0)
		return VG_THREAD_RUNNING;
	if (after_ns < -QUEUE_BEGIN_ERROR_NS)
		return VG_THREAD_QUEUED;
	if (stop->waits)
		return VG_THREAD_WAITING;
	return after_ns <= QUEUE_BEGIN_ERROR_NS ? VG_THREAD_RUNNING : VG_THREAD_QUEUED;
}
