/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A session whose threads are files of the test: which threads a round visits, which samples count as lost, and what
 * the session's recordings share. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/fixture.h"
#include "tests/unit/suites.h"
#include "vignetted/session/recording.h"
#include "vignetted/session/round.h"
#include "vignetted/session/session.h"
#include "vignetted/session/threads.h"

enum { FIRST_TID = 100, MS = 1000 * 1000, PERIOD_NS = 10 * MS, AGE_MS = 1000 };

static struct vg_session session;
static char path[64];
static int profiles[2];

/* Two recordings that began 1 s ago, with the session.  The directory in a tmpfs stands for /proc/PID/task. */
static void setup(void)
{
	memset(&session, 0, sizeof session);
	snprintf(path, sizeof path, "/dev/shm/session-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(path));
	session.tasks.directory = opendir(path);
	ck_assert_ptr_nonnull(session.tasks.directory);
	session.tasks.link_count = 2;
	session.begin_ns = vg_now_ns() - (uint64_t)AGE_MS * MS;
	session.live = 1;
	session.periods_per_tick = 1;
	session.ticks.period_ns = PERIOD_NS;
	session.scheduler_tick_ns = 4 * MS;
	session.target.pidfd = -1;
	session.target.cpu_clock = 1 << 20; /* no such clock: the process's CPU time is not known */
	session.tracer.schedstat = -1;
	session.modules.memory = &session.memory;
	session.walker = (struct vg_walker){
		.modules = &session.modules, .memory = &session.memory, .tasks = &session.tasks,
		.priority = &session.tracer.priority,
	};
	for (uint32_t i = 0; i < 2; i++) {
		struct vg_recording *recording = &session.recordings[i];

		profiles[i] = memfd_create("profile", MFD_CLOEXEC);
		vg_recorder_open(&recording->recorder, profiles[i], 0, UINT64_MAX, &session.modules);
		recording->index = i;
		recording->options.period_ns = recording->period_now_ns = PERIOD_NS;
		recording->options.max_frames = 64;
		recording->begin_ns = session.begin_ns;
		recording->next_checkpoint_ns = UINT64_MAX;
	}
}

static void file_remove(pid_t tid, const char *name)
{
	char file[64];

	snprintf(file, sizeof file, "%d/%s", tid, name);
	unlinkat(vg_tasks_directory(&session.tasks), file, 0);
}

static void teardown(void)
{
	static const char *const names[] = { "schedstat", "syscall", "stat" };

	for (size_t i = 0; i < session.tasks.live.count; i++) {
		pid_t tid = session.tasks.live.items[i].tid;
		char name[16];

		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			file_remove(tid, names[k]);
		snprintf(name, sizeof name, "%d", tid);
		unlinkat(vg_tasks_directory(&session.tasks), name, AT_REMOVEDIR);
	}
	rmdir(path);
	vg_tasks_close(&session.tasks);
	for (uint32_t i = 0; i < 2; i++) {
		vg_recorder_free(&session.recordings[i].recorder);
		close(profiles[i]);
	}
}

static void file_write(pid_t tid, const char *name, const char *text)
{
	fixture_thread_file(vg_tasks_directory(&session.tasks), tid, name, text);
}

/* Adds threads that the first recording has, with this text in schedstat.  Without a file `syscall`, a thread counts as
 * running. */
static void threads_add(int count, const char *schedstat)
{
	for (int i = 0; i < count; i++) {
		struct vg_task task = {
			.tid = FIRST_TID + i, .files = { -1, -1 }, .seen = true, .in_profiles = 1,
		};
		char name[16];

		snprintf(name, sizeof name, "%d", task.tid);
		ck_assert_int_eq(mkdirat(vg_tasks_directory(&session.tasks), name, 0700), 0);
		file_write(task.tid, "schedstat", schedstat);
		ck_assert_int_eq(vg_array_push(&session.tasks.live, &task), 0);
		session.tasks.link_count++;
	}
}

/* Starts a child that the tracer waits for: as long as the child does not stop, the tracer stops no other thread. */
static pid_t pending_begin(void)
{
	pid_t child = fork();

	if (child == 0) {
		for (;;)
			pause();
	}
	ck_assert_int_gt(child, 0);
	session.tracer.pending = child;
	return child;
}

static void pending_end(pid_t child)
{
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
}

/* ---- rounds ---- */

enum { THREADS = 40, VISITS = 16, ROUND_MAX_MS = 1000 };

static uint64_t lost(enum vg_loss loss)
{
	return session.recordings[0].recorder.losses.samples[loss];
}

/* Waits until the test's first thread waits in openat(2), and then for the longest time of a round.  The first thread
 * opens a FIFO, which takes until this function opens it, too. */
static void *fifo_open_late(void *name)
{
	char call[16], text[256];
	int fd;

	snprintf(call, sizeof call, "%d ", (int)SYS_openat);
	do {
		snprintf(text, sizeof text, "/proc/self/task/%d/syscall", getpid());
		fd = open(text, O_RDONLY | O_CLOEXEC);
		text[fd >= 0 && read(fd, text, sizeof call) > 0 ? sizeof call : 0] = '\0';
		close(fd);
		usleep(1000);
	} while (strncmp(text, call, strlen(call)) != 0);
	usleep((ROUND_MAX_MS + 1) * 1000);
	fd = open(name, O_WRONLY | O_CLOEXEC);
	close(fd);
	return NULL;
}

/* A round that takes too long ends before some threads.  The next round begins there: otherwise the same threads would
 * never be sampled. */
START_TEST(long_round_is_continued)
{
	pid_t child = pending_begin();
	pthread_t opener;
	char fifo[96];

	threads_add(THREADS, "1000 0 5");
	/* A round begins at index `at` + 1.  Reading its first thread takes too long. */
	file_remove(FIRST_TID + 1, "schedstat");
	snprintf(fifo, sizeof fifo, "%s/%d/schedstat", path, FIRST_TID + 1);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	ck_assert_int_eq(pthread_create(&opener, NULL, fifo_open_late, fifo), 0);
	vg_round(&session, 1);
	pthread_join(opener, NULL);
	for (int i = 0; i < THREADS; i++)
		ck_assert_uint_eq(session.tasks.live.items[i].activity.timeslices, i > 1 && i <= VISITS ? 5 : 0);
	ck_assert_uint_eq(lost(VG_LOSS_ROUND_TIMEOUT), THREADS - VISITS);
	ck_assert_uint_eq(session.round.at, VISITS);
	pending_end(child);
}
END_TEST

/* A thread with timers has had much queue time in no sample, so it is stopped to find it in the run queue.  Another
 * thread has no timers, and its sample is due.  Neither stops in time.  Only the second one loses a sample. */
START_TEST(stop_for_queue_time_is_no_loss)
{
	static struct vg_ring ring;
	bool with_timers = _i != 0;
	pid_t child = pending_begin();
	struct vg_task *task;

	threads_add(1, "1000 900000000 5");
	task = &session.tasks.live.items[0];
	session.timers = (struct vg_timers){ .rings = &ring, .mean_period_ns = PERIOD_NS, .capacity = 16 };
	task->accounts[0].weights.observed = true;
	if (with_timers) {
		task->timers.open = true;
		task->timers.policy = (struct vg_policy){ .decided = true, .timers = true };
		task->timers.step.cpu_ns = 1000;
		task->timers.step.timeslices = 5;
	}
	vg_round(&session, 1);
	ck_assert_int_eq(task->timers.queue_due, with_timers);
	ck_assert_uint_eq(lost(VG_LOSS_NOT_STOPPED), !with_timers);
	session.timers = (struct vg_timers){ 0 };
	pending_end(child);
}
END_TEST

/* ---- threads ---- */

/* The name that the host has given to a thread stays, whatever name the kernel has. */
START_TEST(name_of_the_host_is_kept)
{
	struct vg_task *task;

	threads_add(1, "1000 0 5");
	task = &session.tasks.live.items[0];
	file_write(task->tid, "stat", "100 (kernel) S 1 ");
	session.recordings[0].options.thread_names = true;
	task->host_name = 1;
	vg_threads_name_read(&session, task, MS);
	ck_assert_uint_eq(task->accounts[0].name_number, 0);
	ck_assert_str_eq(task->name, "");
	task->host_name = 0;
	vg_threads_name_read(&session, task, MS);
	ck_assert_uint_eq(task->accounts[0].name_number, 1);
	ck_assert_str_eq(task->name, "kernel");
}
END_TEST

/* ---- several recordings ---- */

/* {budgets of two recordings, the session's} */
static const uint32_t budgets[][3] = {
	{ 0, 0, 0 }, { 10000, 0, 0 }, { 0, 10000, 0 }, { 10000, 20000, 20000 }, { 20000, 10000, 20000 },
};

/* A recording without a budget keeps its rate, whatever budget another one has.  The session's rate is that of the
 * faster one. */
START_TEST(budgets_of_two_recordings)
{
	session.live = 3;
	session.stop_always = true;
	for (int i = 0; i < 2; i++)
		session.recordings[i].options.budget_ppm = budgets[_i][i];
	for (int faster = 0; faster < 2; faster++) {
		for (int i = 0; i < 2; i++) {
			uint64_t period_ns = i == faster ? PERIOD_NS / 2 : PERIOD_NS;

			session.recordings[i].options.period_ns = session.recordings[i].period_now_ns = period_ns;
		}
		session.changed = true;
		vg_session_tick(&session);
		ck_assert_uint_eq(session.budget.ppm, budgets[_i][2]);
		ck_assert_uint_eq(session.ticks.period_ns, PERIOD_NS / 2);
	}
}
END_TEST

/* The CPU time of a recording's only thread.  Another thread takes its id with execve(2), and has used less. */
START_TEST(cpu_time_of_the_only_thread)
{
	static const uint64_t totals[][2] = { { 1000, 0 }, { 1500, 500 }, { 20, 0 }, { 120, 100 } };
	struct vg_recording recording = { .options = { .thread = FIRST_TID } };

	for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
		vg_recording_thread_cpu(&recording, totals[i][0]);
		ck_assert_uint_eq(vg_recording_cpu_used_ns(&recording, 1000000), totals[i][1]);
	}
	recording = (struct vg_recording){ .counts_at_begin.process_cpu_ns = 300 };
	vg_recording_thread_cpu(&recording, 1000);
	ck_assert_uint_eq(vg_recording_cpu_used_ns(&recording, 1000), 700);
}
END_TEST

