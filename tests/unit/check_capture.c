/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Recordings of this process. The profile must show what the threads did: stacks, threads, modules, times.
 *
 * A machine may give the helper no CPU for a second, and then a recording has few samples. So a test records again, for
 * longer, until there are enough samples. What it then asserts is true of any samples. vgctl_sample() makes the helper
 * list and read all threads before it returns, however busy the machine is. */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <seccomp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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

/* The same for CPU time. */
static __attribute__((noinline)) void spin_cpu_here_ms(uint64_t ms)
{
	for (uint64_t end_ns = spin_cpu_ns() + ms * 1000000; spin_cpu_ns() < end_ns;) {
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

/* Takes one sample in the innermost call of a recursion. Takes another one if the sample is lost, as it may be on a
 * busy machine. max_frames: 0 is the default. */
static void record_deep_stack(struct recorded *recorded, void (*descend)(int depth, void (*innermost)(void)), int depth,
			      unsigned int max_frames)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;

	options.rate_hz = VGCTL_ON_DEMAND;
	if (max_frames != 0)
		options.max_frames = max_frames;
	for (;;) {
		ck_assert_int_eq(vgctl_begin(path, &options, &session_on_demand), 0);
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

	record_deep_stack(&recorded, recurse, DEPTH, 0);
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

	record_deep_stack(&recorded, recurse_wide, 100, 0);
	ck_assert_uint_eq(recorded.profile.samples.items[0].end, VG_WALK_TRUNCATED);
	ck_assert_uint_ge(frames_in(&recorded, recorded.profile.samples.items[0].stack, recurse_wide, 1024), 50);
	recorded_free(&recorded);
}
END_TEST

/* The profile says that max_frames cut the stack. */
START_TEST(frame_limit)
{
	const struct vg_stack *leaf;
	struct recorded recorded;

	record_deep_stack(&recorded, recurse, DEPTH, 50);
	ck_assert_uint_eq(recorded.profile.samples.items[0].end, VG_WALK_FRAME_LIMIT);
	leaf = &recorded.profile.stacks.items[recorded.profile.samples.items[0].stack];
	ck_assert_uint_eq(leaf->depth - (leaf->found_by == VG_FOUND_BY_SYSTEM_CALL), 50);
	recorded_free(&recorded);
}
END_TEST

/* The leaf frame is the function that runs, not its caller. The thread spends more than 99 % of its time in the loop of
 * spin_here_ms(); the rest is in clock_gettime(2). Two samples are in vgctl_begin() and vgctl_end(). Of 100 samples or
 * more, 20 % are others with a probability below 1e-15. */
START_TEST(leaf_frame)
{
	struct recorded recorded;
	size_t leaves;

	for (uint64_t ms = 300;; ms *= 2) {
		struct vgctl_session *session = session_begin(499);

		spin_here_ms(ms);
		ck_assert_int_eq(vgctl_end(session, NULL), 0);
		recorded_read(&recorded, path);
		if (recorded.profile.samples.count >= 100)
			break;
		recorded_free(&recorded);
	}
	leaves = 0;
	for (size_t i = 0; i < recorded.profile.samples.count; i++) {
		uint32_t stack = recorded.profile.samples.items[i].stack;

		if (stack != VG_NONE)
			leaves += frame_in(&recorded, &recorded.profile.stacks.items[stack], spin_here_ms, 1024);
	}
	ck_assert_msg(leaves * 100 >= recorded.profile.samples.count * 80,
		      "spin_here_ms() is the leaf of %zu samples of %zu", leaves, recorded.profile.samples.count);
	recorded_free(&recorded);
}
END_TEST

static sem_t named, wake;

static void *named_thread(void *name)
{
	pthread_setname_np(pthread_self(), name);
	sem_post(&named);
	while (!atomic_load(&stopping))
		spin_here_ms(10);
	return NULL;
}

static void *sleeping_thread(void *ignored)
{
	pthread_setname_np(pthread_self(), "sleeper");
	sem_post(&named);
	sem_wait(&wake);
	return ignored;
}

/* A thread that is created during the session. */
struct late {
	struct vgctl_session *session;
	atomic_int tid;
};

static void *short_thread(void *argument)
{
	struct late *late = argument;

	pthread_setname_np(pthread_self(), "short");
	atomic_store(&late->tid, (int)syscall(SYS_gettid));
	ck_assert_int_eq(vgctl_sample(late->session), 0);
	spin_here_ms(100);
	/* A busy machine may lose a sample, but not all of these. */
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(vgctl_sample(late->session), 0);
	return NULL;
}

/* Returns when the thread, which has been joined, is not in /proc any more. */
static void exit_await(pid_t tid)
{
	while (syscall(SYS_tgkill, getpid(), tid, 0) == 0)
		usleep(1000);
}

/* Sums of the weights of a thread's samples, and the time of its latest sample. */
struct sums {
	uint64_t wall_ns, cpu_ns, latest_ns;
};

static struct sums sums_of(const struct recorded *recorded, size_t thread)
{
	struct sums sums = { 0 };

	for (size_t i = 0; i < recorded->profile.samples.count; i++) {
		const struct vg_sample *sample = &recorded->profile.samples.items[i];

		if (sample->thread != thread)
			continue;
		sums.wall_ns += sample->wall_ns;
		sums.cpu_ns += sample->cpu_ns;
		sums.latest_ns = sample->time_ns > sums.latest_ns ? sample->time_ns : sums.latest_ns;
	}
	return sums;
}

/* What the test knows of a recording: the longest time that its thread `short` may have lived, and a time, on the
 * session's clock, that is before the last samples. */
struct known {
	uint64_t short_ns, ended_ns;
};

/* Records four threads, one of which is created and exits meanwhile. */
static struct known record_four_threads(void)
{
	pthread_t early, late, sleeper;
	struct late argument = { 0 };
	struct vgctl_session *session;
	uint64_t begun_ns, late_ns;
	struct known known;

	sem_init(&named, 0, 0);
	sem_init(&wake, 0, 0);
	atomic_store(&stopping, false);
	pthread_create(&early, NULL, named_thread, "early");
	pthread_create(&sleeper, NULL, sleeping_thread, NULL);
	sem_wait(&named);
	sem_wait(&named);
	argument.session = session = session_begin(199);
	begun_ns = spin_now_ns();
	spin_here_ms(200);
	late_ns = spin_now_ns();
	pthread_create(&late, NULL, short_thread, &argument);
	pthread_join(late, NULL);
	exit_await(atomic_load(&argument.tid));
	ck_assert_int_eq(vgctl_sample(session), 0);
	known.short_ns = spin_now_ns() - late_ns;
	spin_here_ms(100);
	known.ended_ns = spin_now_ns() - begun_ns;
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	atomic_store(&stopping, true);
	sem_post(&wake);
	pthread_join(early, NULL);
	pthread_join(sleeper, NULL);
	return known;
}

/* Threads have their names and the times when they were created and exited. Wall times add up to a thread's life. A
 * sleeping thread uses no CPU time. */
START_TEST(threads_and_times)
{
	enum { CLOCK_TICK_NS = 10 * 1000 * 1000 };
	struct recorded recorded;
	const struct vg_thread *thread;
	struct known known = record_four_threads();
	struct sums sleeper;

	recorded_read(&recorded, path);
	ck_assert_uint_eq(recorded.profile.threads.count, 4);
	thread_named(&recorded, "early");
	for (size_t i = 0; i < 4; i++) {
		uint64_t begin_ns = recorded.profile.threads.items[i].begin_ns;
		uint64_t end_ns = recorded.profile.threads.items[i].end_ns, life_ns;
		struct sums sums = sums_of(&recorded, i);

		if (end_ns > recorded.profile.duration_ns)
			end_ns = recorded.profile.duration_ns;
		life_ns = end_ns - begin_ns;
		ck_assert_uint_le(sums.wall_ns, life_ns + 1000000);
		ck_assert_uint_ge(sums.wall_ns + CLOCK_TICK_NS, sums.latest_ns - begin_ns);
		ck_assert_uint_le(sums.cpu_ns, life_ns + 2 * CLOCK_TICK_NS);
	}
	/* It spun for 0.1 s between two samples. */
	thread = thread_named(&recorded, "short");
	ck_assert_uint_ge(sums_of(&recorded, (size_t)(thread - recorded.profile.threads.items)).wall_ns, 100000000);
	ck_assert_uint_ge(thread->begin_ns, 200000000 - CLOCK_TICK_NS);
	ck_assert_uint_ne(thread->end_ns, UINT64_MAX);
	ck_assert_uint_le(thread->end_ns - thread->begin_ns, known.short_ns + 2 * CLOCK_TICK_NS);
	thread = thread_named(&recorded, "sleeper");
	sleeper = sums_of(&recorded, (size_t)(thread - recorded.profile.threads.items));
	ck_assert_uint_le(sleeper.cpu_ns, 20000000);
	/* vgctl_end() samples all threads. */
	ck_assert_uint_ge(sleeper.latest_ns, known.ended_ns);
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

/* The napper spins for this CPU time when it is woken, and posts `woken` before and `napped` after. */
static sem_t woken, napped;
static uint64_t napper_ms;

static void *napping_thread(void *ignored)
{
	pthread_setname_np(pthread_self(), "napper");
	sem_wait(&wake);
	sem_post(&woken);
	spin_cpu_here_ms(napper_ms);
	sem_post(&napped);
	sem_wait(&wake);
	return ignored;
}

/* Waits for the semaphore and uses the CPU now and then. */
static void run_until_posted(sem_t *posted)
{
	while (sem_trywait(posted) != 0) {
		spin_here_ms(1);
		usleep(4000);
	}
}

static void run_ms(uint64_t ms)
{
	for (uint64_t end_ns = spin_now_ns() + ms * 1000000; spin_now_ns() < end_ns;) {
		spin_here_ms(1);
		usleep(4000);
	}
}

/* Samples of the session's first thread and of the napper, from when the napper was woken until it slept again. */
struct nap {
	size_t rounds;               /* of the first thread: each round of the helper takes one */
	size_t running;              /* of the napper, which found it running */
	uint64_t not_stopped, cpu_ns;
};

static struct nap nap_read(uint64_t woken_ns, uint64_t napped_ns)
{
	const struct vg_count *lost;
	struct recorded recorded;
	const struct vg_thread *napper;
	struct nap nap = { 0 };

	recorded_read(&recorded, path);
	napper = thread_named(&recorded, "napper");
	for (size_t i = 0; i < recorded.profile.samples.count; i++) {
		const struct vg_sample *sample = &recorded.profile.samples.items[i];

		if (sample->time_ns < woken_ns || sample->time_ns > napped_ns)
			continue;
		if (&recorded.profile.threads.items[sample->thread] != napper)
			nap.rounds += sample->count;
		else if (frames_in(&recorded, sample->stack, spin_cpu_here_ms, 1024) > 0)
			nap.running += sample->count;
	}
	nap.cpu_ns = sums_of(&recorded, (size_t)(napper - recorded.profile.threads.items)).cpu_ns;
	lost = vg_profile_count(&recorded.profile, &recorded.profile.lost, "not_stopped");
	nap.not_stopped = lost != NULL ? lost->value : 0;
	recorded_free(&recorded);
	return nap;
}

/* A thread sleeps for longer than the time after which the helper takes it for asleep (1 s), while another one runs. */
static struct nap record_napper(void)
{
	struct vgctl_session *session;
	uint64_t begun_ns, woken_ns, napped_ns;
	pthread_t thread;

	sem_init(&wake, 0, 0);
	sem_init(&woken, 0, 0);
	sem_init(&napped, 0, 0);
	pthread_create(&thread, NULL, napping_thread, NULL);
	begun_ns = spin_now_ns();
	session = session_begin(199);
	run_ms(1200);
	sem_post(&wake);
	run_until_posted(&woken);
	woken_ns = spin_now_ns() - begun_ns;
	run_until_posted(&napped);
	napped_ns = spin_now_ns() - begun_ns;
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	sem_post(&wake);
	pthread_join(thread, NULL);
	return nap_read(woken_ns, napped_ns);
}

/* When it wakes, it is sampled as running in most rounds. After failed checks of the sleeping threads, the next 16
 * rounds have none. A round may fail to stop it on a busy machine. */
START_TEST(sleeping_thread_wakes)
{
	struct nap nap;

	timers_forbid();
	for (napper_ms = 300;; napper_ms *= 2) {
		nap = record_napper();
		if (nap.rounds >= 50)
			break;
	}
	ck_assert_msg(2 * (nap.running + nap.not_stopped + 16) >= nap.rounds, "%zu running samples and %" PRIu64
		      " without a stop in %zu rounds", nap.running, nap.not_stopped, nap.rounds);
	ck_assert_uint_le(nap.cpu_ns, napper_ms * 1200000 + 20000000);
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
	sem_init(&named, 0, 0);
	pthread_create(&thread, NULL, named_thread, "secret");
	sem_wait(&named);
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	ck_assert_int_eq(vgctl_sample(session), 0);
	pthread_setname_np(pthread_self(), "secret");
	ck_assert_int_eq(vgctl_sample(session), 0);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	recorded_read(&recorded, path);
	ck_assert_uint_eq(recorded.profile.threads.count, 2);
	for (size_t i = 0; i < recorded.profile.threads.count; i++)
		ck_assert_str_eq(vg_profile_text(&recorded.profile, recorded.profile.threads.items[i].name), "");
	ck_assert_ptr_null(memmem(recorded.file.bytes, recorded.file.length, "secret", 6));
	recorded_free(&recorded);
}
END_TEST

/* In mode cpu, a thread that waits has no samples, except when it begins to wait. In mode wall, the two threads of this
 * test would have 150 samples that wait. */
START_TEST(cpu_mode)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct recorded recorded;
	pthread_t sleeper;

	sem_init(&named, 0, 0);
	sem_init(&wake, 0, 0);
	pthread_create(&sleeper, NULL, sleeping_thread, NULL);
	sem_wait(&named);
	options.mode = VGCTL_CPU;
	options.rate_hz = 199;
	for (uint64_t ms = 250;; ms *= 2) {
		struct vgctl_session *session;
		size_t waiting = 0, running = 0;

		ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
		spin_here_ms(ms);
		usleep(250 * 1000);
		ck_assert_int_eq(vgctl_end(session, NULL), 0);
		recorded_read(&recorded, path);
		for (size_t i = 0; i < recorded.profile.samples.count; i++) {
			const struct vg_sample *sample = &recorded.profile.samples.items[i];

			if (sample->stack != VG_NONE && frames_in(&recorded, sample->stack, spin_here_ms, 1024) > 0)
				running++;
			else
				waiting++;
		}
		recorded_free(&recorded);
		ck_assert_msg(waiting <= 10, "%zu samples waited, %zu ran", waiting, running);
		if (running >= 20)
			break;
	}
	sem_post(&wake);
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

/* Samples with a frame in that module: their number, and the times of the first and of the latest one. */
struct in_module {
	size_t count;
	uint64_t first_ns, latest_ns;
};

static struct in_module in_module(const struct recorded *recorded, const char *name)
{
	struct in_module found = { .first_ns = UINT64_MAX };

	for (size_t i = 0; i < recorded->profile.samples.count; i++) {
		const struct vg_sample *sample = &recorded->profile.samples.items[i];

		for (uint32_t stack = sample->stack; stack != VG_NONE;
		     stack = recorded->profile.stacks.items[stack].parent) {
			const char *module = module_name(recorded, recorded->profile.stacks.items[stack].module);

			if (module == NULL || strcmp(module, name) != 0)
				continue;
			found.count++;
			found.first_ns = sample->time_ns < found.first_ns ? sample->time_ns : found.first_ns;
			found.latest_ns = sample->time_ns > found.latest_ns ? sample->time_ns : found.latest_ns;
			break;
		}
	}
	return found;
}

/* How many of the libraries, all of which were loaded at this address, were unloaded. */
static size_t unloaded_libraries(const struct recorded *recorded, const void *base)
{
	const struct vg_profile *profile = &recorded->profile;
	size_t unloaded = 0;

	for (size_t i = 0; i < profile->modules.count; i++) {
		const struct vg_module *module = &profile->modules.items[i];

		if (strncmp(module_name(recorded, (uint32_t)i), "fixture_", 8) == 0) {
			ck_assert_uint_eq(module->base, (uint64_t)base);
			unloaded += module->unload_ns != UINT64_MAX;
		}
	}
	return unloaded;
}

/* Two libraries are loaded at the same address, one after the other. Each sample names the one that was loaded then:
 * all samples of the first are older than those of the second, which was loaded after the first was unloaded. A round
 * of samples notices that a library was unloaded, so the recording is longer if the helper had no CPU meanwhile. */
START_TEST(libraries_at_the_same_address)
{
	struct recorded recorded;
	struct in_module first, second;
	void *base, *function;

	for (uint64_t ms = 200;; ms *= 2) {
		struct vgctl_session *session = session_begin(499);

		spin_here_ms(50);
		base = library_run(FIXTURE_A, ms, &function);
		ck_assert_ptr_eq(base, library_run(FIXTURE_B, ms, &function));
		spin_here_ms(ms);
		ck_assert_int_eq(vgctl_end(session, NULL), 0);
		recorded_read(&recorded, path);
		first = in_module(&recorded, "fixture_a.so");
		second = in_module(&recorded, "fixture_b.so");
		if (first.count >= 20 && second.count >= 20 && unloaded_libraries(&recorded, base) == 2)
			break;
		recorded_free(&recorded);
	}
	ck_assert_uint_lt(first.latest_ns, second.first_ns);
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
	struct recorded recorded;

	for (useconds_t us = 200 * 1000;; us *= 2) {
		struct vgctl_session *session = session_begin(499);
		pthread_t thread;

		atomic_store(&stopping, false);
		pthread_create(&thread, NULL, vdso_thread, NULL);
		usleep(us);
		atomic_store(&stopping, true);
		pthread_join(thread, NULL);
		ck_assert_int_eq(vgctl_end(session, NULL), 0);
		recorded_read(&recorded, path);
		if (in_module(&recorded, "[vdso]").count >= 20 && recorded_few_truncated(&recorded.profile))
			break;
		recorded_free(&recorded);
	}
	recorded_free(&recorded);
}
END_TEST

Suite *capture_suite(void)
{
	Suite *suite = suite_create("capture");
	TCase *tests = tcase_create("host");

	tcase_add_checked_fixture(tests, setup, teardown);
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
