/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Programs that use the library, with special memory:
 *
 *     hosts_memory locked WHEN PROFILE    locks its memory `before` or `after` the session begins
 *     hosts_memory space PROFILE          measures its address space
 *     hosts_memory stacks PROFILE         calls every function in a thread with a stack of PTHREAD_STACK_MIN
 *     hosts_memory owner PROFILE          is pid 1, and has a child that is also pid 1
 *     hosts_memory little_space PROFILE   has little address space
 *     hosts_memory beside PROFILE         has mapped files directly after stacks of threads
 *     hosts_memory first PROFILE          begins its first three sessions at the same time
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "libvgctl/vgctl.h"

enum { EVENTS = 5000, FIRSTS = 3, LOCKED_MAX_KIB = 1024, SPACE_MAX_KIB = 1024, LITTLE_SPACE_BYTES = 100 << 20,
       STACK_BYTES = 256 * 1024 };

static const char *profile;

#define ensure(condition, ...) \
	do { \
		if (!(condition)) { \
			printf("line %d: ", __LINE__); \
			printf(__VA_ARGS__); \
			printf("\n"); \
			exit(1); \
		} \
	} while (0)

/* A value of /proc/self/status, or -1. */
static long status_kib(const char *key)
{
	FILE *file = fopen("/proc/self/status", "re");
	size_t length = strlen(key);
	char line[128];
	long kib = -1;

	while (file != NULL && kib < 0 && fgets(line, sizeof line, file) != NULL) {
		if (strncmp(line, key, length) == 0)
			kib = atol(line + length + 1);
	}
	if (file != NULL)
		fclose(file);
	return kib;
}

static struct vgctl_session *begin(const struct vgctl_options *options)
{
	struct vgctl_session *session;
	int rc = vgctl_begin(profile, options, &session);

	ensure(rc == 0, "vgctl_begin: %s", vgctl_strerror(rc));
	return session;
}

/* Records so few events that the lane has room for all, even if the helper fetches none. */
static void events_record(void)
{
	uint32_t kind = vgctl_intern("a kind");

	for (int i = 0; i < EVENTS; i++)
		vgctl_instant(kind, 0, (uint64_t)i);
}

static void end(struct vgctl_session *session)
{
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	int rc = vgctl_end(session, &summary);

	ensure(rc == 0, "vgctl_end: %s", vgctl_strerror(rc));
	ensure(summary.events == EVENTS && summary.events_dropped == 0, "%llu events, %llu dropped, of %d",
	       (unsigned long long)summary.events, (unsigned long long)summary.events_dropped, EVENTS);
}

static void lock(void)
{
	ensure(mlockall(MCL_CURRENT | MCL_FUTURE) == 0, "mlockall: %s", strerror(errno));
}

/* Measures how much locked and resident memory a session adds. */
static void locked_run(const char *first)
{
	struct vgctl_session *session;
	long locked, shared;

	if (strcmp(first, "before") == 0)
		lock();
	locked = status_kib("VmLck");
	shared = status_kib("RssShmem");
	session = begin(NULL);
	events_record();
	if (strcmp(first, "before") != 0) {
		lock();
		locked = status_kib("VmLck");
	}
	printf("in the session: %ld KiB locked, %ld KiB shared\n", status_kib("VmLck") - locked,
	       status_kib("RssShmem") - shared);
	ensure(status_kib("VmLck") - locked <= LOCKED_MAX_KIB && status_kib("RssShmem") - shared <= LOCKED_MAX_KIB,
	       "more than %d KiB", LOCKED_MAX_KIB);
	end(session);
	printf("after it: %ld KiB shared\n", status_kib("RssShmem") - shared);
	/* The library frees the pages of events.  The pages of counts and labels stay. */
	ensure(status_kib("RssShmem") - shared <= 128, "the session's pages stay");
}

static void space_run(void)
{
	long before = status_kib("VmSize"), grown;
	struct vgctl_session *session = begin(NULL);

	events_record();
	grown = status_kib("VmSize") - before;
	printf("%ld KiB of address space\n", grown);
	ensure(grown <= SPACE_MAX_KIB, "more than %d KiB", SPACE_MAX_KIB);
	end(session);
}

