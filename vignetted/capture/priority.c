/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/priority.h"

#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sched_attr.h"

/* A short slice puts us before others that want longer ones (Linux 6.12). */
enum { NICE = -15, SLICE_NS = 100 * 1000 };

/* A policy left takes with it the credit that it held: whoever waits for the CPU has it next, and we come
 * back later, so that going back at once after each stop costs two switches of a busy CPU and, at 1 kHz, a
 * program that needs both a twentieth of its speed.  Not lowered so soon after we woke, we go to sleep in
 * most cases, which nobody waits for the end of. */
enum { STAY_NS = 300 * 1000 };

/* Keeps the nice value and the slice, so that going back is always allowed. */
static bool policy_set(int policy, int priority)
{
	return sched_setscheduler(0, policy, &(struct sched_param){ .sched_priority = priority }) == 0;
}

/* The default slack of 50 us would make every tick that late. */
static void slack_set(void)
{
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
}

/* Under this limit the kernel adds up what a real-time thread uses until it sleeps as one, and we sleep
 * as an ordinary one. */
static bool real_time_is_limited(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_RTTIME, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

/* Back to what we are while nothing stands still, with the slice, which for an ordinary thread is the runtime that it wishes
 * for. */
static void policy_restore(struct vg_priority *priority)
{
	struct vg_sched_attr attributes = {
		.size = sizeof attributes, .policy = SCHED_OTHER, .nice = priority->nice, .runtime_ns = SLICE_NS,
	};

	priority->raised = false;
	if (syscall(SYS_sched_setattr, 0, &attributes, 0) != 0)
		policy_set(SCHED_OTHER, 0);
	/* Since Linux 6.12 a real-time policy left brings the default back. */
	slack_set();
}

void vg_priority_begin(struct vg_priority *priority)
{
	*priority = (struct vg_priority){ 0 };
	slack_set();
	/* Whoever chose another policy for us knows why. */
	if (sched_getscheduler(0) != SCHED_OTHER)
		return;
	priority->can_raise = !real_time_is_limited() && policy_set(SCHED_FIFO, 1);
	priority->nice = getpriority(PRIO_PROCESS, 0);
	if (!priority->can_raise && priority->nice > NICE && setpriority(PRIO_PROCESS, 0, NICE) == 0)
		priority->nice = NICE;
	policy_restore(priority);
}

void vg_priority_raise(struct vg_priority *priority)
{
	priority->used = true;
	if (priority->raised || !priority->can_raise)
		return;
	priority->raised = true;
	policy_set(SCHED_FIFO, 1);
}

void vg_priority_rest(struct vg_priority *priority)
{
	if (priority->raised)
		policy_restore(priority);
}

void vg_priority_lower(struct vg_priority *priority)
{
	if (priority->raised && vg_now_ns() - priority->woken_ns >= STAY_NS)
		vg_priority_rest(priority);
}

void vg_priority_woken(struct vg_priority *priority)
{
	if (!priority->used)
		vg_priority_rest(priority);
	priority->used = false;
	priority->woken_ns = vg_now_ns();
}
