/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/priority.h"

#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/system_calls.h"

/* The scheduler prefers a thread that asks for a shorter timeslice (Linux 6.12). */
enum { NICE = -15, SLICE_NS = 100 * 1000 };

/* Lowering the priority gives the CPU to any queued thread, and we get it back only later.  Lowering after each stop
 * would cost two context switches on a busy CPU.  At 1 kHz a program that uses two CPUs would lose 5 % of its speed.
 * So the priority is kept for this time after we woke.  In most cases we sleep again before it ends. */
enum { STAY_RAISED_NS = 300 * 1000 };

/* sched_setscheduler(2) keeps the nice value and the timeslice, so lowering is always allowed. */
static bool policy_set(int policy, int priority)
{
	return sched_setscheduler(0, policy, &(struct sched_param){ .sched_priority = priority }) == 0;
}

/* With the default timer slack every tick would be 50 us late. */
static void timer_slack_set(void)
{
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
}

/* Under RLIMIT_RTTIME we must not raise the priority.  The kernel adds up the CPU time of a real-time thread until the
 * thread sleeps with its real-time priority.  We sleep with an ordinary priority, so the sum would reach the limit. */
static bool real_time_is_limited(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_RTTIME, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

/* Restores the ordinary policy and the short timeslice.  With SCHED_OTHER, sched_setattr(2) takes the field `runtime`
 * as the timeslice. */
static void policy_restore(struct vg_priority *priority)
{
	struct vg_sched_attr attributes = {
		.size = sizeof attributes, .policy = SCHED_OTHER, .nice = priority->nice, .runtime_ns = SLICE_NS,
	};

	priority->raised = false;
	if (syscall(SYS_sched_setattr, 0, &attributes, 0) != 0)
		policy_set(SCHED_OTHER, 0);
	/* Since Linux 6.12 leaving a real-time policy resets the timer slack to the default. */
	timer_slack_set();
}

void vg_priority_begin(struct vg_priority *priority)
{
	*priority = (struct vg_priority){ 0 };
	timer_slack_set();
	/* Keep a scheduling policy that was chosen for us. */
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

void vg_priority_lower_now(struct vg_priority *priority)
{
	if (priority->raised)
		policy_restore(priority);
}

void vg_priority_lower(struct vg_priority *priority)
{
	if (priority->raised && vg_now_ns() - priority->woken_ns >= STAY_RAISED_NS)
		vg_priority_lower_now(priority);
}

void vg_priority_woken(struct vg_priority *priority)
{
	if (!priority->used)
		vg_priority_lower_now(priority);
	priority->used = false;
	priority->woken_ns = vg_now_ns();
}
