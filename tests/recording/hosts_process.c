/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Programs that are unusual processes, for tests/recording/hosts_process.sh:
 *
 *     hosts_process KIND PROFILE [ARGUMENT]
 *
 * The table at the end has the kinds.  Exits with 0 if all was right; otherwise prints what was wrong.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system_calls.h"
#include "libvgctl/vgctl.h"
#include "libvgctl/wire.h"

/* HANG_S: a test that takes longer hangs.  SLEEPS_MAX: a helper that waits for the end of the program sleeps 400 times,
 * for a millisecond each. */
enum { HANG_S = 1500, SESSIONS = 20, EXITS = 50, SLEEPS_MAX = 200, TRIES_MAX = 10, FEW_TRIES = 600,
       EXIT_TRIES = 120000, PROCESSES_MAX = 4, PRIORITY = 10, DESCRIPTORS = 60, FORKS = 200, BEGINS = 2000 };

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static const char *profile, *argument, *program;

static void ensure(bool good, const char *format, ...)
{
	va_list args;

	if (good)
		return;
	printf("FAIL: ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

/* Begins a recording on demand: the helper sleeps until vgctl_sample(). */
static struct vgctl_session *begin(const char *path)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session = NULL;
	int rc;

	options.rate_hz = VGCTL_ON_DEMAND;
	rc = vgctl_begin(path, &options, &session);
	ensure(rc == 0, "vgctl_begin: %s", vgctl_strerror(rc));
	return session;
}

static void end(struct vgctl_session *session)
{
	int rc = vgctl_sample(session);

	ensure(rc == 0, "vgctl_sample: %s", vgctl_strerror(rc));
	rc = vgctl_end(session, NULL);
	ensure(rc == 0, "vgctl_end: %s", vgctl_strerror(rc));
}

static void adopt(void)
{
	ensure(getpid() == 1 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, "prctl: %m");
}

/* The helper of a program that adopts orphans, or 0. */
static pid_t helper_find(void)
{
	char path[64];
	int child = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
	file = fopen(path, "re");
	ensure(file != NULL && (fscanf(file, "%d", &child) == 1 || feof(file)), "%s: %m", path);
	fclose(file);
	return child;
}

/* Ensures that the helper ends.  The library does not wait long for the end of a helper that it has killed. */
static void ensure_no_helper(void)
{
	int tries = 0;

	while (helper_find() != 0) {
		waitpid(-1, NULL, WNOHANG);
		ensure(tries++ < EXIT_TRIES, "process %d is left", helper_find());
		usleep(1000);
	}
}

/* How often a process has given up the CPU by itself. */
static long sleeps_of(pid_t pid)
{
	char path[64], line[256];
	long count = -1;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		sscanf(line, "voluntary_ctxt_switches: %ld", &count);
	if (file != NULL)
		fclose(file);
	ensure(count >= 0, "%s cannot be read", path);
	return count;
}

/* ---- the ends of sessions ---- */

/* vgctl_end() in a program that adopts orphans waits for the helper's end, which comes at once.  A helper that waits for
 * a stop sleeps often, so a few of them prove nothing. */
static void adopts(void)
{
	struct rusage used;
	long before = 0, least = LONG_MAX;

	adopt();
	for (int i = 0; i < SESSIONS; i++) {
		end(begin(profile));
		ensure(getrusage(RUSAGE_CHILDREN, &used) == 0, "getrusage");
		least = used.ru_nvcsw - before < least ? used.ru_nvcsw - before : least;
		before = used.ru_nvcsw;
	}
	ensure(least < SLEEPS_MAX, "each of %d helpers slept %ld times or more", SESSIONS, least);
	ensure(waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD, "a child is left");
}

/* A program that executes itself in a session, and then begins the next session. */
static void executes(void)
{
	int left = argument != NULL ? atoi(argument) : SESSIONS;
	char number[16];

	begin(profile);
	snprintf(number, sizeof number, "%d", left - 1);
	if (left > 0)
		execl(program, program, "executes", profile, number, NULL);
	ensure(left == 0, "execl: %m");
}

/* A daemon that closes all descriptors, and then begins a new session. */
static void closes(void)
{
	for (int i = 0; i < SESSIONS; i++) {
		struct vgctl_session *session = begin(profile);
		int rc;

		closefrom(STDERR_FILENO + 1);
		rc = vgctl_end(session, NULL);
		ensure(rc == -EBADF, "vgctl_end returned %d: %s", rc, vgctl_strerror(rc));
		end(begin(profile));
	}
}

/* Closes the descriptors of one of two sessions.  Returns how often the helper slept before it answered the other one. */
static long sleeps_until_answer(void)
{
	struct vgctl_session *first, *second;
	char other[4096];
	long slept;
	pid_t helper;
	int from, rc;

	snprintf(other, sizeof other, "%s.other", profile);
	first = begin(other);
	/* The second session gets the lowest free descriptors: `from` and higher ones. */
	from = dup(STDERR_FILENO);
	close(from);
	second = begin(profile);
	helper = helper_find();
	ensure(helper > 0, "no helper");
	slept = sleeps_of(helper);
	closefrom(from);
	/* The first request may arrive before the helper notices that the other session was closed. */
	for (int i = 0; i < 2; i++) {
		rc = vgctl_sample(first);
		ensure(rc == 0, "vgctl_sample: %s", vgctl_strerror(rc));
	}
	slept = sleeps_of(helper) - slept;
	end(first);
	rc = vgctl_end(second, NULL);
	ensure(rc == -EBADF, "vgctl_end returned %d: %s", rc, vgctl_strerror(rc));
	return slept;
}

/* The helper still answers at once.  A helper that waits for a stop sleeps often, too, so one try proves nothing. */
static void closes_one(void)
{
	int tries = 0;

	adopt();
	while (sleeps_until_answer() >= SLEEPS_MAX) {
		tries++;
		ensure(tries < TRIES_MAX, "the helper slept %d times before it answered, %d times", SLEEPS_MAX, tries);
	}
}

/* On a busy machine helpers of ended sessions may need long to exit, and until then a session cannot begin. */
static void few_processes_session(void)
{
	struct vgctl_session *session;
	int rc, tries = 0;

	while ((rc = vgctl_begin(profile, NULL, &session)) == -ENOEXEC && tries++ < FEW_TRIES)
		usleep(100000);
	ensure(rc == 0, "vgctl_begin: %s", vgctl_strerror(rc));
	end(session);
}

/* A user with a low limit of processes: helpers of ended sessions must not count. */
static void few_processes(void)
{
	struct rlimit limit = { PROCESSES_MAX, PROCESSES_MAX };
	uid_t user = 10000 + (uid_t)getpid() % 50000; /* processes of another run of this test must not count */
	pid_t host, ended;
	int status = 1, host_status = 1;

	adopt();
	host = fork();
	if (host == 0) {
		ensure(setgid(user) == 0 && setuid(user) == 0 && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0, "setuid");
		ensure(setrlimit(RLIMIT_NPROC, &limit) == 0, "setrlimit: %m");
		for (int i = 0; i < SESSIONS; i++)
			few_processes_session();
		_exit(0);
	}
	/* Orphans count until they are waited for. */
	while ((ended = waitpid(-1, &status, 0)) > 0)
		host_status = ended == host ? status : host_status;
	ensure(host_status == 0, "wait status %d", host_status);
}

/* ---- scheduling ---- */

/* From <linux/ioprio.h>, which not every system has. */
enum { IOPRIO_WHO_PROCESS = 1, IOPRIO_CLASS_RT = 1, IOPRIO_CLASS_SHIFT = 13 };

static const int IO_REAL_TIME = IOPRIO_CLASS_RT << IOPRIO_CLASS_SHIFT;

/* All CPUs that the thread may have, also if the test is pinned to some of them. */
static void every_cpu(cpu_set_t *cpus)
{
	memset(cpus, 0xff, sizeof *cpus);
	ensure(sched_setaffinity(0, sizeof *cpus, cpus) == 0 && sched_getaffinity(0, sizeof *cpus, cpus) == 0,
	       "affinity: %m");
}

static void scheduling_check(const cpu_set_t *allowed, int nice_expected)
{
	pid_t helper = helper_find();
	struct sched_param parameter;
	cpu_set_t own;
	int policy;

	ensure(helper > 0, "no helper");
	policy = sched_getscheduler(helper);
	ensure(sched_getparam(helper, &parameter) == 0, "sched_getparam: %m");
	/* The helper sets itself to real-time priority 1 while it holds a stopped thread, and shortly after. */
	ensure(policy != SCHED_RR && policy != SCHED_DEADLINE && parameter.sched_priority <= 1,
	       "the helper's policy is %d, its priority %d", policy, parameter.sched_priority);
	ensure(getpriority(PRIO_PROCESS, (id_t)helper) == nice_expected, "the helper's nice value is %d, not %d",
	       getpriority(PRIO_PROCESS, (id_t)helper), nice_expected);
	ensure(syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, helper) >> IOPRIO_CLASS_SHIFT != IOPRIO_CLASS_RT,
	       "the helper's I/O is real-time");
	ensure(sched_getaffinity(helper, sizeof own, &own) == 0, "sched_getaffinity: %m");
	ensure(CPU_EQUAL(&own, allowed), "the helper may run on %d CPUs, not %d", CPU_COUNT(&own),
	       CPU_COUNT(allowed));
}

