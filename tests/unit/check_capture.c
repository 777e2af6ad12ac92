/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether what is recorded is what the threads did: stacks, threads, modules, times. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <seccomp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libvgctl/vgctl.h"
#include "tests/spin.h"
#include "tests/unit/suites.h"
#include "tests/unit/taken.h"

enum { DEPTH = 3000 };

static char path[64];
static atomic_bool stopping;
static volatile long sink;

static void setup(void)
{
	snprintf(path, sizeof path, "check_capture.%d.vgp", getpid());
}

static void teardown(void)
{
	unlink(path);
}

static struct vgctl_session *session_begin(unsigned int rate_hz)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;

	options.rate_hz = rate_hz;
	options.thread_names = 1;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	return session;
}

static __attribute__((noinline)) void spin_here_ms(uint64_t ms)
{
	for (struct spin spin = spin_begin(ms); spin_on(&spin);) {
		for (int i = 0; i < 20000; i++)
			sink += i;
	}
}

static __attribute__((noinline)) void recurse(int depth, void (*at_bottom)(void))
{
	if (depth > 1)
		recurse(depth - 1, at_bottom);
	else
		at_bottom();
	sink++;                          /* no tail call */
}

/* ---- what a profile says ---- */

static const char *module_name(const struct taken *taken, uint32_t module)
{
	return module == VG_NONE ? NULL :
	       vg_profile_text(&taken->profile, taken->profile.modules.items[module].name);
}

/* Whether the frame is within `bytes` of a function of this program or its libraries. */
static bool frame_in(const struct taken *taken, const struct vg_stack *frame, const void *function,
		     size_t bytes)
{
	const struct vg_module *module;

	if (frame->module == VG_NONE)
		return false;
	module = &taken->profile.modules.items[frame->module];
	return module->base + frame->address - (uint64_t)function < bytes;
}

static size_t frames_in(const struct taken *taken, uint32_t stack, const void *function,
			size_t bytes)
{
	size_t count = 0;

	for (; stack != VG_NONE; stack = taken->profile.stacks.items[stack].parent)
		count += frame_in(taken, &taken->profile.stacks.items[stack], function, bytes);
	return count;
}

static const struct vg_thread *thread_named(const struct taken *taken, const char *name)
{
	for (size_t i = 0; i < taken->profile.threads.count; i++) {
		const struct vg_thread *thread = &taken->profile.threads.items[i];

		if (strcmp(vg_profile_text(&taken->profile, thread->name), name) == 0)
			return thread;
	}
	ck_abort_msg("no thread %s in the profile", name);
	return NULL;
}

/* ---- tests ---- */

static struct vgctl_session *sampling;

static void sample_at_bottom(void)
{
	ck_assert_int_eq(vgctl_sample(sampling), 0);
}

/* One sample at the bottom of a recursion.  On a busy machine one may be lost. */
static void deep_take(struct taken *taken, void (*descend)(int depth, void (*at_bottom)(void)), int depth)
{
	for (int tries = 0; tries < 20; tries++) {
		sampling = session_begin(VGCTL_ON_DEMAND);
		descend(depth, sample_at_bottom);
		ck_assert_int_eq(vgctl_end(sampling, NULL), 0);
		taken_read(taken, path);
		if (taken->profile.samples.count > 0)
			break;
		taken_free(taken);
	}
	ck_assert_uint_eq(taken->profile.samples.count, 1);
}

/* Recursion shows at its true depth, far deeper than the first snapshot reaches. */
START_TEST(true_depth)
{
	struct taken taken;

	deep_take(&taken, recurse, DEPTH);
	ck_assert_uint_eq(taken.profile.samples.items[0].end, VG_WALK_ROOT);
	ck_assert_uint_eq(frames_in(&taken, taken.profile.samples.items[0].stack, recurse, 128), DEPTH);
	taken_free(&taken);
}
END_TEST

/* In each call 16 KiB more of the stack. */
static __attribute__((noinline)) void recurse_wide(int depth, void (*at_bottom)(void))
{
	volatile char room[16 * 1024];

	room[0] = 1;
	if (depth > 1)
		recurse_wide(depth - 1, at_bottom);
	else
		at_bottom();
	sink += room[0];
}

