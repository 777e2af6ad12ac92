/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Running threads are sampled by timers, or stopped if this machine allows no timers.
 *
 * The machine may give the helper no CPU for a second. So a test records again, for longer, until there are enough
 * samples. The CPU time in the samples is the kernel's count, so missing samples make no difference: only the time
 * since the latest sample may be missing. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libvgctl/vgctl.h"
#include "tests/spin.h"
#include "tests/unit/fixture.h"
#include "tests/unit/suites.h"
#include "tests/unit/recorded.h"
#include "vignetted/session/session.h"

enum { HZ = 499, SPIN_MS = 250 };

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
	int clock = fixture_task_clock_open();

	if (clock >= 0)
		close(clock);
	return clock >= 0;
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

/* CPU time of the samples of one thread, or of all threads, and the time of the latest of them. */
struct sampled {
	uint64_t cpu_ns, latest_ns;
};

static struct sampled sampled_of(const struct recorded *recorded, uint32_t thread)
{
	struct sampled sampled = { 0 };

	for (size_t i = 0; i < recorded->profile.samples.count; i++) {
		const struct vg_sample *sample = &recorded->profile.samples.items[i];

		if (thread != VG_NONE && sample->thread != thread)
			continue;
		sampled.cpu_ns += sample->cpu_ns;
		sampled.latest_ns = sample->time_ns > sampled.latest_ns ? sample->time_ns : sampled.latest_ns;
	}
	return sampled;
}

/* What the thread used while it spun, besides the profile of this. Timers run on the task-clock, which may be more
 * than the CPU time (fixture_task_clock_open()). */
struct spun {
	uint64_t cpu_ns, clock_ns, wall_ns;
};

/* Closes the task-clock of fixture_task_clock_open(). Returns its time; at least cpu_ns, also if it was not open. */
static uint64_t task_clock_end(int clock, uint64_t cpu_ns)
{
	uint64_t clock_ns = fixture_task_clock_ns(clock);

	if (clock >= 0)
		close(clock);
	return clock_ns > cpu_ns ? clock_ns : cpu_ns;
}

/* Spins for that CPU time in a session. */
static struct spun record_spinning_ms(struct recorded *recorded, enum vgctl_mode mode, int stop_always, uint64_t ms)
{
	uint64_t cpu_ns = spin_cpu_ns(), now_ns = spin_now_ns();
	int clock = fixture_task_clock_open();
	struct vgctl_session *session = session_begin(mode, stop_always);
	struct spun spun;

	spin_ms(ms);
	spun.cpu_ns = spin_cpu_ns() - cpu_ns;
	spun.clock_ns = task_clock_end(clock, spun.cpu_ns);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	spun.wall_ns = spin_now_ns() - now_ns;
	recorded_read(recorded, path);
	return spun;
}