/* A thread with a real-time priority or another nice value, on one CPU. */
static void scheduled(int policy, int nice_own, int nice_expected)
{
	struct sched_param parameter = { .sched_priority = policy == SCHED_OTHER ? 0 : PRIORITY };
	struct vgctl_session *session;
	cpu_set_t before, one;
	int cpu = 0;

	adopt();
	every_cpu(&before);
	while (!CPU_ISSET(cpu, &before))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	ensure(setpriority(PRIO_PROCESS, 0, nice_own) == 0 &&
	       sched_setaffinity(0, sizeof one, &one) == 0 &&
	       sched_setscheduler(0, policy, &parameter) == 0, "scheduling: %m");
	ensure(policy == SCHED_OTHER || syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IO_REAL_TIME) == 0,
	       "ioprio: %m");
	session = begin(profile);
	scheduling_check(&before, nice_expected);
	ensure(sched_getscheduler(0) == policy, "the program's own policy was changed");
	end(session);
}

static void fifo(void) { scheduled(SCHED_FIFO, 0, 0); }
static void round_robin(void) { scheduled(SCHED_RR, -10, 0); }
static void good_nice(void) { scheduled(SCHED_OTHER, -10, 0); }
static void poor_nice(void) { scheduled(SCHED_OTHER, 10, 10); }

