/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Running threads are sampled by timers, or stopped if this machine allows no timers. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libvgctl/vgctl.h"
#include "tests/spin.h"
#include "tests/unit/suites.h"
#include "tests/unit/recorded.h"
#include "vignetted/session/session.h"

enum { HZ = 499, SPIN_MS = 400 };

static char path[64];
static volatile long sink;

static void setup(void)
{
	snprintf(path, sizeof path, "check_timers.%d.vgp", getpid());
}

static void teardown(void)
{
	unlink(path);
}

/* True if the kernel allows timers. */
static bool timers_allowed(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = 1000000, .exclude_kernel = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		close((int)fd);
	return fd >= 0;
}

static struct vgctl_session *session_begin(enum vgctl_mode mode, int stop_always)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;

	options.rate_hz = HZ;
	options.mode = mode;
	options.stop_always = stop_always;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	return session;
}

static uint64_t stat(const struct recorded *recorded, const char *name)
{
	const struct vg_count *count = vg_profile_count(&recorded->profile, &recorded->profile.stats, name);

	ck_assert_msg(count != NULL, "no %s in the profile", name);
	return count->value;
}

/* Spins for that much CPU time. Other processes may use the CPU meanwhile. */
static __attribute__((noinline)) void spin_ms(uint64_t ms)
{
	uint64_t end_ns = spin_cpu_ns() + ms * 1000000;

	while (spin_cpu_ns() < end_ns) {
		for (int i = 0; i < 20000; i++)
			sink += i;
	}
}

static void *spinning_thread(void *ms)
{
	spin_ms((uintptr_t)ms);
	return NULL;
}

/* CPU time of one thread's samples, or of all samples. */
static uint64_t sampled_ns(const struct recorded *recorded, uint32_t thread)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < recorded->profile.samples.count; i++) {
		const struct vg_sample *sample = &recorded->profile.samples.items[i];

		if (thread == VG_NONE || sample->thread == thread)
			sum_ns += sample->cpu_ns;
	}
	return sum_ns;
}

static void record_spinning(enum vgctl_mode mode, int stop_always)
{
	bool has_timers = timers_allowed() && !stop_always;
	uint64_t before_ns = spin_cpu_ns(), used_ns, due = (uint64_t)SPIN_MS * HZ / 1000;
	struct vgctl_session *session = session_begin(mode, stop_always);
	size_t complete = 0, truncated = 0;
	struct recorded recorded;

	spin_ms(SPIN_MS);
	used_ns = spin_cpu_ns() - before_ns;
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	recorded_read(&recorded, path);
	if (has_timers) {
		/* On a busy machine threads switch often, and the policy may prefer stops for a while. */
		ck_assert_uint_ge(stat(&recorded, "timer_samples"), due / 25);
		ck_assert_uint_le(stat(&recorded, "timer_samples"), due * 5 / 4);
		ck_assert_uint_le(stat(&recorded, "stops"), due * 3 / 2);
		/* No timer sample is lost. */
		ck_assert_uint_ge(recorded.profile.samples_total, stat(&recorded, "timer_samples"));
	} else {
		ck_assert_uint_eq(stat(&recorded, "timer_samples"), 0);
		ck_assert_uint_ge(stat(&recorded, "stops"), 10);
	}
	/* The difference is at most 20 %, plus 20 ms because the scheduler's CPU time may be late. */
	ck_assert_uint_ge(sampled_ns(&recorded, VG_NONE) + 20000000, used_ns * 4 / 5);
	ck_assert_uint_le(sampled_ns(&recorded, VG_NONE), used_ns * 6 / 5 + 20000000);
	/* One truncated stack is allowed: a check on a busy machine had one. */
	for (size_t i = 0; i < recorded.profile.samples.count; i++) {
		truncated += recorded.profile.samples.items[i].end == VG_WALK_TRUNCATED;
		complete += recorded.profile.samples.items[i].end == VG_WALK_ROOT;
	}
	ck_assert_uint_le(truncated, 1);
	ck_assert_uint_eq(complete + truncated, recorded.profile.samples.count);
	recorded_free(&recorded);
}

START_TEST(wall_mode) { record_spinning(VGCTL_WALL, 0); }
END_TEST
START_TEST(cpu_mode) { record_spinning(VGCTL_CPU, 0); }
END_TEST
START_TEST(wall_mode_with_stops) { record_spinning(VGCTL_WALL, 1); }
END_TEST
START_TEST(cpu_mode_with_stops) { record_spinning(VGCTL_CPU, 1); }
END_TEST

