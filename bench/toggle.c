/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What vignetted's sampling costs a server that is under load all the time: it is switched on and off
 * in turn, in a process of its own that is the helper but for that, and each window with it is compared
 * with the mean of its two neighbours without.  What a machine's other guests do to both differs little
 * in so short a time.
 *
 *     toggle redis|redis-pipelined|nginx PORT PAIRS WINDOW_MS PID HZ
 *
 * Prints what load_compare() does, then whether interrupts were still in use at the end.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/load.h"
#include "vignetted/loop.h"
#include "vignetted/session.h"

enum { SETTLE_MS = 2000, TASKS_MAX = 64 };

static struct vg_session session;

/* What vg_loop_run() does, for so long; ticks are not due while it does not. */
static void sample_for(uint64_t window_ns)
{
	uint64_t end_ns = load_now_ns() + window_ns, now;

	while ((now = load_now_ns()) < end_ns) {
		uint64_t until_ns = session.ticks.due_ns < end_ns ? session.ticks.due_ns : end_ns;
		struct timespec left = { 0, until_ns > now ? (long)(until_ns - now) : 0 };

		ppoll(NULL, 0, &left, NULL);
		vg_tracer_settle(&session.tracer);
		if (vg_ticks_due(&session.ticks, load_now_ns()))
			vg_session_tick(&session);
	}
	/* What stops late would stand still for the next window. */
	while (!vg_tracer_settle(&session.tracer))
		usleep(100);
}

/* When sampling was switched off, and what had run by then. */
static struct {
	uint64_t at_ns, cpu_ns;
	bool timers_enabled;
	struct vg_task_look looks[TASKS_MAX];
} off;

/* The kernel's timers are off without, too, whatever the session has weighed. */
static void sampling_off(void)
{
	off.timers_enabled = session.interrupts.enabled;
	vg_interrupts_enable(&session.interrupts, false);
	session.interrupts.enabled = off.timers_enabled;
	for (size_t i = 0; i < session.tasks.live.count && i < TASKS_MAX; i++)
		vg_task_look(&session.tasks, &session.tasks.live.items[i], &off.looks[i]);
	off.cpu_ns = vg_target_cpu_ns(&session.target);
	off.at_ns = load_now_ns();
}

static void task_skip(struct vg_task *task, const struct vg_task_look *before, uint64_t gap_ns)
{
	struct vg_task_look look;
	uint64_t cpu_ns;

	if (vg_task_look(&session.tasks, task, &look) != 0)
		return;
	cpu_ns = look.cpu_ns - before->cpu_ns;
	task->weighed_ready_ns += cpu_ns + look.queued_ns - before->queued_ns;
	task->look.cpu_ns += cpu_ns;
	task->look.slices += look.slices - before->slices;
	task->look.queued_ns += look.queued_ns - before->queued_ns;
	task->weighed_ns += gap_ns;
	task->looked_ns += gap_ns;
	for (uint32_t r = 0; r < VG_RECORDINGS; r++) {
		task->accounts[r].cpu_ns += cpu_ns;
		task->accounts[r].last_ns += gap_ns;
		task->accounts[r].queued_ns += look.queued_ns - before->queued_ns;
	}
}

/* To the session, the time without it has not been. */
static void sampling_on(void)
{
	uint64_t gap_ns = load_now_ns() - off.at_ns;
	uint64_t cpu_ns = vg_target_cpu_ns(&session.target) - off.cpu_ns;

	session.weighed_ns += gap_ns;
	session.round_ns += gap_ns;
	session.ticks.due_ns += gap_ns;
	session.ticks.period_end_ns += gap_ns;
	session.weighed_cpu_ns += cpu_ns;
	session.target_cpu_ns += cpu_ns;
	for (size_t i = 0; i < session.tasks.live.count && i < TASKS_MAX; i++)
		task_skip(&session.tasks.live.items[i], &off.looks[i], gap_ns);
	vg_interrupts_enable(&session.interrupts, off.timers_enabled);
}

static void session_start(pid_t pid, int hz)
{
	struct vg_session_options options = { .max_frames = 16384, .events_fd = -1 };
	struct vg_recording *recording;
	struct vg_err err;

	options.period_ns = 1000000000 / (uint64_t)hz;
	if (vg_session_open(&session, &options, pid, false, &err) == 0 &&
	    vg_session_begin(&session, &options, open("/dev/null", O_WRONLY), &recording, &err) == 0)
		return;
	fprintf(stderr, "toggle: %s\n", err.text);
	exit(1);
}

int main(int argc, char **argv)
{
	const struct load_sampler sampler = { sampling_on, sample_for, sampling_off };

	if (argc != 7) {
		fprintf(stderr, "usage: toggle LOAD PORT PAIRS WINDOW_MS PID HZ\n");
		return 2;
	}
	vg_loop_signals();
	load_start(argv[1], atoi(argv[2]));
	session_start(atoi(argv[5]), atoi(argv[6]));
	sample_for(SETTLE_MS * UINT64_C(1000000));
	sampling_off();
	load_compare(&sampler, atoi(argv[3]), (uint64_t)atoi(argv[4]) * 1000000);
	printf("interrupts %d\n", session.interrupts.event_count > 0);
	return 0;
}