/* Calls each function, also with errors, whose messages need the most stack. */
static void *functions_call(void *unused)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT, wrong = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	struct vgctl_interval interval;
	char path[512], link[512];
	int rc;

	snprintf(path, sizeof path, "%s.watch", profile);
	snprintf(link, sizeof link, "%s.link", profile);
	wrong.helper_path = "/nonexistent";
	ensure(vgctl_begin(profile, &wrong, &session) == -ENOPKG, "a helper that does not exist");
	wrong.counters = "no counter";
	ensure(vgctl_begin(profile, &wrong, &session) == -EINVAL, "a counter that does not exist");
	ensure(vgctl_listen(NULL, NULL) < 0, "no directory");
	options.flight_s = 10;
	options.watchdog_ms = 10000;
	options.watchdog_path = path;
	snprintf(path, sizeof path, "%s.run", profile);
	ensure(vgctl_listen(path, NULL) == 0, "vgctl_listen");
	snprintf(path, sizeof path, "%s.watch", profile);
	ensure(symlink("elsewhere", link) == 0, "symlink");
	rc = vgctl_begin(link, &options, &session);
	ensure(rc == 0, "vgctl_begin: %s", vgctl_strerror(rc));
	vgctl_thread_name("a small thread");
	vgctl_heartbeat();
	vgctl_instant(vgctl_intern("a kind"), 0, 1);
	vgctl_counter(0, 1);
	interval = vgctl_interval_begin(0, 0, 1);
	ensure(interval.token != 0, "vgctl_interval_begin");
	vgctl_interval_end(interval);
	vgctl_heartbeat_pause();
	ensure(vgctl_sample(session) == 0, "vgctl_sample");
	ensure(vgctl_dump(session, link) == -EBUSY, "vgctl_dump to the session's own file");
	snprintf(path, sizeof path, "%s.dump", profile);
	ensure(vgctl_dump(session, path) == 0, "vgctl_dump");
	ensure(vgctl_end(session, NULL) == 0, "vgctl_end");
	vgctl_unlisten();
	/* A session with a helper of its own. */
	ensure(vgctl_begin(profile, NULL, &session) == 0, "vgctl_begin");
	ensure(vgctl_end(session, NULL) == 0, "vgctl_end");
	ensure(strlen(vgctl_strerror(-ENOENT)) > 0 && vgctl_strerror(-4000) != NULL, "vgctl_strerror");
	return unused;
}

static void stacks_run(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	ensure(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) == 0, "PTHREAD_STACK_MIN");
	ensure(pthread_create(&thread, &attributes, functions_call, NULL) == 0, "pthread_create");
	pthread_join(thread, NULL);
}

/* The parent and its child are both pid 1, each in its own pid namespace.  The library must not take the child for the
 * parent. */
static void owner_run(void)
{
	struct vgctl_session *session = begin(NULL);
	int status;
	pid_t child;

	ensure(getpid() == 1, "the host is pid %d, not pid 1", getpid());
	child = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL);
	ensure(child >= 0, "clone: %s", strerror(errno));
	if (child == 0)
		_exit(getpid() == 1 && vgctl_sample(session) == -ECHILD &&
		      vgctl_end(session, NULL) == -ECHILD ? 0 : 1);
	ensure(waitpid(child, &status, 0) == child, "waitpid");
	ensure(status == 0, "the library takes the child for its parent: wait status %d", status);
	ensure(access(profile, F_OK) != 0, "the child has ended its parent's session");
	ensure(vgctl_sample(session) == 0, "vgctl_sample");
	events_record();
	end(session);
}

static pthread_barrier_t together;

static void *first_begin(void *number)
{
	struct vgctl_session *session;
	char path[512];
	int rc;

	snprintf(path, sizeof path, "%s.%d", profile, *(int *)number);
	pthread_barrier_wait(&together);
	rc = vgctl_begin(path, NULL, &session);
	ensure(rc == 0, "vgctl_begin: %s", vgctl_strerror(rc));
	vgctl_instant(0, 0, 1);
	ensure(vgctl_end(session, NULL) == 0, "vgctl_end");
	return NULL;
}

static void first_run(void)
{
	pthread_t threads[FIRSTS];
	int numbers[FIRSTS];

	pthread_barrier_init(&together, NULL, FIRSTS);
	for (int i = 0; i < FIRSTS; i++) {
		numbers[i] = i;
		ensure(pthread_create(&threads[i], NULL, first_begin, &numbers[i]) == 0, "pthread_create");
	}
	for (int i = 0; i < FIRSTS; i++)
		pthread_join(threads[i], NULL);
}