/* A thread with SCHED_DEADLINE can only create children that reset to an ordinary policy. */
static void deadline(void)
{
	struct vg_sched_attr attributes = {
		.size = sizeof attributes, .policy = SCHED_DEADLINE, .runtime_ns = 2000000,
		.deadline_ns = 10000000, .period_ns = 10000000,
	}, after = { 0 };
	struct vgctl_session *session;
	cpu_set_t allowed;
	int rc;

	adopt();
	/* The kernel refuses SCHED_DEADLINE to a thread that may not run on all CPUs of the machine. */
	every_cpu(&allowed);
	rc = (int)syscall(SYS_sched_setattr, 0, &attributes, 0);
	if (rc != 0 && errno == EPERM && CPU_COUNT(&allowed) < sysconf(_SC_NPROCESSORS_ONLN)) {
		printf("not tested: SCHED_DEADLINE, because this container has not all CPUs of the machine\n");
		return;
	}
	ensure(rc == 0, "sched_setattr: %m");
	session = begin(profile);
	scheduling_check(&allowed, 0);
	ensure(syscall(SYS_sched_getattr, 0, &after, sizeof after, 0) == 0, "sched_getattr: %m");
	ensure(after.policy == SCHED_DEADLINE && after.flags == 0 &&
	       after.runtime_ns == attributes.runtime_ns, "the program's own policy was changed");
	end(session);
	/* At exit the leak sanitizer calls clone(2), which fails in a thread with SCHED_DEADLINE. */
	ensure(sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 }) == 0, "sched_setscheduler: %m");
}

/* ---- directories and namespaces ---- */

/* The session begins in a directory of a file system that is then unmounted.  $VIGNETTED is relative to that
 * directory. */
static void leaves(void)
{
	struct vgctl_session *session;

	ensure(chdir(argument) == 0, "chdir: %m");
	session = begin(profile);
	ensure(chdir("/") == 0, "chdir: %m");
	ensure(umount(argument) == 0, "umount: %m");
	end(session);
}

