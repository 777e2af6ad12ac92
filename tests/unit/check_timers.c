/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Running threads sampled in the kernel's interrupts; or stopped, where this machine has none. */
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libvgctl/vgctl.h"
#include "tests/spin.h"
#include "tests/unit/suites.h"
#include "tests/unit/taken.h"

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

/* Whether the kernel lets us have them. */
static bool available(void)
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

static uint64_t stat(const struct taken *taken, const char *name)
{
	const struct vg_count *count = vg_profile_count(&taken->profile, &taken->profile.stats, name);

	ck_assert_msg(count != NULL, "no %s in the profile", name);
	return count->value;
}

/* CPU time and not time: others may want the CPU too. */
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

/* CPU time of the samples of one thread, or of all. */
static uint64_t sampled_ns(const struct taken *taken, uint32_t thread)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < taken->profile.samples.count; i++) {
		const struct vg_sample *sample = &taken->profile.samples.items[i];

		if (thread == VG_NONE || sample->thread == thread)
			sum_ns += sample->cpu_ns;
	}
	return sum_ns;
}

static void spinning_check(enum vgctl_mode mode, int stop_always)
{
	bool interrupted = available() && !stop_always;
	uint64_t before_ns = spin_cpu_ns(), used_ns, due = (uint64_t)SPIN_MS * HZ / 1000;
	struct vgctl_session *session = session_begin(mode, stop_always);
	struct taken taken;

	spin_ms(SPIN_MS);
	used_ns = spin_cpu_ns() - before_ns;
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	taken_read(&taken, path);
	if (interrupted) {
		/* On a busy machine threads switch often, and stops may seem to cost less for a while. */
		ck_assert_uint_ge(stat(&taken, "interrupts"), due / 25);
		ck_assert_uint_le(stat(&taken, "interrupts"), due * 5 / 4);
		ck_assert_uint_le(stat(&taken, "stops"), due * 3 / 2);
		/* Of what the kernel took, nothing is lost. */
		ck_assert_uint_ge(taken.profile.samples_total, stat(&taken, "interrupts"));
	} else {
		ck_assert_uint_eq(stat(&taken, "interrupts"), 0);
		ck_assert_uint_ge(stat(&taken, "stops"), 10);
	}
	/* Within a fifth, and what the scheduler's tick hides. */
	ck_assert_uint_ge(sampled_ns(&taken, VG_NONE) + 20000000, used_ns * 4 / 5);
	ck_assert_uint_le(sampled_ns(&taken, VG_NONE), used_ns * 6 / 5 + 20000000);
	for (size_t i = 0; i < taken.profile.samples.count; i++)
		ck_assert_uint_eq(taken.profile.samples.items[i].end, VG_WALK_ROOT);
	taken_free(&taken);
}

START_TEST(wall) { spinning_check(VGCTL_WALL, 0); }
END_TEST
START_TEST(cpu) { spinning_check(VGCTL_CPU, 0); }
END_TEST
START_TEST(wall_stopped) { spinning_check(VGCTL_WALL, 1); }
END_TEST
START_TEST(cpu_stopped) { spinning_check(VGCTL_CPU, 1); }
END_TEST

/* Threads made during the session are sampled as they run, each for its own time. */
START_TEST(new_threads)
{
	static const uintptr_t spins_ms[] = { 100, 200, 300 };
	struct vgctl_session *session = session_begin(VGCTL_WALL, 0);
	uint64_t sum_ns = 0;
	struct taken taken;
	pthread_t threads[3];

	/* So that this thread has timers, too. */
	spin_ms(50);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, spinning_thread, (void *)spins_ms[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	taken_read(&taken, path);
	ck_assert_uint_eq(taken.profile.threads.count, 4);
	for (uint32_t i = 1; i < 4; i++) {
		uint64_t thread_ns = sampled_ns(&taken, i);

		ck_assert_uint_ge(thread_ns + 20000000, spins_ms[i - 1] * 800000);
		sum_ns += thread_ns;
	}
	ck_assert_uint_le(sum_ns, 600 * 1200000);
	/* They have timers, though they came later. */
	if (available())
		ck_assert_uint_ge(stat(&taken, "interrupts"), 600 * HZ / 1000 / 5);
	taken_free(&taken);
}
END_TEST

/* While the thread computes, the helper wakes seldom.  When it naps, each period has its sample again. */
START_TEST(naps_after_work)
{
	struct vgctl_session *session = session_begin(VGCTL_WALL, 0);
	uint64_t begin_ns = spin_now_ns(), naps_ns, samples = 0, skipped = 0;
	const struct vg_count *lost;
	struct taken taken;

	spin_ms(1500);
	naps_ns = spin_now_ns() - begin_ns + 500000000;
	for (uint64_t end_ns = spin_now_ns() + 1500000000; spin_now_ns() < end_ns;)
		usleep(1000);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	taken_read(&taken, path);
	for (size_t i = 0; i < taken.profile.samples.count; i++)
		samples += taken.profile.samples.items[i].time_ns > naps_ns;
	lost = vg_profile_count(&taken.profile, &taken.profile.lost, "ticks_skipped");
	skipped = lost != NULL ? lost->value : 0;
	/* A second has 499; with wide ticks it would have 40. */
	ck_assert_uint_ge(samples + skipped, 150);
	taken_free(&taken);
}
END_TEST

/* What a child does after fork(2) is not of the session. */
START_TEST(child_is_not_sampled)
{
	struct vgctl_session *session = session_begin(VGCTL_CPU, 0);
	struct taken taken;
	pid_t child = fork();

	if (child == 0) {
		spin_ms(SPIN_MS);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	taken_read(&taken, path);
	ck_assert_uint_eq(taken.profile.threads.count, 1);
	ck_assert_uint_le(sampled_ns(&taken, VG_NONE), 50000000);
	taken_free(&taken);
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
	sink += frame[0];                /* no tail call */
}

/* A stack that is larger than any interrupt copies: by stops, and whole all the same. */
START_TEST(deep)
{
	struct vgctl_session *session = session_begin(VGCTL_CPU, 0);
	size_t whole = 0;
	struct taken taken;

	recurse(1000);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	taken_read(&taken, path);
	for (size_t i = 0; i < taken.profile.samples.count; i++)
		whole += taken.profile.samples.items[i].end == VG_WALK_ROOT;
	ck_assert_uint_ge(stat(&taken, "stops"), 10);
	ck_assert_uint_ge(taken.profile.samples.count, 10);
	ck_assert_uint_ge(whole + 2, taken.profile.samples.count);
	taken_free(&taken);
}
END_TEST

Suite *timers_suite(void)
{
	Suite *suite = suite_create("timers");
	TCase *tests = tcase_create("host");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, wall);
	tcase_add_test(tests, cpu);
	tcase_add_test(tests, wall_stopped);
	tcase_add_test(tests, cpu_stopped);
	tcase_add_test(tests, new_threads);
	tcase_add_test(tests, naps_after_work);
	tcase_add_test(tests, child_is_not_sampled);
	tcase_add_test(tests, deep);
	suite_add_tcase(suite, tests);
	return suite;
}