/* A stack of which no more than a part is copied is cut visibly, too. */
START_TEST(cut_stack)
{
	struct taken taken;

	deep_take(&taken, recurse_wide, 100);
	ck_assert_uint_eq(taken.profile.samples.items[0].end, VG_WALK_SNAPSHOT);
	ck_assert_uint_ge(frames_in(&taken, taken.profile.samples.items[0].stack, recurse_wide, 1024), 50);
	taken_free(&taken);
}
END_TEST

/* max_frames cuts visibly. */
START_TEST(cut_depth)
{
	const struct vg_stack *leaf;
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct taken taken;

	options.rate_hz = VGCTL_ON_DEMAND;
	options.max_frames = 50;
	ck_assert_int_eq(vgctl_begin(path, &options, &sampling), 0);
	recurse(DEPTH, sample_at_bottom);
	ck_assert_int_eq(vgctl_end(sampling, NULL), 0);
	taken_read(&taken, path);
	ck_assert_uint_eq(taken.profile.samples.items[0].end, VG_WALK_DEPTH);
	leaf = &taken.profile.stacks.items[taken.profile.samples.items[0].stack];
	ck_assert_uint_eq(leaf->depth - (leaf->found == VG_FOUND_CALL), 50);
	taken_free(&taken);
}
END_TEST

/* The innermost frame is where the thread runs, not its caller. */
START_TEST(leaf_is_kept)
{
	struct vgctl_session *session = session_begin(499);
	struct taken taken;
	size_t leaves = 0;

	spin_here_ms(600);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	taken_read(&taken, path);
	for (size_t i = 0; i < taken.profile.samples.count; i++) {
		uint32_t stack = taken.profile.samples.items[i].stack;

		if (stack != VG_NONE)
			leaves += frame_in(&taken, &taken.profile.stacks.items[stack], spin_here_ms, 1024);
	}
	ck_assert_uint_ge(leaves * 100, taken.profile.samples.count * 80);
	taken_free(&taken);
}
END_TEST

static void *named_thread(void *name)
{
	pthread_setname_np(pthread_self(), name);
	while (!atomic_load(&stopping))
		spin_here_ms(10);
	return NULL;
}

static void *short_thread(void *ignored)
{
	pthread_setname_np(pthread_self(), "short");
	spin_here_ms(300);
	return ignored;
}

static void *sleeping_thread(void *ignored)
{
	pthread_setname_np(pthread_self(), "sleeper");
	while (!atomic_load(&stopping))
		usleep(700 * 1000);
	return ignored;
}

/* Threads have their names, their beginnings and ends; wall weights add up to their time; a
 * sleeper is repeated, not stopped. */
START_TEST(threads)
{
	struct taken taken;
	pthread_t early, late, sleeper;
	const struct vg_thread *thread;
	struct vgctl_session *session;
	uint64_t wall_ns[8] = { 0 }, cpu_ns[8] = { 0 };
	uint64_t late_ns;

	pthread_create(&early, NULL, named_thread, "early");
	pthread_create(&sleeper, NULL, sleeping_thread, NULL);
	session = session_begin(199);
	spin_here_ms(500);
	pthread_create(&late, NULL, short_thread, NULL);
	late_ns = spin_now_ns();
	pthread_join(late, NULL);
	late_ns = spin_now_ns() - late_ns;
	spin_here_ms(500);
	atomic_store(&stopping, true);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	pthread_join(early, NULL);
	pthread_join(sleeper, NULL);

	taken_read(&taken, path);
	ck_assert_uint_eq(taken.profile.threads.count, 4);
	for (size_t i = 0; i < taken.profile.samples.count; i++) {
		const struct vg_sample *sample = &taken.profile.samples.items[i];

		wall_ns[sample->thread] += sample->wall_ns;
		cpu_ns[sample->thread] += sample->cpu_ns;
	}
	for (size_t i = 0; i < 4; i++) {
		uint64_t begin_ns = taken.profile.threads.items[i].begin_ns;
		uint64_t end_ns = taken.profile.threads.items[i].end_ns;
		uint64_t lived_ns = (end_ns < taken.profile.duration_ns ? end_ns :
				     taken.profile.duration_ns) - begin_ns;

		ck_assert_uint_le(wall_ns[i], lived_ns + 1000000);
		ck_assert_uint_ge(wall_ns[i] + 200000000, lived_ns);
		ck_assert_uint_le(cpu_ns[i], lived_ns + 20000000);
	}
	thread = thread_named(&taken, "short");
	ck_assert_uint_ge(thread->begin_ns, 450000000);
	ck_assert_uint_ne(thread->end_ns, UINT64_MAX);
	ck_assert_uint_le(thread->end_ns - thread->begin_ns, late_ns + 60000000);
	thread_named(&taken, "early");
	thread = thread_named(&taken, "sleeper");
	ck_assert_uint_le(cpu_ns[thread - taken.profile.threads.items], 20000000);
	taken_free(&taken);
}
END_TEST