/* The last recording of a session stops.  It has the events up to then, also those that no round has fetched. */
START_TEST(events_up_to_the_stop)
{
	struct vg_events *events = &session.events;
	struct vg_recording *recording = &session.recordings[0];
	struct vg_lane *lane;

	threads_add(1, "1000 0 5");
	events->lanes = calloc(VG_LANES, sizeof *events->lanes);
	events->shared = mmap(NULL, sizeof *events->shared, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ck_assert_ptr_nonnull(events->lanes);
	ck_assert_ptr_ne(events->shared, MAP_FAILED);
	lane = &events->shared->lanes[0];
	events->shared->used = lane->taken = lane->claims = 1;
	lane->owner = FIRST_TID;
	vg_events_begin(events, session.begin_ns);
	vg_events_recording_begin(events, 0, &recording->recorder.writer, &recording->recorder.threads, 0);
	events->shared->records[0][0].time_ns = session.begin_ns + MS;
	events->shared->records[0][0].type_and_labels = VG_LANE_INSTANT;
	lane->head = 1;
	vg_recording_stop(&session, recording, "over");
	ck_assert_uint_eq(events->profiles[0].recorded, 1);
	ck_assert_uint_eq(lane->tail, 1);
	ck_assert_uint_eq(session.live, 0);
	ck_assert_str_eq(recording->ended, "over");
	vg_events_recording_end(events, 0);
	vg_events_close(events);
}
END_TEST

Suite *session_suite(void)
{
	Suite *suite = suite_create("session");
	TCase *tests = tcase_create("session");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, long_round_is_continued);
	tcase_add_loop_test(tests, stop_for_queue_time_is_no_loss, 0, 2);
	tcase_add_test(tests, name_of_the_host_is_kept);
	tcase_add_loop_test(tests, budgets_of_two_recordings, 0, sizeof budgets / sizeof *budgets);
	tcase_add_test(tests, cpu_time_of_the_only_thread);
	tcase_add_test(tests, events_up_to_the_stop);
	suite_add_tcase(suite, tests);
	return suite;
}