static void listens(void)
{
	int rc;

	ensure(chdir(argument) == 0, "chdir: %m");
	rc = vgctl_listen("../run", NULL);
	ensure(rc == 0, "vgctl_listen: %s", vgctl_strerror(rc));
	ensure(chdir("/") == 0, "chdir: %m");
	printf("listens\n");
	fflush(stdout);
	getchar();
	ensure(umount(argument) == 0, "umount: %m");
	vgctl_unlisten();
}

/* /dev is empty, and the helper does not keep it mounted. */
static void empty_dev(void)
{
	ensure(mount("none", "/dev", "tmpfs", 0, NULL) == 0, "mount: %m");
	end(begin(profile));
	ensure(umount("/dev") == 0, "umount: %m");
}

/* The program's children are in another time namespace than the program. */
static void other_time(void)
{
	struct vgctl_session *session;
	int rc;

	ensure(unshare(CLONE_NEWTIME) == 0, "unshare: %m");
	rc = vgctl_begin(profile, NULL, &session);
	ensure(rc == -ENOTSUP && strstr(vgctl_strerror(rc), "time namespace") != NULL, "vgctl_begin returned %d: %s",
	       rc, vgctl_strerror(rc));
}

/* ---- bad helpers and paths ---- */

static void signal_ignored(int number)
{
	(void)number;
}

/* A helper that answers nothing, or nonsense, is not left running. A periodic signal does not prolong the wait. */
static void bad_helper(void)
{
	const struct itimerval often = { { .tv_usec = 100 * 1000 }, { .tv_usec = 100 * 1000 } };
	const struct sigaction action = { .sa_handler = signal_ignored };
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	int rc;

	adopt();
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	options.helper_path = argument;
	rc = vgctl_begin(profile, &options, &session);
	ensure(rc == -ETIMEDOUT || rc == -EPROTO || rc == -ECONNRESET, "vgctl_begin returned %d: %s", rc,
	       vgctl_strerror(rc));
	ensure_no_helper();
}

/* ---- the end of the program ---- */

static void *begin_again(void *unused)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;

	options.helper_path = argument;
	while (vgctl_begin(profile, &options, &session) != 0)
		;
	ensure(false, "a session with a helper that is another program");
	return unused;
}

static void *intern_again(void *unused)
{
	char text[16];

	for (unsigned int i = 0;; i++) {
		snprintf(text, sizeof text, "%u", i % 1000);
		vgctl_intern(text);
	}
	return unused;
}

static ssize_t write_slowly(void *unused, const char *text, size_t length)
{
	(void)unused;
	(void)text;
	usleep(10000);
	return (ssize_t)length;
}

/* The program ends while other threads are in the library and no session has ever begun.  exit(3) flushes streams after
 * the destructors; meanwhile the threads continue. */
static void exits_run(void *(*first)(void *), void *(*second)(void *))
{
	FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = write_slowly });

	fputs("flushed at exit", stream);
	for (int i = 0; i < EXITS; i++) {
		pid_t child = fork();
		pthread_t threads[2];
		int status;

		if (child == 0) {
			ensure(pthread_create(&threads[0], NULL, first, NULL) == 0 &&
			       pthread_create(&threads[1], NULL, second, NULL) == 0, "pthread_create");
			usleep(2000 + (useconds_t)i * 100);
			exit(0);
		}
		ensure(waitpid(child, &status, 0) == child, "waitpid: %m");
		ensure(status == 0, "child %d: wait status %d", i, status);
	}
}

static void exits(void)
{
	exits_run(begin_again, intern_again);
}

static atomic_int late_users;        /* -2: two threads may begin to use the library; 0: both have begun */

static void late_user_begin(void)
{
	while (atomic_load(&late_users) == 0)
		usleep(100);
	vgctl_intern("first");
	atomic_fetch_add(&late_users, 1);
}

static void *begin_late(void *unused)
{
	late_user_begin();
	return begin_again(unused);
}

static void *intern_late(void *unused)
{
	late_user_begin();
	return intern_again(unused);
}

static bool uses_late;

/* The program's destructors run before those of the library, and after the handlers of atexit(3). */
__attribute__((destructor)) static void late_users_await(void)
{
	if (!uses_late)
		return;
	atomic_store(&late_users, -2);
	while (atomic_load(&late_users) != 0)
		usleep(100);
}