/* The helper inherits that, and stops threads. */
static void interrupts_forbid(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	ck_assert_int_eq(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(perf_event_open), 0), 0);
	ck_assert_int_eq(seccomp_load(filter), 0);
	seccomp_release(filter);
}

static uint64_t napper_ran_ns;

static void *napping_thread(void *ignored)
{
	pthread_setname_np(pthread_self(), "napper");
	while (!atomic_load(&stopping)) {
		uint64_t woken_ns;

		usleep(1500 * 1000);
		woken_ns = spin_now_ns();
		spin_here_ms(300);
		if (!atomic_load(&stopping))
			napper_ran_ns += spin_now_ns() - woken_ns;
	}
	return ignored;
}

/* A thread that has slept for long beside others that run is seen to run when it wakes; and one that
 * was born and ended meanwhile was there. */
START_TEST(sleeper_wakes)
{
	uint64_t ran_ns = 0;
	struct vgctl_session *session;
	const struct vg_thread *napper;
	struct taken taken;
	pthread_t nap, late;

	interrupts_forbid();
	pthread_create(&nap, NULL, napping_thread, NULL);
	session = session_begin(199);
	spin_here_ms(1300);
	pthread_create(&late, NULL, short_thread, NULL);
	spin_here_ms(2500);
	pthread_join(late, NULL);
	atomic_store(&stopping, true);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	pthread_join(nap, NULL);
	taken_read(&taken, path);
	thread_named(&taken, "short");
	napper = thread_named(&taken, "napper");
	for (size_t i = 0; i < taken.profile.samples.count; i++) {
		const struct vg_sample *sample = &taken.profile.samples.items[i];

		if (napper != &taken.profile.threads.items[sample->thread])
			continue;
		if (sample->stack != VG_NONE &&
		    taken.profile.stacks.items[sample->stack].found != VG_FOUND_CALL)
			ran_ns += sample->wall_ns;
	}
	/* Of 3.8 s twice 0.3 or more. */
	ck_assert_uint_ge(ran_ns * 100, napper_ran_ns * 60);
	ck_assert_uint_le(ran_ns * 100, napper_ran_ns * 150 + 100 * UINT64_C(100000000));
	taken_free(&taken);
}
END_TEST

/* A program may put a person's name there. */
START_TEST(thread_names_only_if_asked_for)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	struct taken taken;
	pthread_t thread;

	options.rate_hz = VGCTL_ON_DEMAND;
	pthread_create(&thread, NULL, named_thread, "secret");
	usleep(20000);
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	ck_assert_int_eq(vgctl_sample(session), 0);
	pthread_setname_np(pthread_self(), "secret");
	ck_assert_int_eq(vgctl_sample(session), 0);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	taken_read(&taken, path);
	ck_assert_uint_ge(taken.profile.threads.count, 2);
	for (size_t i = 0; i < taken.profile.threads.count; i++)
		ck_assert_str_eq(vg_profile_text(&taken.profile, taken.profile.threads.items[i].name), "");
	ck_assert_ptr_null(memmem(taken.file.bytes, taken.file.length, "secret", 6));
	taken_free(&taken);
}
END_TEST

START_TEST(cpu_mode)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	struct taken taken;
	pthread_t sleeper;

	pthread_create(&sleeper, NULL, sleeping_thread, NULL);
	options.mode = VGCTL_CPU;
	options.rate_hz = 199;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	spin_here_ms(500);
	usleep(500 * 1000);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	atomic_store(&stopping, true);
	taken_read(&taken, path);
	/* The main thread spun for half the time; nobody else did. */
	ck_assert_uint_ge(taken.profile.samples.count, 30);
	ck_assert_uint_le(taken.profile.samples.count, 130);
	taken_free(&taken);
	pthread_join(sleeper, NULL);
}
END_TEST