static void record_spinning(enum vgctl_mode mode, int stop_always)
{
	bool has_timers = timers_allowed() && !stop_always;
	const char *kind = has_timers ? "timer_samples" : "stops";
	uint64_t tail_ns;
	struct recorded recorded;
	struct sampled sampled;
	struct spun spun;

	for (uint64_t ms = SPIN_MS;; ms *= 2) {
		spun = record_spinning_ms(&recorded, mode, stop_always, ms);
		if (stat(&recorded, kind) >= 20 && recorded_few_truncated(&recorded.profile))
			break;
		recorded_free(&recorded);
	}
	if (has_timers) {
		/* Stops happen at ticks. */
		ck_assert_uint_le(stat(&recorded, "timer_samples"), spun.clock_ns / 1000000 * HZ / 1000 * 5 / 4);
		ck_assert_uint_le(stat(&recorded, "stops"), spun.wall_ns / 1000000 * HZ / 1000 * 3 / 2);
		/* No timer sample is lost. */
		ck_assert_uint_ge(recorded.profile.samples_total, stat(&recorded, "timer_samples"));
	} else {
		ck_assert_uint_eq(stat(&recorded, "timer_samples"), 0);
	}
	/* The difference is at most 20 %, plus 20 ms because the scheduler's CPU time may be late. A helper that gets no CPU
	 * declares what it could not sample. */
	sampled = sampled_of(&recorded, VG_NONE);
	tail_ns = recorded.profile.duration_ns - sampled.latest_ns;
	ck_assert_uint_ge(sampled.cpu_ns + stat(&recorded, "cpu_unsampled_ns") + tail_ns + 20000000, spun.cpu_ns * 4 / 5);
	ck_assert_uint_le(sampled.cpu_ns, spun.clock_ns * 6 / 5 + 20000000);
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

/* A thread of the session. Its vgctl_sample() makes sure that the helper has seen it before it exits. */
struct spinner {
	struct vgctl_session *session;
	uint64_t ms, clock_ns; /* clock_ns: its task-clock, at least its CPU time */
};

static void *spinning_thread(void *argument)
{
	struct spinner *spinner = argument;
	int clock = fixture_task_clock_open();

	spin_ms(spinner->ms);
	ck_assert_int_eq(vgctl_sample(spinner->session), 0);
	spinner->clock_ns = task_clock_end(clock, spin_cpu_ns());
	return NULL;
}

/* The threads spin for 60, 120 and 180 ms of CPU time, each `times` as long. Returns the sum of their task-clocks. */
static uint64_t record_new_threads(struct recorded *recorded, uint64_t times)
{
	struct vgctl_session *session = session_begin(VGCTL_WALL, 0);
	struct spinner spinners[3];
	pthread_t threads[3];

	/* Spins long enough that this thread gets timers. */
	spin_ms(50);
	for (uint64_t i = 0; i < 3; i++) {
		spinners[i] = (struct spinner){ .session = session, .ms = (i + 1) * 60 * times };
		pthread_create(&threads[i], NULL, spinning_thread, &spinners[i]);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	recorded_read(recorded, path);
	return spinners[0].clock_ns + spinners[1].clock_ns + spinners[2].clock_ns;
}

/* A helper that gets no CPU meanwhile has no sample of a thread: its time is in cpu_unsampled_ns. */
static bool new_threads_have_cpu(const struct recorded *recorded)
{
	for (uint32_t i = 1; i < recorded->profile.threads.count; i++) {
		if (sampled_of(recorded, i).cpu_ns == 0)
			return false;
	}
	return true;
}

/* Threads that are created during the session have their own CPU time. They have timers, too. */
START_TEST(new_threads)
{
	uint64_t sum_ns = 0, clock_ns, times = 1;
	struct recorded recorded;

	for (;; times *= 2) {
		clock_ns = record_new_threads(&recorded, times);
		if ((!timers_allowed() || stat(&recorded, "timer_samples") >= 360 * HZ / 1000 / 5) &&
		    new_threads_have_cpu(&recorded))
			break;
		recorded_free(&recorded);
	}
	ck_assert_uint_eq(recorded.profile.threads.count, 4);
	for (uint32_t i = 1; i < 4; i++) {
		const struct vg_thread *thread = &recorded.profile.threads.items[i];
		struct sampled sampled = sampled_of(&recorded, i);
		uint64_t end_ns = thread->end_ns < recorded.profile.duration_ns ? thread->end_ns :
				  recorded.profile.duration_ns;

		ck_assert_uint_ge(sampled.cpu_ns + stat(&recorded, "cpu_unsampled_ns") + (end_ns - sampled.latest_ns) + 20000000,
				  i * 60 * times * 800000);
		sum_ns += sampled.cpu_ns;
	}
	ck_assert_uint_le(sum_ns, clock_ns / 5 * 6);
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
		spin_ms(200);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	recorded_read(&recorded, path);
	ck_assert_uint_eq(recorded.profile.threads.count, 1);
	ck_assert_uint_le(sampled_of(&recorded, VG_NONE).cpu_ns, 50000000);
	recorded_free(&recorded);
}
END_TEST

static __attribute__((noinline)) void recurse(int depth, uint64_t ms)
{
	volatile char frame[256];

	frame[0] = (char)depth;
	if (depth > 0)
		recurse(depth - 1, ms);
	else
		spin_ms(ms);
	sink += frame[0];                /* prevents a tail call */
}

/* The stack is larger than the copy of a timer sample. The thread is stopped instead, and its stacks are complete. */
START_TEST(deep_stack)
{
	size_t complete = 0, count;
	struct recorded recorded;

	for (uint64_t ms = 200;; ms *= 2) {
		struct vgctl_session *session = session_begin(VGCTL_CPU, 0);

		recurse(1000, ms);
		ck_assert_int_eq(vgctl_end(session, NULL), 0);
		recorded_read(&recorded, path);
		count = recorded.profile.samples.count;
		if (count >= 10 && stat(&recorded, "stops") >= 10)
			break;
		recorded_free(&recorded);
	}
	for (size_t i = 0; i < count; i++)
		complete += recorded.profile.samples.items[i].end == VG_WALK_ROOT;
	ck_assert_uint_ge(complete + 2, count);
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

/* ---- a session in this process: the test makes its ticks ---- */

static struct vg_session own_session;
static struct vg_recording *own_recording;
static pid_t child;
static int own_fd;

/* shared with the child; the test sets it to make the child go on */
static atomic_bool *go_on;

static void *spin_until_set(void *ignored)
{
	while (!atomic_load(go_on))
		;
	return ignored;
}

/* The child's second thread runs until *go_on is set. Then only the first thread lives, which waits. */
static void two_threads(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, spin_until_set, NULL);
	pthread_join(thread, NULL);
	for (;;)
		pause();
}

/* The child computes until *go_on is set. Then it naps. */
static void compute_and_nap(void)
{
	spin_until_set(NULL);
	/* Long naps: a thread that waits longer for a CPU than it naps counts as one that computes. */
	for (;;)
		usleep(20000);
}

/* Begins a session that samples a child, which runs that function, every 10 ms. */
static void own_begin(void (*run)(void))
{
	struct vg_session_options options = { .period_ns = 10 * 1000 * 1000, .max_frames = 64, .events_fd = -1 };
	struct vg_err err = { 0 };
	sigset_t child_signal;

	sigemptyset(&child_signal);
	sigaddset(&child_signal, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child_signal, NULL);
	own_fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	go_on = mmap(NULL, sizeof *go_on, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(go_on, MAP_FAILED);
	child = fork();
	if (child == 0)
		run();
	ck_assert_int_eq(vg_session_open(&own_session, &options, child, false, &err), 0);
	ck_assert_int_eq(vg_session_start(&own_session, &options, &err), 0);
	ck_assert_int_eq(vg_session_begin(&own_session, &options, own_fd, &own_recording, &err), 0);
}

static void own_end(void)
{
	ck_assert_int_eq(vg_session_end(&own_session, own_recording, "over"), 0);
	vg_session_close(&own_session);
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	close(own_fd);
}

/* Makes a tick if one is due. Otherwise waits. Like the helper, releases a thread that has stopped late. */
static void tick_or_wait(void)
{
	vg_tracer_pending_release(&own_session.tracer);
	if (vg_ticks_due(&own_session.ticks, vg_now_ns()))
		vg_session_tick(&own_session);
	else
		usleep(1000);
}

/* Makes ticks until the session has that many threads, and timers or no timers. */
static void ticks_until(size_t threads, bool timers)
{
	while (own_session.tasks.live.count != threads || (own_session.timers.count > 0) != timers)
		tick_or_wait();
}

/* If the timers stay open, the test times out. */
START_TEST(timers_of_an_exited_thread_are_closed)
{
	own_begin(two_threads);
	if (own_session.timers.rings != NULL) {
		ticks_until(2, true);
		atomic_store(go_on, true);
		ticks_until(1, false);
	}
	own_end();
}
END_TEST

/* While the thread computes, ticks are far apart. When it naps, each period has a tick and a sample again. If ticks
 * stay as they are, the test times out. */
START_TEST(naps_after_computing)
{
	own_begin(compute_and_nap);
	if (own_session.timers.rings != NULL) {
		uint64_t samples;

		while (own_session.periods_per_tick <= 1)
			tick_or_wait();
		atomic_store(go_on, true);
		/* On a busy machine the thread may count as one that computes again. */
		do {
			while (own_session.periods_per_tick > 1)
				tick_or_wait();
			samples = own_recording->recorder.samples;
			while (own_session.periods_per_tick == 1 && own_recording->recorder.samples < samples + 20)
				tick_or_wait();
		} while (own_session.periods_per_tick > 1);
	}
	own_end();
}
END_TEST

Suite *timers_suite(void)
{
	Suite *suite = suite_create("timers");
	TCase *tests = tcase_create("host");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, wall_mode);
	tcase_add_test(tests, cpu_mode);
	tcase_add_test(tests, wall_mode_with_stops);
	tcase_add_test(tests, cpu_mode_with_stops);
	tcase_add_test(tests, new_threads);
	tcase_add_test(tests, child_is_not_sampled);
	tcase_add_test(tests, deep_stack);
	tcase_add_test(tests, descriptors_are_closed);
	tcase_add_test(tests, periods_change);
	suite_add_tcase(suite, tests);
	tests = tcase_create("own_session");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, timers_of_an_exited_thread_are_closed);
	tcase_add_test(tests, naps_after_computing);
	suite_add_tcase(suite, tests);
	return suite;
}
