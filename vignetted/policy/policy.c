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

/* ---- the state of a stopped thread ---- */

/* The largest error of the computed time at which a thread was queued.  It was measured with 230 threads from which the
 * helper took the CPU: the error was less than 2 us for 215 of them, and less than 5 us for 220
 * (doc/design/time.md). */
static const int64_t QUEUE_BEGIN_ERROR_NS = 5 * 1000;

enum vg_thread_state vg_stop_state(const struct vg_stop *stop)
{
	int64_t queue_begin_ns = (int64_t)(stop->stopped_ns - stop->ran_ns - stop->queued_ns);
	int64_t after_ns = queue_begin_ns - (int64_t)stop->got_cpu_ns;

	/* The kernel restarts a call that a stop has interrupted.  If another stop follows at once, it may find the call
	 * before its sleep. */
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
