/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Timers of CPUs: by themselves, and under a program that switches so often that they take the place of its own.
 * Where the machine allows none, the others do. */
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libvgctl/vgctl.h"
#include "tests/spin.h"
#include "tests/unit/suites.h"
#include "tests/unit/taken.h"
#include "vignetted/capture/interrupts.h"

enum { PERIOD_NS = 2000000, SPIN_MS = 400, HZ = 199, USED_MS = 1000 };

static char path[64];
static int ends[2][2];
static uint64_t answerer_used_ns;

static void setup(void)
{
	snprintf(path, sizeof path, "check_cpu_timers.%d.vgp", getpid());
}

static void teardown(void)
{
	unlink(path);
}

/* The kernel asks for one thing, the helper's confinement for another. */
static bool available(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD_NS,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		close((int)fd);
	return fd >= 0 && syscall(SYS_capget, &header, data) == 0 &&
	       (data[0].effective & 1u << CAP_SYS_PTRACE) != 0;
}

/* Returns the samples that came while the thread used so much of a CPU, and may have been others'. */
static uint32_t spin_count(struct vg_interrupts *interrupts, uint64_t ms)
{
	uint64_t end_ns = spin_cpu_ns() + ms * 1000000, last_ns = 0;
	struct vg_interrupt interrupt;
	uint32_t count = 0;

	while (spin_cpu_ns() < end_ns) {
		/* Before a ring is full, of others' samples too. */
		for (uint64_t pause_ns = spin_now_ns() + 10000000; spin_now_ns() < pause_ns;)
			;
		while (vg_interrupts_next(interrupts, &interrupt)) {
			ck_assert_int_eq(interrupt.tid, gettid());
			ck_assert_int_eq(interrupt.owner, VG_INTERRUPTS_CPUS);
			ck_assert_uint_ge(interrupt.time_ns, last_ns);
			last_ns = interrupt.time_ns;
			count++;
		}
	}
	return count;
}

/* As many as the CPU time is due, and none of the processes beside, which keep all CPUs busy. */
START_TEST(others_are_passed_over)
{
	struct vg_interrupts interrupts = { .pid = getpid(), .max_bytes = 1 << 24 };
	struct vg_task task = { .tid = gettid() };
	uint32_t due = SPIN_MS * 1000000 / PERIOD_NS, at_rate, faster;
	pid_t others[2];

	if (!available())
		return;
	for (int i = 0; i < 2; i++) {
		others[i] = fork();
		if (others[i] == 0) {
			for (;;)
				;
		}
	}
	ck_assert_int_eq(vg_interrupts_open(&interrupts, &task, 1, PERIOD_NS), 0);
	ck_assert_int_eq(vg_interrupts_widen(&interrupts), 0);
	ck_assert(interrupts.wide && interrupts.enabled);
	at_rate = spin_count(&interrupts, SPIN_MS);
	vg_interrupts_vary(&interrupts, 500);
	faster = spin_count(&interrupts, SPIN_MS);
	vg_interrupts_close(&interrupts);
	ck_assert(!interrupts.wide);
	for (int i = 0; i < 2; i++) {
		kill(others[i], SIGKILL);
		waitpid(others[i], NULL, 0);
	}
	/* Where others have our CPU for longer, what a ring has no room for is lost. */
	if (interrupts.told.lost > 0)
		return;
	ck_assert_uint_ge(at_rate, due / 2);
	ck_assert_uint_le(at_rate, due * 3 / 2);
	ck_assert_uint_ge(faster, at_rate * 4 / 3);
}
END_TEST

/* Works for 50 us, then lets the other do so; until it has worked for so long in all. */
static void turns_take(int own)
{
	uint64_t end_ns = spin_cpu_ns() + (uint64_t)USED_MS * 1000000;
	char turn = 'x';

	while (spin_cpu_ns() < end_ns && read(ends[own][0], &turn, 1) == 1) {
		for (uint64_t until_ns = spin_cpu_ns() + 50000; spin_cpu_ns() < until_ns;)
			;
		if (write(ends[!own][1], &turn, 1) != 1)
			break;
	}
	/* Who waits for us is not to do so for ever. */
	close(ends[!own][1]);
}

static void *answerer(void *ignored)
{
	pthread_setname_np(pthread_self(), "answerer");
	turns_take(1);
	answerer_used_ns = spin_cpu_ns();
	return ignored;
}

static uint64_t stat(const struct taken *taken, const char *name)
{
	const struct vg_count *count = vg_profile_count(&taken->profile, &taken->profile.stats, name);

	ck_assert_msg(count != NULL, "no %s in the profile", name);
	return count->value;
}

/* Two threads that wait for each other 10,000 times a second: they are sampled as they run, and not stopped for
 * it; and each has the CPU time that it used, although it is met at random. */
START_TEST(switching_is_not_stopped)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	uint64_t before_ns = spin_cpu_ns(), used_ns[2], sampled_ns[2] = { 0 };
	struct vgctl_session *session;
	struct taken taken;
	pthread_t other;

	options.rate_hz = HZ;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	ck_assert_int_eq(pipe(ends[0]) + pipe(ends[1]), 0);
	pthread_create(&other, NULL, answerer, NULL);
	ck_assert_int_eq(write(ends[0][1], "x", 1), 1);
	turns_take(0);
	pthread_join(other, NULL);
	used_ns[0] = spin_cpu_ns() - before_ns;
	used_ns[1] = answerer_used_ns;
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	taken_read(&taken, path);
	ck_assert_uint_eq(taken.profile.threads.count, 2);
	for (size_t i = 0; i < taken.profile.samples.count; i++)
		sampled_ns[taken.profile.samples.items[i].thread] += taken.profile.samples.items[i].cpu_ns;
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_ge(sampled_ns[i] + 60000000, used_ns[i] * 9 / 10);
		ck_assert_uint_le(sampled_ns[i], used_ns[i] * 11 / 10 + 60000000);
	}
	if (available()) {
		uint64_t due = (used_ns[0] + used_ns[1]) * HZ / 1000000000;

		ck_assert_uint_ge(stat(&taken, "interrupts"), due / 2);
		ck_assert_uint_le(stat(&taken, "stops"), due / 2);
	}
	taken_free(&taken);
}
END_TEST

Suite *cpu_timers_suite(void)
{
	Suite *suite = suite_create("cpu_timers");
	TCase *tests = tcase_create("machine");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, others_are_passed_over);
	tcase_add_test(tests, switching_is_not_stopped);
	suite_add_tcase(suite, tests);
	return suite;
}
