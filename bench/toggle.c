/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What vignetted's sampling costs a server that is under load all the time: it is switched on and off
 * three times a second, in a process of its own that is the helper but for that, and each window
 * with it is compared with the mean of its two neighbours without.  What a machine's other
 * guests do to both differs little in so short a time.
 *
 *     toggle redis|nginx PORT PID HZ PAIRS WINDOW_MS
 *
 * Prints for each pair the change of throughput in % and the requests a second without.  Then, as
 * "p99", that percentile of latency without and with, in us, for each of ten parts of the run.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "bench/server.h"
#include "vignetted/loop.h"
#include "vignetted/priority.h"
#include "vignetted/session.h"

enum { ASK_EVERY_US = 500, ASKS_MAX = 1 << 16, PARTS = 10, SETTLE_MS = 2000 };

/* Latencies of one part of the run, without and with. */
static struct {
	uint64_t ns[ASKS_MAX];
	size_t count;
} asked[PARTS][2];

static _Atomic int part, sampled;
static const struct server *server;
static int port;
static struct vg_session session;

static void *asking_thread(void *unused)
{
	int fd = server_connect(port);
	static char answer[1 << 16];
	size_t length = 0;

	for (;;) {
		uint64_t since_ns = now_ns();
		int in = atomic_load(&part), with = atomic_load(&sampled);

		length = server_ask(fd, server->ask, answer, sizeof answer, length);
		if (with >= 0 && asked[in][with].count < ASKS_MAX)
			asked[in][with].ns[asked[in][with].count++] = now_ns() - since_ns;
		usleep(ASK_EVERY_US);
	}
	return unused;
}

/* What vg_loop_run() does, for so long; ticks are not due while it does not. */
static void sample_for(uint64_t window_ns)
{
	uint64_t end_ns = now_ns() + window_ns, now;

	vg_ticks_start(&session.ticks, session.ticks.period_ns, now_ns());
	while ((now = now_ns()) < end_ns) {
		uint64_t until_ns = session.ticks.due_ns < end_ns ? session.ticks.due_ns : end_ns;
		struct timespec left = { 0, until_ns > now ? (long)(until_ns - now) : 0 };

		ppoll(NULL, 0, &left, NULL);
		vg_tracer_settle(&session.tracer);
		if (vg_ticks_due(&session.ticks, now_ns()))
			vg_session_tick(&session);
	}
	/* What stops late would stand still for the next window. */
	while (!vg_tracer_settle(&session.tracer))
		usleep(100);
}

/* What was known at the latest round is as if it had been just now: in the window without, the helper
 * was not there. */
static void time_skip(void)
{
	uint64_t now_ns = vg_now_ns(), cpu_ns = vg_target_cpu_ns(&session.target);

	session.weighed_ns += now_ns - (session.begin_ns + session.round_ns);
	session.weighed_cpu_ns += cpu_ns - session.target_cpu_ns;
	session.target_cpu_ns = cpu_ns;
	for (size_t i = 0; i < session.tasks.live.count; i++) {
		struct vg_task *task = &session.tasks.live.items[i];
		struct vg_task_look before = task->look;

		if (vg_task_look(&session.tasks, task, &task->look) != 0)
			continue;
		task->weighed_ready_ns += task->look.cpu_ns - before.cpu_ns +
					  task->look.queued_ns - before.queued_ns;
		task->weighed_ns += now_ns - session.begin_ns - task->looked_ns;
		task->looked_ns = now_ns - session.begin_ns;
		for (uint32_t r = 0; r < VG_RECORDINGS; r++)
			task->accounts[r].cpu_ns += task->look.cpu_ns - before.cpu_ns;
	}
}

/* The kernel's timers are off without, too, whatever the session has weighed. */
static void sampled_window_run(uint64_t window_ns)
{
	bool enabled;

	time_skip();
	vg_interrupts_enable(&session.interrupts, session.interrupts.enabled);
	sample_for(window_ns);
	enabled = session.interrupts.enabled;
	vg_interrupts_enable(&session.interrupts, false);
	session.interrupts.enabled = enabled;
}

/* Requests a second. */
static double window_run(int fd, int with, uint64_t window_ns)
{
	double before = server_counter(fd, server);
	uint64_t begin_ns = now_ns();

	atomic_store(&sampled, with);
	if (with)
		sampled_window_run(window_ns);
	else
		usleep((useconds_t)(window_ns / 1000));
	return (server_counter(fd, server) - before) / (double)(now_ns() - begin_ns) * 1e9;
}

static double p99_us(int in, int with)
{
	size_t count = asked[in][with].count;

	if (count == 0)
		return 0;
	qsort(asked[in][with].ns, count, sizeof *asked[in][with].ns, server_order);
	return (double)asked[in][with].ns[count - 1 - count / 100] / 1000;
}

int main(int argc, char **argv)
{
	struct vg_session_options options = { .max_frames = 16384, .events_fd = -1 };
	double before, with, after;
	uint64_t window_ns;
	struct vg_recording *recording;
	struct vg_err err;
	pthread_t thread;
	int fd, pairs;

	if (argc != 7) {
		fprintf(stderr, "usage: toggle redis|nginx PORT PID HZ PAIRS WINDOW_MS\n");
		return 2;
	}
	server = server_named(argv[1]);
	port = atoi(argv[2]);
	fd = server_connect(port);
	options.period_ns = 1000000000 / (uint64_t)atoi(argv[4]);
	pairs = atoi(argv[5]);
	window_ns = (uint64_t)atoi(argv[6]) * 1000000;
	vg_loop_signals();
	atomic_store(&sampled, -1);
	pthread_create(&thread, NULL, asking_thread, NULL);
	vg_priority_raise();
	if (vg_session_open(&session, &options, atoi(argv[3]), false, &err) != 0 ||
	    vg_session_begin(&session, &options, open("/dev/null", O_WRONLY), &recording, &err) != 0) {
		fprintf(stderr, "toggle: %s\n", err.text);
		return 1;
	}
	sampled_window_run(SETTLE_MS * UINT64_C(1000000));
	before = window_run(fd, 0, window_ns);
	for (int i = 0; i < pairs; i++) {
		atomic_store(&part, i * PARTS / pairs);
		with = window_run(fd, 1, window_ns);
		after = window_run(fd, 0, window_ns);
		printf("%.4f %.1f\n", 100 * (with / ((before + after) / 2) - 1), after);
		before = after;
	}
	for (int i = 0; i < PARTS; i++)
		printf("p99 %.1f %.1f\n", p99_us(i, 0), p99_us(i, 1));
	printf("interrupts %d\n", session.interrupts.event_count > 0);
	return 0;
}
