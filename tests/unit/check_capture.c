/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Recordings of this process. The profile must show what the threads did: stacks, threads, modules, times. */
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
#include "tests/unit/recorded.h"

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

static __attribute__((noinline)) void recurse(int depth, void (*innermost)(void))
{
	if (depth > 1)
		recurse(depth - 1, innermost);
	else
		innermost();
	sink++;                          /* prevents a tail call */
}

/* ---- the profile ---- */

static const char *module_name(const struct recorded *recorded, uint32_t module)
{
	return module == VG_NONE ? NULL :
	       vg_profile_text(&recorded->profile, recorded->profile.modules.items[module].name);
}

/* True if the frame's address is within `bytes` of the start of the function. */
static bool frame_in(const struct recorded *recorded, const struct vg_stack *frame, const void *function,
		     size_t bytes)
{
	const struct vg_module *module;

	if (frame->module == VG_NONE)
		return false;
	module = &recorded->profile.modules.items[frame->module];
	return module->base + frame->address - (uint64_t)function < bytes;
}

static size_t frames_in(const struct recorded *recorded, uint32_t stack, const void *function,
			size_t bytes)
{
	size_t count = 0;

	for (; stack != VG_NONE; stack = recorded->profile.stacks.items[stack].parent)
		count += frame_in(recorded, &recorded->profile.stacks.items[stack], function, bytes);
	return count;
}

static const struct vg_thread *thread_named(const struct recorded *recorded, const char *name)
{
	for (size_t i = 0; i < recorded->profile.threads.count; i++) {
		const struct vg_thread *thread = &recorded->profile.threads.items[i];

		if (strcmp(vg_profile_text(&recorded->profile, thread->name), name) == 0)
			return thread;
	}
	ck_abort_msg("no thread %s in the profile", name);
	return NULL;
}

/* ---- tests ---- */

static struct vgctl_session *session_on_demand;

static void sample_innermost(void)
{
	ck_assert_int_eq(vgctl_sample(session_on_demand), 0);
}

/* Takes one sample in the innermost call of a recursion. Retries, because a sample may be lost on a busy machine. */
static void record_deep_stack(struct recorded *recorded, void (*descend)(int depth, void (*innermost)(void)), int depth)
{
	for (int attempts = 0; attempts < 20; attempts++) {
		session_on_demand = session_begin(VGCTL_ON_DEMAND);
		descend(depth, sample_innermost);
		ck_assert_int_eq(vgctl_end(session_on_demand, NULL), 0);
		recorded_read(recorded, path);
		if (recorded->profile.samples.count > 0)
			break;
		recorded_free(recorded);
	}
	ck_assert_uint_eq(recorded->profile.samples.count, 1);
}

/* The stack is far deeper than the first snapshot reaches. All of its frames are in the profile. */
START_TEST(deep_stack_is_complete)
{
	struct recorded recorded;

	record_deep_stack(&recorded, recurse, DEPTH);
	ck_assert_uint_eq(recorded.profile.samples.items[0].end, VG_WALK_ROOT);
	ck_assert_uint_eq(frames_in(&recorded, recorded.profile.samples.items[0].stack, recurse, 128), DEPTH);
	recorded_free(&recorded);
}
END_TEST

/* Each call uses 16 KiB of stack. */
static __attribute__((noinline)) void recurse_wide(int depth, void (*innermost)(void))
{
	volatile char large[16 * 1024];

	large[0] = 1;
	if (depth > 1)
		recurse_wide(depth - 1, innermost);
	else
		innermost();
	sink += large[0];
}

/* Only a part of a large stack is copied. The profile says that the stack is truncated. */
START_TEST(large_stack_is_truncated)
{
	struct recorded recorded;

	record_deep_stack(&recorded, recurse_wide, 100);
	ck_assert_uint_eq(recorded.profile.samples.items[0].end, VG_WALK_TRUNCATED);
	ck_assert_uint_ge(frames_in(&recorded, recorded.profile.samples.items[0].stack, recurse_wide, 1024), 50);
	recorded_free(&recorded);
}
END_TEST

/* The profile says that max_frames cut the stack. */
START_TEST(frame_limit)
{
	const struct vg_stack *leaf;
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct recorded recorded;

	options.rate_hz = VGCTL_ON_DEMAND;
	options.max_frames = 50;
	ck_assert_int_eq(vgctl_begin(path, &options, &session_on_demand), 0);
	recurse(DEPTH, sample_innermost);
	ck_assert_int_eq(vgctl_end(session_on_demand, NULL), 0);
	recorded_read(&recorded, path);
	ck_assert_uint_eq(recorded.profile.samples.items[0].end, VG_WALK_FRAME_LIMIT);
	leaf = &recorded.profile.stacks.items[recorded.profile.samples.items[0].stack];
	ck_assert_uint_eq(leaf->depth - (leaf->found_by == VG_FOUND_BY_SYSTEM_CALL), 50);
	recorded_free(&recorded);
}
END_TEST

