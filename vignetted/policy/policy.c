/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/policy/policy.h"

/* Measured in a virtual machine of two cores by bench/victims.sh (doc/design/policy.md). */
const struct vg_policy_prices vg_policy_prices = {
	.switch_ns = 300,
	.program_ns = 7500,
	.stop_ns = 160 * 1000,
};

/* A method is changed after so many steps in a row in which the other one cost less than 1 / BETTER, and 1 / NOTICEABLE of
 * the time was in the difference. */
enum { STEPS = 3, BETTER = 2, NOTICEABLE = 500 };

bool vg_policy_due(const struct vg_policy *policy, const struct vg_policy_load *load)
{
	return policy->decided ? load->elapsed_ns >= VG_POLICY_STEP_NS : load->used_ns >= load->period_ns;
}

/* The CPU's timer is programmed for the earliest of all that are due.  Ours is the earliest if what is left of its period,
 * which is anything between nothing and all of it, is less than what is left until the scheduler's tick. */
static uint64_t switch_ns(const struct vg_policy_load *load, const struct vg_policy_prices *prices)
{
	uint64_t tick_ns = load->scheduler_tick_ns, period_ns = load->period_ns;
	uint64_t earliest_ns = period_ns < tick_ns ? tick_ns - period_ns / 2 : tick_ns * tick_ns / 2 / period_ns;

	return prices->switch_ns + prices->program_ns * earliest_ns / tick_ns;
}

struct vg_policy_costs vg_policy_costs(const struct vg_policy_load *load, const struct vg_policy_prices *prices)
{
	return (struct vg_policy_costs){
		.timers_ns = load->switches * switch_ns(load, prices),
		.stops_ns = load->used_ns / load->period_ns * prices->stop_ns,
	};
}

/* Whether the other method costs so much less that somebody would notice. */
static bool is_costly(uint64_t own_ns, uint64_t other_ns, uint64_t elapsed_ns)
{
	return own_ns > BETTER * other_ns && own_ns - other_ns > elapsed_ns / NOTICEABLE;
}

void vg_policy_step(struct vg_policy *policy, const struct vg_policy_load *load, const struct vg_policy_prices *prices)
{
	struct vg_policy_costs costs = vg_policy_costs(load, prices);
	bool is_wrong;

	/* Timers take the better samples: a stop finds a thread that makes many system calls in one of them. */
	if (!policy->decided) {
		policy->decided = policy->timers = true;
		return;
	}
	if (policy->timers)
		is_wrong = is_costly(costs.timers_ns, costs.stops_ns, load->elapsed_ns);
	else
		is_wrong = is_costly(costs.stops_ns, costs.timers_ns, load->elapsed_ns) ||
			   costs.timers_ns < load->elapsed_ns / NOTICEABLE / BETTER;
	policy->steps_against = is_wrong ? policy->steps_against + 1 : 0;
	if (policy->steps_against < STEPS)
		return;
	policy->steps_against = 0;
	policy->timers = !policy->timers;
}
