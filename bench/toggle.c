/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Measures what vignetted's sampling costs a server that is always under load.  Switches the sampling on and off, and
 * compares each window with sampling to the two windows beside it.  Windows are so short that the machine's other
 * guests disturb neighbouring windows nearly equally.  This process itself runs a session of the helper, so that it can
 * switch the sampling off.
 *
 *     toggle LOAD WHERE PAIRS WINDOW_MS PID HZ [FLOOR]
 *
 * LOAD and WHERE are the first two arguments of compare_load().  FLOOR replaces vignetted's sampling by a sampler of
 * floors.h; "stop" is vignetted without timers.  Prints what compare_run() prints.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/compare.h"
#include "bench/floors.h"
#include "vignetted/serve/loop.h"
#include "vignetted/session/session.h"
#include "vignetted/session/timer_samples.h"

enum { TASKS_MAX = 64, RINGS_BYTES = 128 << 20 };

static struct vg_session session;

/* Samples as vg_loop_run() does, until end_fd can be read. */
static void sample(int end_fd)
{
	struct pollfd end = { .fd = end_fd, .events = POLLIN };

	for (;;) {
		vg_loop_wait(&session, &end, 1);
		if (end.revents != 0)
			break;
		if (vg_ticks_due(&session.ticks, vg_now_ns()))
			vg_session_tick(&session);
	}
	/* Otherwise a thread whose stop is pending would stop in the next window, and stay stopped. */
	vg_tracer_pending_wait(&session.tracer);
}

/* The time at which sampling was switched off, and the process's CPU time and the threads' activities at that time. */
static struct {
	uint64_t at_ns, cpu_ns;
	struct vg_task_activity activities[TASKS_MAX];
} off;

/* Closes the timers and their rings, and fills `off`. */
static void sampling_off(void)
{
	vg_timer_samples_fetch(&session);
	vg_timers_close(&session.timers);
	for (size_t i = 0; i < session.tasks.live.count && i < TASKS_MAX; i++)
		vg_task_activity_read(&session.tasks, &session.tasks.live.items[i], &off.activities[i]);
	off.cpu_ns = vg_target_cpu_ns(&session.target);
	off.at_ns = vg_now_ns();
}

/* Takes the thread's activity while sampling was off (the gap) out of the session's balances. */
static void task_skip(struct vg_task *task, const struct vg_task_activity *before, uint64_t gap_ns)
{
	struct vg_task_activity activity;
	uint64_t cpu_ns, queued_ns;

	if (vg_task_activity_read(&session.tasks, task, &activity) != 0)
		return;
	cpu_ns = activity.cpu_ns - before->cpu_ns;
	queued_ns = activity.queued_ns - before->queued_ns;
	task->activity.cpu_ns += cpu_ns;
	task->activity.timeslices += activity.timeslices - before->timeslices;
	task->activity.queued_ns += queued_ns;
	task->timers.step.at_ns += gap_ns;
	task->timers.step.cpu_ns += cpu_ns;
	task->timers.step.queued_ns += queued_ns;
	task->timers.step.timeslices += activity.timeslices - before->timeslices;
	for (uint32_t r = 0; r < VG_RECORDINGS_MAX; r++) {
		struct vg_account *account = &task->accounts[r];

		account->last_ns += gap_ns;
		account->weights.time_ns += gap_ns;
		account->weights.cpu_ns += cpu_ns;
		account->weights.queued_ns += queued_ns;
	}
}

/* Makes the session continue as if the time without sampling had not passed. */
static void sampling_on(void)
{
	uint64_t gap_ns = vg_now_ns() - off.at_ns;
	struct vg_tasks *tasks = &session.tasks;

	session.activity.round_ns += gap_ns;
	session.activity.process_cpu_ns += vg_target_cpu_ns(&session.target) - off.cpu_ns;
	session.ticks.due_ns += gap_ns;
	session.ticks.period_end_ns += gap_ns;
	session.pace.at_ns += gap_ns;
	for (size_t i = 0; i < tasks->live.count && i < TASKS_MAX; i++)
		task_skip(&tasks->live.items[i], &off.activities[i], gap_ns);
	if (session.timers.mean_period_ns != 0 &&
	    vg_timers_open(&session.timers, session.target.pid, tasks->live.items, tasks->live.count,
			   session.timers.mean_period_ns, RINGS_BYTES) != 0) {
		fprintf(stderr, "toggle: cannot open the timers again\n");
		exit(1);
	}
	for (size_t i = 0; i < tasks->live.count; i++) {
		struct vg_task *task = &tasks->live.items[i];

		task->timers.open = task->timers.open && vg_timers_add(&session.timers, task->tid) == 0;
	}
}

static void session_start(pid_t pid, uint64_t period_ns, bool stop_always)
{
	struct vg_session_options options = {
		.max_frames = 16384, .events_fd = -1, .period_ns = period_ns, .stop_always = stop_always,
	};
	struct vg_recording *recording;
	struct vg_err err;

	if (vg_session_open(&session, &options, pid, false, &err) == 0 &&
	    vg_session_start(&session, &options, &err) == 0 &&
	    vg_session_begin(&session, &options, open("/dev/null", O_WRONLY), &recording, &err) == 0)
		return;
	fprintf(stderr, "toggle: %s\n", err.text);
	exit(1);
}

/* vg_tracer_capture() waits for SIGCHLD, which must be blocked.  Unlike the helper, this process ends at SIGINT and
 * SIGTERM. */
static void child_signal_block(void)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
}

int main(int argc, char **argv)
{
	const struct sampler sampling = { sampling_on, sample, sampling_off };
	const struct sampler *floor;
	uint64_t period_ns;
	bool stop_always;
	pid_t pid;

	if (argc != 7 && argc != 8) {
		fprintf(stderr, "usage: toggle LOAD WHERE PAIRS WINDOW_MS PID HZ [FLOOR]\n");
		return 2;
	}
	child_signal_block();
	compare_load(argv[1], argv[2], (uint64_t)atoi(argv[4]) * 1000000);
	pid = atoi(argv[5]);
	period_ns = 1000000000 / (uint64_t)atoi(argv[6]);
	stop_always = argc == 8 && strcmp(argv[7], "stop") == 0;
	if (argc == 8 && !stop_always) {
		floor = floors_begin(argv[7], pid, period_ns);
		if (floor == NULL) {
			fprintf(stderr, "toggle: %s: no such floor\n", argv[7]);
			return 2;
		}
		compare_run(floor, atoi(argv[3]));
		return 0;
	}
	session_start(pid, period_ns, stop_always);
	compare_settle(&sampling);
	sampling_off();
	compare_run(&sampling, atoi(argv[3]));
	return 0;
}
