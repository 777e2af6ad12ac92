/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/policy.h"

/*
 * Measured on a virtual machine of two cores, which had little to spare (bench/victims.sh, bench/churn.sh).  The
 * price of a stop where threads wait on idle CPUs is by the throughput of a server that had a CPU of its own.
 */
const struct vg_policy_prices vg_policy_prices = {
	.switch_ns = 300,
	.program_ns = 7500,
	.idle_program_ns = 7500 / 2,
	.inherit_ns = 20 * 1000,
	.stop_ns = 160 * 1000,
	.idle_stop_ns = 320 * 1000,
	.idle_stop_share = 32,
	.room_stop_ns = 50 * 1000,
	.expiry_ns = 40 * 1000,
	.room_expiry_ns = 10 * 1000,
};

/* A first look comes soon, for a program that is hurt; later windows are long enough for means. */
static const uint64_t WINDOW_FIRST_NS = UINT64_C(60) * 1000 * 1000;
static const uint64_t WINDOW_NS = UINT64_C(200) * 1000 * 1000;

/* Of a window: a cost of less than 1 / NOTICEABLE is not noticed, and of more than 1 / HIGH is in any case. */
enum { NOTICEABLE = 500, HIGH = 50 };

/*
 * Windows in a row in which another method costs less until timers are halted (a single burst of switches is borne),
 * until they are closed, and until new threads inherit none; a window in which it is twice as much counts for more.
 * Halted timers cost a switch a fifth or less, and to open them takes 10 us a thread and CPU, so that they are kept
 * for five seconds.  They are made and freed with each thread all the same: where that is most of the cost they run
 * until threads inherit none, at once where so many more threads ended than a program starts with.
 */
enum { HALT_WINDOWS = 2, CLOSE_WINDOWS = 25, FEW_WINDOWS = 12, FEW_ENDED = 500 };
enum { FAR_MORE = 2, FAR_MORE_WINDOWS = 3 };

/* Timers of threads that cost less than this share of the noticeable are worth no timers of CPUs. */
enum { CPUS_CHEAP = 4 };

static uint64_t least(uint64_t one_ns, uint64_t other_ns)
{
	return one_ns < other_ns ? one_ns : other_ns;
}

void vg_policy_enter(struct vg_policy *policy, enum vg_timers_mode mode)
{
	policy->mode = mode;
	policy->halted = false;
	policy->making_windows = 0;
	policy->costly_windows = mode == VG_TIMERS_CLOSED ? HALT_WINDOWS : 0;
	policy->window_ns = mode == VG_TIMERS_CPUS || mode == VG_TIMERS_CLOSED ? WINDOW_NS : WINDOW_FIRST_NS;
}

void vg_policy_refused(struct vg_policy *policy)
{
	policy->costly_windows = policy->making_windows = 0;
}

/* A CPU's timer is programmed for the earliest of all that are due on it: for ours, if what is left of its
 * period, which is as often much as little, is less than what is left until the scheduler's tick. */
static uint64_t switch_ns(const struct vg_load *load, bool is_idle, const struct vg_policy_prices *prices)
{
	uint64_t tick_ns = load->tick_ns, period_ns = load->period_ns;
	uint64_t earliest_ns = period_ns < tick_ns ? tick_ns - period_ns / 2 : tick_ns * tick_ns / 2 / period_ns;

	return prices->switch_ns + (is_idle ? prices->idle_program_ns : prices->program_ns) * earliest_ns / tick_ns;
}

static uint64_t stop_ns(const struct vg_load *load, const struct vg_policy_prices *prices)
{
	if (load->has_room)
		return prices->room_stop_ns;
	return prices->stop_ns +
	       (load->is_idle ? least(load->period_ns / prices->idle_stop_share, prices->idle_stop_ns) : 0);
}

struct vg_policy_costs vg_policy_costs(const struct vg_load *load, const struct vg_policy_prices *prices)
{
	struct vg_policy_costs costs = {
		.switching_ns = load->switches * switch_ns(load, load->is_idle, prices),
		.making_ns = load->threads_made * load->cpus * prices->inherit_ns,
		.stopping_ns = load->used_ns / load->period_ns * stop_ns(load, prices),
		.cpus_ns = !load->may_use_cpus ? UINT64_MAX / 2 : load->elapsed_ns / load->period_ns *
			   (load->has_room ? prices->room_expiry_ns : prices->expiry_ns * load->cpus),
	};

	costs.timers_ns = costs.switching_ns + costs.making_ns;
	return costs;
}