/* As exits(), but the threads use the library for the first time while the program exits. */
static void exits_late(void)
{
	uses_late = true;
	exits_run(begin_late, intern_late);
	uses_late = false;
}

/* This program as the helper: sends the helper's greeting, stops a thread of the host, and sends nothing more. */
static void freezes(void)
{
	struct vg_wire_message message = {
		.magic = VG_WIRE_MAGIC, .version = VG_WIRE_FIRST, .kind = VG_WIRE_HELLO,
	};
	struct ucred host;
	socklen_t bytes = sizeof host;
	char path[64];
	struct dirent *entry;
	DIR *threads;

	if (send(VG_WIRE_FD, &message, sizeof message, 0) < 0 || recv(VG_WIRE_FD, &message, sizeof message, 0) < 0 ||
	    getsockopt(VG_WIRE_FD, SOL_SOCKET, SO_PEERCRED, &host, &bytes) != 0)
		return;
	snprintf(path, sizeof path, "/proc/%d/task", host.pid);
	threads = opendir(path);
	while (threads != NULL && (entry = readdir(threads)) != NULL) {
		pid_t tid = atoi(entry->d_name);

		if (tid > 0 && tid != host.pid && ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0 &&
		    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0)
			waitpid(tid, NULL, __WALL);
	}
	/* The host cannot end while its thread is stopped. */
	alarm(HANG_S);
	pause();
}

static atomic_bool done;

static void *until_done(void *unused)
{
	while (!atomic_load(&done))
		usleep(1000);
	return unused;
}

/* A thread that the helper has stopped runs again after vgctl_begin() has given up. */
static void frozen(void)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	pthread_t thread;
	int rc;

	adopt();
	options.helper_path = program;
	ensure(pthread_create(&thread, NULL, until_done, NULL) == 0, "pthread_create");
	rc = vgctl_begin(profile, &options, &session);
	ensure(rc == -ETIMEDOUT, "vgctl_begin returned %d: %s", rc, vgctl_strerror(rc));
	ensure_no_helper();
	atomic_store(&done, true);
	pthread_join(thread, NULL);
}

/* Two recordings of one process with the same file. */
static void twice(void)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session = begin(profile), *other;
	char name[4096];
	int rc = vgctl_begin(profile, NULL, &other);

	ensure(rc == -EBUSY && strstr(vgctl_strerror(rc), "of this process or of its parent is writing") != NULL,
	       "vgctl_begin returned %d: %s", rc, vgctl_strerror(rc));
	end(session);
	options.flight_s = 5;
	snprintf(name, sizeof name, "%s.flight", profile);
	ensure(vgctl_begin(name, &options, &session) == 0, "no flight recorder");
	rc = vgctl_dump(session, name);
	ensure(rc == -EBUSY && strstr(vgctl_strerror(rc), "of this process or of its parent is writing") != NULL,
	       "vgctl_dump returned %d: %s", rc, vgctl_strerror(rc));
	end(session);
}

/* ---- signals and locks ---- */

static volatile sig_atomic_t forks;

static void on_signal_fork(int number)
{
	pid_t child = fork();

	(void)number;
	if (child == 0)
		_exit(0);
	forks++;
}

/* A signal handler calls fork(2) while its thread is in the library. */
static void forks_in_handler(void)
{
	struct sigaction action = { .sa_handler = on_signal_fork };
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
	char text[1000];

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	ensure(signal(SIGCHLD, SIG_IGN) != SIG_ERR && sigaction(SIGPROF, &action, NULL) == 0 &&
	       setitimer(ITIMER_PROF, &often, NULL) == 0, "signals: %m");
	while (forks < FORKS)
		ensure(vgctl_intern(text) != 0, "vgctl_intern");
	ensure(setitimer(ITIMER_PROF, &never, NULL) == 0, "setitimer: %m");
	signal(SIGCHLD, SIG_DFL);
	end(begin(profile));
}

static void *begin_and_end(void *unused)
{
	while (!atomic_load(&done)) {
		struct vgctl_session *session;

		if (vgctl_begin(argument, NULL, &session) == 0)
			vgctl_end(session, NULL);
	}
	return unused;
}