/* Loads a library, runs in it, and unloads it.  Where it was loaded. */
static void *library_run(const char *library, uint64_t ms, void **function)
{
	void (*run)(uint64_t);
	void *handle = dlopen(library, RTLD_NOW);
	Dl_info info;

	ck_assert_msg(handle != NULL, "%s", dlerror());
	*(void **)&run = dlsym(handle, "fixture_run_ms");
	ck_assert_ptr_nonnull(run);
	*function = *(void **)&run;
	ck_assert_int_ne(dladdr(*function, &info), 0);
	run(ms);
	ck_assert_int_eq(dlclose(handle), 0);
	return info.dli_fbase;
}

/* Wall time of the samples with a frame in that module; of all samples for NULL.  Time and not
 * number, for on a busy machine ticks are skipped. */
static uint64_t time_in_ns(const struct taken *taken, const char *name)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < taken->profile.samples.count; i++) {
		uint32_t stack = taken->profile.samples.items[i].stack;

		if (name == NULL)
			sum_ns += taken->profile.samples.items[i].wall_ns;
		for (; name != NULL && stack != VG_NONE; stack = taken->profile.stacks.items[stack].parent) {
			const char *module = module_name(taken, taken->profile.stacks.items[stack].module);

			if (module != NULL && strcmp(module, name) == 0) {
				sum_ns += taken->profile.samples.items[i].wall_ns;
				break;
			}
		}
	}
	return sum_ns;
}

/* One library takes another's place in memory: each sample belongs to the one that was there. */
START_TEST(libraries_come_and_go)
{
	struct vgctl_session *session = session_begin(499);
	const struct vg_profile *profile;
	struct taken taken;
	size_t unloaded = 0;
	uint64_t begun_ns, between_ns, ended_ns;
	void *first, *second, *function;

	spin_here_ms(100);
	begun_ns = spin_now_ns();
	first = library_run(FIXTURE_A, 400, &function);
	between_ns = spin_now_ns();
	second = library_run(FIXTURE_B, 400, &function);
	ended_ns = spin_now_ns();
	ck_assert_ptr_eq(first, second);
	spin_here_ms(100);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	taken_read(&taken, path);
	profile = &taken.profile;
	ck_assert_uint_ge(time_in_ns(&taken, "fixture_a.so") * 100, (between_ns - begun_ns) * 75);
	ck_assert_uint_ge(time_in_ns(&taken, "fixture_b.so") * 100, (ended_ns - between_ns) * 75);
	for (size_t i = 0; i < profile->modules.count; i++) {
		const struct vg_module *module = &profile->modules.items[i];

		if (strncmp(module_name(&taken, (uint32_t)i), "fixture_", 8) == 0) {
			ck_assert_uint_eq(module->base, (uint64_t)first);
			unloaded += module->unload_ns != UINT64_MAX;
		}
	}
	ck_assert_uint_eq(unloaded, 2);
	taken_free(&taken);
}
END_TEST

static void *vdso_thread(void *ignored)
{
	struct timespec now;

	while (!atomic_load(&stopping)) {
		for (int i = 0; i < 1000; i++)
			clock_gettime(CLOCK_MONOTONIC, &now);
	}
	return ignored;
}

START_TEST(vdso_is_a_module)
{
	struct vgctl_session *session = session_begin(499);
	struct taken taken;
	pthread_t thread;

	pthread_create(&thread, NULL, vdso_thread, NULL);
	usleep(500 * 1000);
	atomic_store(&stopping, true);
	pthread_join(thread, NULL);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	taken_read(&taken, path);
	ck_assert_uint_ge(time_in_ns(&taken, "[vdso]"), 20 * 1000000);
	for (size_t i = 0; i < taken.profile.samples.count; i++)
		ck_assert_uint_eq(taken.profile.samples.items[i].end, VG_WALK_ROOT);
	taken_free(&taken);
}
END_TEST

Suite *capture_suite(void)
{
	Suite *suite = suite_create("capture");
	TCase *tests = tcase_create("host");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, true_depth);
	tcase_add_test(tests, cut_depth);
	tcase_add_test(tests, cut_stack);
	tcase_add_test(tests, leaf_is_kept);
	tcase_add_test(tests, threads);
	tcase_add_test(tests, sleeper_wakes);
	tcase_add_test(tests, thread_names_only_if_asked_for);
	tcase_add_test(tests, cpu_mode);
	tcase_add_test(tests, libraries_come_and_go);
	tcase_add_test(tests, vdso_is_a_module);
	suite_add_tcase(suite, tests);
	return suite;
}