bool vg_policy_switches_matter(const struct vg_load *load, const struct vg_policy_prices *prices)
{
	return load->switches * switch_ns(load, true, prices) >= load->elapsed_ns / NOTICEABLE;
}

/* Timers run where stops do not cost less.  Those that have stood still for a while are not worth what they
 * cost even so; but a few threads' own are few. */
static enum vg_policy_step running_step(struct vg_policy *policy, const struct vg_policy_costs *costs)
{
	bool wanted = policy->costly_windows < HALT_WINDOWS;

	if (!wanted && costs->cpus_ns <= costs->stopping_ns)
		return VG_POLICY_CPUS;
	if (policy->mode == VG_TIMERS_THREADS && policy->costly_windows >= CLOSE_WINDOWS)
		return VG_POLICY_CLOSE;
	if (policy->halted == !wanted)
		return VG_POLICY_KEEP;
	policy->halted = !wanted;
	return wanted ? VG_POLICY_RUN : VG_POLICY_HALT;
}

static enum vg_policy_step threads_step(struct vg_policy *policy, const struct vg_load *load,
					const struct vg_policy_costs *costs, bool far_more)
{
	/* Not back and forth, and not for what nobody would notice; nor for good for little more. */
	bool making = costs->making_ns > costs->switching_ns;
	bool costly = (policy->halted ? 2 * costs->timers_ns : costs->timers_ns) >
		      (making ? costs->stopping_ns : least(costs->stopping_ns, costs->cpus_ns)) &&
		      costs->timers_ns > load->elapsed_ns / (making ? HIGH : NOTICEABLE);
	uint32_t *windows = making ? &policy->making_windows : &policy->costly_windows;

	*windows += making && far_more && load->threads_made > load->threads_more + FEW_ENDED ? FEW_WINDOWS :
		    far_more ? FAR_MORE_WINDOWS : 1;
	if (!costly)
		policy->costly_windows = policy->making_windows = 0;
	return policy->making_windows >= FEW_WINDOWS ? VG_POLICY_FEW : running_step(policy, costs);
}

/* Threads have timers of their own again when these have cost next to nothing for a while, or those of CPUs, and
 * noticeably, twice what something else would. */
static enum vg_policy_step cpus_step(struct vg_policy *policy, const struct vg_load *load,
				     const struct vg_policy_costs *costs)
{
	bool costly = costs->timers_ns < load->elapsed_ns / NOTICEABLE / CPUS_CHEAP ||
		      (costs->cpus_ns > 2 * least(costs->timers_ns, costs->stopping_ns) &&
		       costs->cpus_ns > load->elapsed_ns / NOTICEABLE);

	policy->costly_windows = costly ? policy->costly_windows + 1 : 0;
	return policy->costly_windows >= CLOSE_WINDOWS || !load->rings_suffice ? VG_POLICY_OPEN : VG_POLICY_KEEP;
}

/* Those that were closed come back when stops have cost more for a while; not where neither costs anything,
 * for to open them does. */
static enum vg_policy_step closed_step(struct vg_policy *policy, const struct vg_load *load,
				       const struct vg_policy_costs *costs)
{
	bool stops_cost_more = costs->stopping_ns > 2 * least(costs->timers_ns, costs->cpus_ns) &&
			       costs->stopping_ns > load->elapsed_ns / NOTICEABLE;

	policy->costly_windows = stops_cost_more ? policy->costly_windows - 1 : HALT_WINDOWS;
	return policy->costly_windows == 0 ? VG_POLICY_OPEN : VG_POLICY_KEEP;
}

enum vg_policy_step vg_policy_step(struct vg_policy *policy, const struct vg_load *load,
				   const struct vg_policy_prices *prices)
{
	struct vg_policy_costs costs = vg_policy_costs(load, prices);
	bool far_more = costs.timers_ns > FAR_MORE * costs.stopping_ns && costs.timers_ns > load->elapsed_ns / HIGH;

	policy->window_ns = far_more && policy->mode != VG_TIMERS_CPUS ? WINDOW_FIRST_NS : WINDOW_NS;
	switch (policy->mode) {
	case VG_TIMERS_THREADS:
	case VG_TIMERS_FEW:
		return threads_step(policy, load, &costs, far_more);
	case VG_TIMERS_CPUS:
		return cpus_step(policy, load, &costs);
	case VG_TIMERS_CLOSED:
		return closed_step(policy, load, &costs);
	case VG_TIMERS_NONE:
		break;
	}
	return VG_POLICY_KEEP;
}