/* The leaf frame is the function that runs, not its caller. */
START_TEST(leaf_frame)
{
	struct vgctl_session *session = session_begin(499);
	struct recorded recorded;
	size_t leaves = 0;

	spin_here_ms(600);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	recorded_read(&recorded, path);
	for (size_t i = 0; i < recorded.profile.samples.count; i++) {
		uint32_t stack = recorded.profile.samples.items[i].stack;

		if (stack != VG_NONE)
			leaves += frame_in(&recorded, &recorded.profile.stacks.items[stack], spin_here_ms, 1024);
	}
	ck_assert_uint_ge(leaves * 100, recorded.profile.samples.count * 80);
	recorded_free(&recorded);
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

/* Threads have their names and the times when they were created and exited. Wall times add up to a thread's life. A
 * sleeping thread is not stopped. */
START_TEST(threads_and_times)
{
	struct recorded recorded;
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

	recorded_read(&recorded, path);
	ck_assert_uint_eq(recorded.profile.threads.count, 4);
	for (size_t i = 0; i < recorded.profile.samples.count; i++) {
		const struct vg_sample *sample = &recorded.profile.samples.items[i];

		wall_ns[sample->thread] += sample->wall_ns;
		cpu_ns[sample->thread] += sample->cpu_ns;
	}
	for (size_t i = 0; i < 4; i++) {
		uint64_t begin_ns = recorded.profile.threads.items[i].begin_ns;
		uint64_t end_ns = recorded.profile.threads.items[i].end_ns;
		uint64_t life_ns = (end_ns < recorded.profile.duration_ns ? end_ns :
				    recorded.profile.duration_ns) - begin_ns;

		ck_assert_uint_le(wall_ns[i], life_ns + 1000000);
		ck_assert_uint_ge(wall_ns[i] + 200000000, life_ns);
		ck_assert_uint_le(cpu_ns[i], life_ns + 20000000);
	}
	thread = thread_named(&recorded, "short");
	ck_assert_uint_ge(thread->begin_ns, 450000000);
	ck_assert_uint_ne(thread->end_ns, UINT64_MAX);
	ck_assert_uint_le(thread->end_ns - thread->begin_ns, late_ns + 60000000);
	thread_named(&recorded, "early");
	thread = thread_named(&recorded, "sleeper");
	ck_assert_uint_le(cpu_ns[thread - recorded.profile.threads.items], 20000000);
	recorded_free(&recorded);
}
END_TEST

/* Sets a system call filter that forbids timers. The helper inherits the filter, so it stops threads instead. */
static void timers_forbid(void)
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

/* A thread sleeps for a long time while other threads run. When it wakes, it is sampled as running. Another thread,
 * which was created and exited meanwhile, is in the profile. */
START_TEST(sleeping_thread_wakes)
{
	uint64_t ran_ns = 0;
	struct vgctl_session *session;
	const struct vg_thread *napper;
	struct recorded recorded;
	pthread_t napper_thread, late;

	timers_forbid();
	pthread_create(&napper_thread, NULL, napping_thread, NULL);
	session = session_begin(199);
	spin_here_ms(1300);
	pthread_create(&late, NULL, short_thread, NULL);
	spin_here_ms(2500);
	pthread_join(late, NULL);
	atomic_store(&stopping, true);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	pthread_join(napper_thread, NULL);
	recorded_read(&recorded, path);
	thread_named(&recorded, "short");
	napper = thread_named(&recorded, "napper");
	for (size_t i = 0; i < recorded.profile.samples.count; i++) {
		const struct vg_sample *sample = &recorded.profile.samples.items[i];

		if (napper != &recorded.profile.threads.items[sample->thread])
			continue;
		if (sample->stack != VG_NONE &&
		    recorded.profile.stacks.items[sample->stack].found_by != VG_FOUND_BY_SYSTEM_CALL)
			ran_ns += sample->wall_ns;
	}
	/* The thread ran twice or more in the 3.8 s, for 0.3 s each time. */
	ck_assert_uint_ge(ran_ns * 100, napper_ran_ns * 60);
	ck_assert_uint_le(ran_ns * 100, napper_ran_ns * 150 + 100 * UINT64_C(100000000));
	recorded_free(&recorded);
}
END_TEST

/* A thread's name may identify a person. */
START_TEST(thread_names_only_if_asked_for)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	struct recorded recorded;
	pthread_t thread;

	options.rate_hz = VGCTL_ON_DEMAND;
	pthread_create(&thread, NULL, named_thread, "secret");
	usleep(20000);
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	ck_assert_int_eq(vgctl_sample(session), 0);
	pthread_setname_np(pthread_self(), "secret");
	ck_assert_int_eq(vgctl_sample(session), 0);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	recorded_read(&recorded, path);
	ck_assert_uint_ge(recorded.profile.threads.count, 2);
	for (size_t i = 0; i < recorded.profile.threads.count; i++)
		ck_assert_str_eq(vg_profile_text(&recorded.profile, recorded.profile.threads.items[i].name), "");
	ck_assert_ptr_null(memmem(recorded.file.bytes, recorded.file.length, "secret", 6));
	recorded_free(&recorded);
}
END_TEST