/* Threads that are created during the session have their own CPU time. */
START_TEST(new_threads)
{
	static const uintptr_t spins_ms[] = { 100, 200, 300 };
	struct vgctl_session *session = session_begin(VGCTL_WALL, 0);
	uint64_t sum_ns = 0;
	struct recorded recorded;
	pthread_t threads[3];

	/* Spins long enough that this thread gets timers. */
	spin_ms(50);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, spinning_thread, (void *)spins_ms[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	recorded_read(&recorded, path);
	ck_assert_uint_eq(recorded.profile.threads.count, 4);
	for (uint32_t i = 1; i < 4; i++) {
		uint64_t thread_ns = sampled_ns(&recorded, i);

		ck_assert_uint_ge(thread_ns + 20000000, spins_ms[i - 1] * 800000);
		sum_ns += thread_ns;
	}
	ck_assert_uint_le(sum_ns, 600 * 1200000);
	/* These threads have timers, too. */
	if (timers_allowed())
		ck_assert_uint_ge(stat(&recorded, "timer_samples"), 600 * HZ / 1000 / 5);
	recorded_free(&recorded);
}
END_TEST

/* While the thread computes, ticks are far apart. When it naps, each period has a sample again. */
START_TEST(naps_after_computing)
{
	struct vgctl_session *session = session_begin(VGCTL_WALL, 0);
	uint64_t begin_ns = spin_now_ns(), naps_ns, samples = 0, skipped = 0;
	const struct vg_count *lost;
	struct recorded recorded;

	spin_ms(1500);
	naps_ns = spin_now_ns() - begin_ns + 500000000;
	for (uint64_t end_ns = spin_now_ns() + 1500000000; spin_now_ns() < end_ns;)
		usleep(1000);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	recorded_read(&recorded, path);
	for (size_t i = 0; i < recorded.profile.samples.count; i++)
		samples += recorded.profile.samples.items[i].time_ns > naps_ns;
	lost = vg_profile_count(&recorded.profile, &recorded.profile.lost, "ticks_skipped");
	skipped = lost != NULL ? lost->value : 0;
	/* 499 samples a second are due. With ticks far apart there would be 40. */
	ck_assert_uint_ge(samples + skipped, 150);
	recorded_free(&recorded);
}
END_TEST

/* A child of fork(2) is not sampled. */
START_TEST(child_is_not_sampled)
{
	struct vgctl_session *session = session_begin(VGCTL_CPU, 0);
	struct recorded recorded;
	pid_t child = fork();

	if (child == 0) {
		spin_ms(SPIN_MS);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	recorded_read(&recorded, path);
	ck_assert_uint_eq(recorded.profile.threads.count, 1);
	ck_assert_uint_le(sampled_ns(&recorded, VG_NONE), 50000000);
	recorded_free(&recorded);
}
END_TEST

static __attribute__((noinline)) void recurse(int depth)
{
	volatile char frame[256];

	frame[0] = (char)depth;
	if (depth > 0)
		recurse(depth - 1);
	else
		spin_ms(SPIN_MS);
	sink += frame[0];                /* prevents a tail call */
}

/* The stack is larger than the copy of a timer sample. The thread is stopped instead, and its stacks are complete. */
START_TEST(deep_stack)
{
	struct vgctl_session *session = session_begin(VGCTL_CPU, 0);
	size_t complete = 0;
	struct recorded recorded;

	recurse(1000);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	recorded_read(&recorded, path);
	for (size_t i = 0; i < recorded.profile.samples.count; i++)
		complete += recorded.profile.samples.items[i].end == VG_WALK_ROOT;
	ck_assert_uint_ge(stat(&recorded, "stops"), 10);
	ck_assert_uint_ge(recorded.profile.samples.count, 10);
	ck_assert_uint_ge(complete + 2, recorded.profile.samples.count);
	recorded_free(&recorded);
}
END_TEST

static int descriptors_count(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	ck_assert_ptr_nonnull(directory);
	while (readdir(directory) != NULL)
		count++;
	closedir(directory);
	return count;
}

/* The timer that shows whether timers are allowed is closed again, and so are all timers and rings. */
START_TEST(descriptors_are_closed)
{
	const struct vg_task task = { .tid = gettid() };
	struct vg_timers timers = { 0 };
	bool user_only;
	int before = descriptors_count();

	ck_assert_int_eq(vg_timers_try(task.tid, &user_only) == 0, timers_allowed());
	ck_assert_int_eq(descriptors_count(), before);
	for (int i = 0; i < 3; i++) {
		if (vg_timers_open(&timers, getpid(), &task, 1, 10 * 1000 * 1000, 1 << 20) == 0)
			ck_assert_int_eq(vg_timers_add(&timers, task.tid), 0);
	}
	vg_timers_close(&timers);
	ck_assert_int_eq(descriptors_count(), before);
}
END_TEST

/* While a thread runs, its timers get other periods. If they do not, the test times out. */
START_TEST(periods_change)
{
	const struct vg_task task = { .tid = gettid() };
	uint64_t period_ns = 0, change_count = 0;
	struct vg_timer_record record;
	struct vg_timers timers = { 0 };
	cpu_set_t cpu, before;

	/* There is one timer for each CPU that the thread may run on. */
	ck_assert_int_eq(sched_getaffinity(0, sizeof before, &before), 0);
	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	ck_assert_int_eq(sched_setaffinity(0, sizeof cpu, &cpu), 0);
	if (vg_timers_open(&timers, getpid(), &task, 1, 1000 * 1000, 1 << 20) == 0) {
		ck_assert_int_eq(vg_timers_add(&timers, task.tid), 0);
		while (change_count < 4) {
			spin_ms(1);
			while (vg_timers_next(&timers, &record)) {
				if (record.kind != VG_TIMER_SAMPLE || record.sample.period_ns == period_ns)
					continue;
				period_ns = record.sample.period_ns;
				change_count++;
			}
		}
	}
	vg_timers_close(&timers);
	ck_assert_int_eq(sched_setaffinity(0, sizeof before, &before), 0);
}
END_TEST

/* ---- a session in this process ---- */

static struct vg_session own_session;

static void *spin_until_set(void *stopping)
{
	while (!atomic_load((atomic_bool *)stopping))
		;
	return NULL;
}

/* The child's second thread runs until *stopping is set. Then only the first thread lives, which waits. */
static pid_t child_begin(atomic_bool *stopping)
{
	pid_t child = fork();
	pthread_t thread;

	if (child != 0)
		return child;
	pthread_create(&thread, NULL, spin_until_set, stopping);
	pthread_join(thread, NULL);
	for (;;)
		pause();
}

/* Makes the session's ticks when they are due, until it has that many threads, and timers or no timers. */
static void ticks_until(size_t threads, bool timers)
{
	while (own_session.tasks.live.count != threads || (own_session.timers.count > 0) != timers) {
		if (vg_ticks_due(&own_session.ticks, vg_now_ns()))
			vg_session_tick(&own_session);
		else
			usleep(1000);
	}
}

/* If the timers stay open, the test times out. */
START_TEST(timers_of_an_exited_thread_are_closed)
{
	struct vg_session_options options = { .period_ns = 10 * 1000 * 1000, .max_frames = 64, .events_fd = -1 };
	atomic_bool *stopping = mmap(NULL, sizeof *stopping, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct vg_recording *recording;
	struct vg_err err = { 0 };
	sigset_t child_signal;
	pid_t child;

	sigemptyset(&child_signal);
	sigaddset(&child_signal, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child_signal, NULL);
	ck_assert_ptr_ne(stopping, MAP_FAILED);
	child = child_begin(stopping);
	ck_assert_int_eq(vg_session_open(&own_session, &options, child, false, &err), 0);
	ck_assert_int_eq(vg_session_start(&own_session, &options, &err), 0);
	ck_assert_int_eq(vg_session_begin(&own_session, &options, fd, &recording, &err), 0);
	if (own_session.timers.rings != NULL) {
		ticks_until(2, true);
		atomic_store(stopping, true);
		ticks_until(1, false);
	}
	ck_assert_int_eq(vg_session_end(&own_session, recording, "over"), 0);
	vg_session_close(&own_session);
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	close(fd);
}
END_TEST

Suite *timers_suite(void)
{
	Suite *suite = suite_create("timers");
	TCase *tests = tcase_create("host");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, wall_mode);
	tcase_add_test(tests, cpu_mode);
	tcase_add_test(tests, wall_mode_with_stops);
	tcase_add_test(tests, cpu_mode_with_stops);
	tcase_add_test(tests, new_threads);
	tcase_add_test(tests, naps_after_computing);
	tcase_add_test(tests, child_is_not_sampled);
	tcase_add_test(tests, deep_stack);
	tcase_add_test(tests, descriptors_are_closed);
	tcase_add_test(tests, periods_change);
	tcase_add_test(tests, timers_of_an_exited_thread_are_closed);
	suite_add_tcase(suite, tests);
	return suite;
}