/* vgctl_begin() fails if the helper cannot map the event ring. */
static void little_space_run(void)
{
	struct rlimit limit = { LITTLE_SPACE_BYTES, LITTLE_SPACE_BYTES };
	struct vgctl_session *session;
	int rc;

	ensure(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit: %s", strerror(errno));
	rc = vgctl_begin(profile, NULL, &session);
	ensure(rc == -ENOMEM && strstr(vgctl_strerror(rc), "events") != NULL, "vgctl_begin returned %d: %s", rc,
	       vgctl_strerror(rc));
}

/* Threads that run, that wait, and that wait on a stack of their own, as coroutines do. */
enum { SPINS, WAITS, WAITS_ELSEWHERE, BESIDE };

static atomic_int begun;
static atomic_bool spins = true;
static int gate[2];
static char *beside_stacks[BESIDE];
static ucontext_t elsewhere, thread_context;

static void wait_on_gate(void)
{
	char byte;

	atomic_fetch_add(&begun, 1);
	ensure(read(gate[0], &byte, 1) == 0, "read");
}

static void *beside_thread(void *argument)
{
	switch ((intptr_t)argument) {
	case SPINS:
		atomic_fetch_add(&begun, 1);
		while (atomic_load(&spins))
			;
		break;
	case WAITS:
		wait_on_gate();
		break;
	case WAITS_ELSEWHERE:
		getcontext(&elsewhere);
		elsewhere.uc_stack = (stack_t){ .ss_sp = beside_stacks[WAITS_ELSEWHERE], .ss_size = STACK_BYTES };
		elsewhere.uc_link = &thread_context;
		makecontext(&elsewhere, wait_on_gate, 0);
		swapcontext(&thread_context, &elsewhere);
		break;
	}
	return NULL;
}

/* A stack that is followed by a mapped, sparse file. */
static char *stack_beside(int file)
{
	char *stack = mmap(NULL, (size_t)2 * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ensure(file >= 0 && ftruncate(file, STACK_BYTES) == 0, "memfd_create");
	ensure(stack != MAP_FAILED && mmap(stack + STACK_BYTES, STACK_BYTES, PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED, "mmap");
	return stack;
}

/* The helper must not read the files, which would allocate their pages. */
static void beside_run(void)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	pthread_t threads[BESIDE];
	pthread_attr_t attributes;
	int files[BESIDE];
	struct stat status;

	ensure(pipe2(gate, O_CLOEXEC) == 0, "pipe2");
	for (intptr_t i = 0; i < BESIDE; i++) {
		files[i] = memfd_create("beside", MFD_CLOEXEC);
		beside_stacks[i] = stack_beside(files[i]);
		pthread_attr_init(&attributes);
		ensure((i == WAITS_ELSEWHERE || pthread_attr_setstack(&attributes, beside_stacks[i], STACK_BYTES) == 0) &&
		       pthread_create(&threads[i], &attributes, beside_thread, (void *)i) == 0, "pthread_create");
	}
	while (atomic_load(&begun) < BESIDE)
		usleep(1000);
	options.rate_hz = VGCTL_ON_DEMAND;
	options.stop_always = 1;
	session = begin(&options);
	for (int i = 0; i < 10; i++)
		ensure(vgctl_sample(session) == 0, "vgctl_sample");
	ensure(vgctl_end(session, NULL) == 0, "vgctl_end");
	atomic_store(&spins, false);
	close(gate[1]);
	for (int i = 0; i < BESIDE; i++) {
		pthread_join(threads[i], NULL);
		ensure(fstat(files[i], &status) == 0 && status.st_blocks == 0, "samples made %ld blocks of file %d",
		       (long)status.st_blocks, i);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	profile = argv[argc - 1];
	if (strcmp(argv[1], "locked") == 0 && argc == 4)
		locked_run(argv[2]);
	else if (strcmp(argv[1], "space") == 0)
		space_run();
	else if (strcmp(argv[1], "stacks") == 0)
		stacks_run();
	else if (strcmp(argv[1], "owner") == 0)
		owner_run();
	else if (strcmp(argv[1], "first") == 0)
		first_run();
	else if (strcmp(argv[1], "little_space") == 0)
		little_space_run();
	else if (strcmp(argv[1], "beside") == 0)
		beside_run();
	else
		return 2;
	return 0;
}
