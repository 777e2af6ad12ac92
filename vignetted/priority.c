/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/priority.h"

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

void vg_priority_begin(struct vg_priority *priority)
{
	/* For an ordinary thread the runtime is the slice that it wishes for: a short one puts it
	 * before others that want long ones. */
	struct attributes attributes = { .size = sizeof attributes, .runtime_ns = SLICE_NS };

	priority->nice = attributes.nice = getpriority(PRIO_PROCESS, 0);
	syscall(SYS_sched_setattr, 0, &attributes, 0);
	/* The default slack of 50 us would make every tick that late. */
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	priority->can_raise = priority->nice > NICE && setpriority(PRIO_PROCESS, 0, NICE) == 0;
	vg_priority_lower(priority);
}

void vg_priority_raise(const struct vg_priority *priority)
{
	if (priority->can_raise)
		setpriority(PRIO_PROCESS, 0, NICE);
}

void vg_priority_lower(const struct vg_priority *priority)
{
	if (priority->can_raise)
		setpriority(PRIO_PROCESS, 0, priority->nice);
}