static int under_linker_lock(struct dl_phdr_info *object, size_t bytes, void *unused)
{
	struct vgctl_session *session;

	(void)object;
	(void)bytes;
	(void)unused;
	if (vgctl_begin(profile, NULL, &session) == 0)
		vgctl_end(session, NULL);
	return 1;
}

/* One thread begins sessions while it holds the dynamic linker's lock.  Another thread begins sessions without the
 * lock. */
static void linker_locked(void)
{
	pthread_t thread;

	/* Without VIGNETTED the library searches the linker's list for its own file, and looks for the helper beside
	 * this file.  There is no helper. */
	ensure(unsetenv("VIGNETTED") == 0 && pthread_create(&thread, NULL, begin_and_end, NULL) == 0, "thread");
	for (int i = 0; i < BEGINS; i++)
		dl_iterate_phdr(under_linker_lock, NULL);
	atomic_store(&done, true);
	pthread_join(thread, NULL);
}

/* ---- forbidden system calls ---- */

/* Makes this system call fail with EPERM from now on. */
static void deny(long call)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program_of_filter = { sizeof filter / sizeof *filter, filter };

	ensure(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program_of_filter) == 0, "seccomp: %m");
}

/* Fills the stack memory of the next calls with the number.  A variable that these calls do not initialize has this
 * value. */
__attribute__((noinline)) static void stack_fill(int number)
{
	volatile int filled[2048];

	for (size_t i = 0; i < sizeof filled / sizeof *filled; i++)
		filled[i] = number;
}

/* A session that cannot begin closes none of the program's descriptors. */
static void keeps_descriptors(void)
{
	struct vgctl_session *session;

	for (int fd = STDERR_FILENO + 1; fd <= DESCRIPTORS; fd++)
		ensure(dup2(STDERR_FILENO, fd) == fd, "dup2: %m");
	deny(SYS_socketpair);
	stack_fill(DESCRIPTORS);
	ensure(vgctl_begin(profile, NULL, &session) == -EPERM, "vgctl_begin without socketpair(2)");
	stack_fill(DESCRIPTORS);
	ensure(vgctl_listen(argument, NULL) == -EPERM, "vgctl_listen without socketpair(2)");
	for (int fd = 0; fd <= DESCRIPTORS; fd++)
		ensure(fcntl(fd, F_GETFD) >= 0, "descriptor %d is closed", fd);
}

/* Without the system call no session begins.  The message names the call, and no file is left. */
static void refused(long call, const char *named)
{
	struct vgctl_session *session;
	char part[4096];
	int rc;

	snprintf(part, sizeof part, "%s.part", profile);
	deny(call);
	rc = vgctl_begin(profile, NULL, &session);
	ensure(rc == -EPERM && strstr(vgctl_strerror(rc), named) != NULL, "vgctl_begin returned %d: %s", rc,
	       vgctl_strerror(rc));
	ensure(access(part, F_OK) != 0 && errno == ENOENT, "%s is left", part);
}

static void no_stat(void) { refused(SYS_newfstatat, "cannot create"); }
static void no_lists(void) { refused(SYS_getdents64, "getdents64"); }

static const struct kind {
	const char *name;
	void (*run)(void);
} kinds[] = {
	{ "adopts", adopts }, { "executes", executes }, { "closes", closes }, { "closes_one", closes_one },
	{ "few_processes", few_processes }, { "fifo", fifo }, { "round_robin", round_robin },
	{ "good_nice", good_nice }, { "poor_nice", poor_nice }, { "deadline", deadline }, { "leaves", leaves },
	{ "listens", listens },
	{ "empty_dev", empty_dev }, { "bad_helper", bad_helper }, { "exits", exits }, { "exits_late", exits_late }, { "frozen", frozen },
	{ "twice", twice }, { "keeps_descriptors", keeps_descriptors },
	{ "forks_in_handler", forks_in_handler }, { "linker_locked", linker_locked },
	{ "other_time", other_time }, { "no_stat", no_stat }, { "no_lists", no_lists },
};

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--serve") == 0)
		freezes();
	if (argc < 3)
		return 2;
	program = argv[0];
	profile = argv[2];
	argument = argc > 3 ? argv[3] : NULL;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (strcmp(argv[1], kinds[i].name) != 0)
			continue;
		alarm(HANG_S);           /* ends a deadlock */
		kinds[i].run();
		return 0;
	}
	return 2;
}
