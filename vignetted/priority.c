/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/priority.h"

#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NICE = -15, SLICE_NS = 100 * 1000 };

/* struct sched_attr of sched_setattr(2), for which the C library has no declaration. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

static bool attributes_set(const struct attributes *attributes)
{
	return syscall(SYS_sched_setattr, 0, attributes, 0) == 0;
}

/* The least of the real-time priorities. */
static bool real_time_set(void)
{
	const struct attributes attributes = {
		.size = sizeof attributes, .policy = SCHED_FIFO, .priority = 1,
	};

	return attributes_set(&attributes);
}

/* For an ordinary thread the runtime is the slice that it wishes for: a short one puts it before others
 * that want long ones. */
static void ordinary_set(int nice)
{
	const struct attributes attributes = {
		.size = sizeof attributes, .policy = SCHED_OTHER, .nice = nice, .runtime_ns = SLICE_NS,
	};

	attributes_set(&attributes);
}

void vg_priority_begin(struct vg_priority *priority)
{
	priority->nice = getpriority(PRIO_PROCESS, 0);
	priority->can_raise = sched_getscheduler(0) == SCHED_OTHER && real_time_set();
	if (!priority->can_raise && priority->nice > NICE && setpriority(PRIO_PROCESS, 0, NICE) == 0)
		priority->nice = NICE;
	ordinary_set(priority->nice);
	/* The default slack of 50 us would make every tick that late. */
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
}

void vg_priority_raise(const struct vg_priority *priority)
{
	if (priority->can_raise)
		real_time_set();
}

void vg_priority_lower(const struct vg_priority *priority)
{
	if (priority->can_raise)
		ordinary_set(priority->nice);
}