START_TEST(cpu_mode)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	struct recorded recorded;
	pthread_t sleeper;

	pthread_create(&sleeper, NULL, sleeping_thread, NULL);
	options.mode = VGCTL_CPU;
	options.rate_hz = 199;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	spin_here_ms(500);
	usleep(500 * 1000);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	atomic_store(&stopping, true);
	recorded_read(&recorded, path);
	/* Only the main thread ran, for half of the time. */
	ck_assert_uint_ge(recorded.profile.samples.count, 30);
	ck_assert_uint_le(recorded.profile.samples.count, 130);
	recorded_free(&recorded);
	pthread_join(sleeper, NULL);
}
END_TEST

/* Loads a library, runs its function for a while, and unloads it. Returns where the library was loaded. */
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

/* Wall time of the samples with a frame in that module, or of all samples if name is NULL. The tests compare times and
 * not numbers of samples, because ticks are skipped on a busy machine. */
static uint64_t time_in_ns(const struct recorded *recorded, const char *name)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < recorded->profile.samples.count; i++) {
		uint32_t stack = recorded->profile.samples.items[i].stack;

		if (name == NULL)
			sum_ns += recorded->profile.samples.items[i].wall_ns;
		for (; name != NULL && stack != VG_NONE; stack = recorded->profile.stacks.items[stack].parent) {
			const char *module = module_name(recorded, recorded->profile.stacks.items[stack].module);

			if (module != NULL && strcmp(module, name) == 0) {
				sum_ns += recorded->profile.samples.items[i].wall_ns;
				break;
			}
		}
	}
	return sum_ns;
}

/* Two libraries are loaded at the same address, one after the other. Each sample names the one that was loaded then. */
START_TEST(libraries_at_the_same_address)
{
	struct vgctl_session *session = session_begin(499);
	const struct vg_profile *profile;
	struct recorded recorded;
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
	recorded_read(&recorded, path);
	profile = &recorded.profile;
	/* On a busy machine, samples at the begin and the end of each time may be missing. */
	ck_assert_uint_ge(time_in_ns(&recorded, "fixture_a.so") * 100, (between_ns - begun_ns) * 50);
	ck_assert_uint_ge(time_in_ns(&recorded, "fixture_b.so") * 100, (ended_ns - between_ns) * 50);
	for (size_t i = 0; i < profile->modules.count; i++) {
		const struct vg_module *module = &profile->modules.items[i];

		if (strncmp(module_name(&recorded, (uint32_t)i), "fixture_", 8) == 0) {
			ck_assert_uint_eq(module->base, (uint64_t)first);
			unloaded += module->unload_ns != UINT64_MAX;
		}
	}
	ck_assert_uint_eq(unloaded, 2);
	recorded_free(&recorded);
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
	size_t complete = 0, truncated = 0;
	struct recorded recorded;
	pthread_t thread;

	pthread_create(&thread, NULL, vdso_thread, NULL);
	usleep(500 * 1000);
	atomic_store(&stopping, true);
	pthread_join(thread, NULL);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	recorded_read(&recorded, path);
	ck_assert_uint_ge(time_in_ns(&recorded, "[vdso]"), 20 * 1000000);
	/* One truncated stack is allowed: a check on a busy machine had one. */
	for (size_t i = 0; i < recorded.profile.samples.count; i++) {
		truncated += recorded.profile.samples.items[i].end == VG_WALK_TRUNCATED;
		complete += recorded.profile.samples.items[i].end == VG_WALK_ROOT;
	}
	ck_assert_uint_le(truncated, 1);
	ck_assert_uint_eq(complete + truncated, recorded.profile.samples.count);
	recorded_free(&recorded);
}
END_TEST

Suite *capture_suite(void)
{
	Suite *suite = suite_create("capture");
	TCase *tests = tcase_create("host");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, deep_stack_is_complete);
	tcase_add_test(tests, frame_limit);
	tcase_add_test(tests, large_stack_is_truncated);
	tcase_add_test(tests, leaf_frame);
	tcase_add_test(tests, threads_and_times);
	tcase_add_test(tests, sleeping_thread_wakes);
	tcase_add_test(tests, thread_names_only_if_asked_for);
	tcase_add_test(tests, cpu_mode);
	tcase_add_test(tests, libraries_at_the_same_address);
	tcase_add_test(tests, vdso_is_a_module);
	suite_add_tcase(suite, tests);
	return suite;
}
