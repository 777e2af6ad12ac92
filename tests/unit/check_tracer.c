/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that exit, execute a program or do not stop in time. None of them may stay stopped, and the other threads'
 * samples must not be lost. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libvgctl/vgctl.h"
#include "tests/unit/suites.h"
#include "tests/unit/recorded.h"
#include "vignetted/capture/tracer.h"

static char path[64], part[80];
static atomic_bool stopping;

static void setup(void)
{
	snprintf(path, sizeof path, "check_tracer.%d.vgp", getpid());
	snprintf(part, sizeof part, "%s.part", path);
}

static void teardown(void)
{
	unlink(path);
}

static void *spin_thread(void *argument)
{
	(void)argument;
	for (;;)
		;
	return NULL;
}

static void *exec_thread(void *argument)
{
	(void)argument;
	execl("/bin/true", "true", NULL);
	return NULL;
}

/* A process with many threads that exits, or executes a program, while it is sampled. */
static void many_threads_exit(int round)
{
	pthread_t thread;

	for (int i = 0; i < 8; i++)
		pthread_create(&thread, NULL, spin_thread, NULL);
	/* The helper makes this file shortly before its first sample. The limit of a minute or more is for a helper that
	 * cannot start. */
	for (int ms = 0; access(part, F_OK) != 0; ms++) {
		if (ms == 60000)
			_exit(2);
		usleep(1000);
	}
	usleep(2000 + round * 97);
	switch (round % 3) {
	case 0:
		_exit(0);
	case 1:
		exec_thread(NULL);
		break;
	case 2:
		pthread_create(&thread, NULL, exec_thread, NULL);
		pause();
	}
	_exit(1);
}

/* The kernel completes a process's exit or execve(2) only when all of its traced threads have been released. */
START_TEST(exit_and_exec)
{
	for (int round = 0; round < 30; round++) {
		pid_t child = fork(), helper;
		char number[16];
		int status;

		if (child == 0)
			many_threads_exit(round);
		helper = fork();
		if (helper == 0) {
			snprintf(number, sizeof number, "%d", child);
			close(STDERR_FILENO);
			execl(getenv("VIGNETTED"), "vignetted", "--rate", "10000", "-o", path, "--pid",
			      number, NULL);
			_exit(127);
		}
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_int_eq(status, 0);
		ck_assert_int_eq(waitpid(helper, &status, 0), helper);
	}
}
END_TEST

static atomic_ulong starved_loops;

static void *starved_thread(void *argument)
{
	struct sched_param no_priority = { 0 };

	(void)argument;
	sched_setscheduler(0, SCHED_IDLE, &no_priority);
	while (!atomic_load(&stopping))
		atomic_fetch_add(&starved_loops, 1);
	return NULL;
}

static void *busy_thread(void *argument)
{
	(void)argument;
	while (!atomic_load(&stopping))
		;
	return NULL;
}

/* Lets this process use only the first of its CPUs. */
static void one_cpu(void)
{
	cpu_set_t cpus;
	int first = 0;

	ck_assert_int_eq(sched_getaffinity(0, sizeof cpus, &cpus), 0);
	while (!CPU_ISSET(first, &cpus))
		first++;
	CPU_ZERO(&cpus);
	CPU_SET(first, &cpus);
	ck_assert_int_eq(sched_setaffinity(0, sizeof cpus, &cpus), 0);
}

/* Samples a thread that gets hardly any CPU. Returns how many samples were lost. */
static uint64_t starved_sample(void)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct vgctl_session *session;
	pthread_t threads[2];

	atomic_store(&stopping, false);
	atomic_store(&starved_loops, 0);
	pthread_create(&threads[0], NULL, starved_thread, NULL);
	while (atomic_load(&starved_loops) == 0)
		usleep(1000);
	pthread_create(&threads[1], NULL, busy_thread, NULL);
	options.rate_hz = VGCTL_ON_DEMAND;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	ck_assert_int_eq(vgctl_sample(session), 0);
	atomic_store(&stopping, true);
	pthread_join(threads[1], NULL);
	pthread_join(threads[0], NULL);  /* if the thread stays stopped, the test times out */
	ck_assert_int_eq(vgctl_end(session, &summary), 0);
	return summary.lost;
}

/* A thread that gets no CPU does not stop in time. When it does stop later it must be continued, even if no other
 * sample is due. */
START_TEST(starved_thread_is_continued)
{
	one_cpu();
	/* By chance the thread may get the CPU in time. Then its sample is not lost. */
	while (starved_sample() == 0)
		;
}
END_TEST

/* Returns the number of the system call that the thread waits in; -1: it runs. */
static long call_of(pid_t tid)
{
	char name[64], text[256];
	long call = -1;
	FILE *file;

	snprintf(name, sizeof name, "/proc/%d/syscall", tid);
	file = fopen(name, "r");
	if (file != NULL && fgets(text, sizeof text, file) != NULL && sscanf(text, "%ld", &call) != 1)
		call = -1;
	if (file != NULL)
		fclose(file);
	return call;
}

/* The tracer waits for this signal, which must be blocked and not ignored. */
static void child_signal_block(void)
{
	sigset_t child_signal;

	sigemptyset(&child_signal);
	sigaddset(&child_signal, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child_signal, NULL);
}

#ifdef __x86_64__
/* Waits until another process traces that one. The caller shares its parent's memory, so it only makes system calls. */
static void traced_wait(pid_t pid)
{
	char name[64], text[1024] = "", *tracer = NULL;
	int fd;

	snprintf(name, sizeof name, "/proc/%d/status", pid);
	while (tracer == NULL || strncmp(tracer, "TracerPid:\t0\n", 13) == 0) {
		fd = open(name, O_RDONLY | O_CLOEXEC);
		text[fd >= 0 && read(fd, text, sizeof text - 1) > 0 ? sizeof text - 1 : 0] = '\0';
		close(fd);
		tracer = strstr(text, "TracerPid:");
		usleep(1000);
	}
}

/* A child that waits in vfork(2) cannot stop before its own child ends, 50 ms after it was asked to. */
static enum vg_capture vfork_capture(bool is_patient)
{
	struct vg_tracer tracer = { .is_patient = is_patient };
	struct vg_snapshot snapshot = { 0 };
	enum vg_capture result;
	pid_t child;

	child_signal_block();
	child = fork();
	if (child == 0) {
		if (vfork() == 0) {
			traced_wait(getppid());
			usleep(50 * 1000);
			_exit(0);
		}
		for (;;)
			pause();
	}
	while (call_of(child) != SYS_vfork)
		usleep(1000);
	tracer.leader = child;
	result = vg_tracer_capture(&tracer, child, 4096, &snapshot);
	vg_snapshot_free(&snapshot);
	kill(child, SIGKILL);
	waitpid(child, NULL, __WALL);
	return result;
}

/* Tries again, because on a busy machine the end may be as late as the patience of one second. If a patient capture is
 * never taken, the test times out. */
START_TEST(patient_capture)
{
	while (vfork_capture(true) != VG_CAPTURE_TAKEN)
		;
}
END_TEST
#endif

/* The child's first thread waits in epoll_wait(2) without a timeout. It stops only after the tracer has given up the
 * sample. Its call must go on after the late stop, as after any other. */
START_TEST(late_stop_is_repaired)
{
	struct vg_tracer tracer = { 0 };
	int status;
	pid_t child;

	child_signal_block();
	child = fork();
	if (child == 0) {
		struct epoll_event event;

		epoll_wait(epoll_create1(0), &event, 1, -1);
		_exit(1);
	}
	while (call_of(child) != SYS_epoll_wait)
		usleep(1000);
	ck_assert_int_eq(ptrace(PTRACE_SEIZE, child, NULL, NULL), 0);
	ck_assert_int_eq(ptrace(PTRACE_INTERRUPT, child, NULL, NULL), 0);
	tracer.leader = tracer.pending = child;
	while (!vg_tracer_pending_release(&tracer))
		usleep(1000);
	ck_assert_uint_eq(tracer.repaired, 1);
	/* The child waits again. If the call had returned, the child would exit. */
	while (call_of(child) != SYS_epoll_wait && waitpid(child, &status, WNOHANG) == 0)
		usleep(1000);
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
}
END_TEST

static void first_signal(int number)
{
	_exit(number == SIGUSR1 ? 0 : 1);
}

/* A signal stops a child before the tracer's own request does. Sends SIGUSR2 after the release, and returns the child's
 * wait status. */
static int after_release(int signal)
{
	struct sigaction action = { .sa_handler = first_signal };
	struct vg_tracer tracer = { 0 };
	siginfo_t stop;
	int status;
	pid_t child = fork();

	if (child == 0) {
		/* While one handler runs, the other signal is blocked. */
		sigfillset(&action.sa_mask);
		sigaction(SIGUSR1, &action, NULL);
		sigaction(SIGUSR2, &action, NULL);
		for (;;)
			pause();
	}
	while (call_of(child) != SYS_pause)
		usleep(1000);
	ck_assert_int_eq(ptrace(PTRACE_SEIZE, child, NULL, NULL), 0);
	ck_assert_int_eq(kill(child, signal), 0);
	ck_assert_int_eq(waitid(P_PID, (id_t)child, &stop, WSTOPPED | WNOWAIT), 0);
	tracer.leader = tracer.pending = child;
	while (!vg_tracer_pending_release(&tracer))
		usleep(1000);
	kill(child, SIGUSR2);
	ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
	if (WIFSTOPPED(status))
		kill(child, SIGKILL);
	return status;
}

/* The release delivers the signal: it arrives before another signal that is sent later. */
START_TEST(signal_of_a_late_stop_is_delivered)
{
	int status;

	ck_assert_int_eq(after_release(SIGUSR1), 0);
	status = after_release(SIGSTOP);
	ck_assert(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
}
END_TEST

static pthread_t first_thread;
static atomic_bool second_began;

static void *second_thread(void *argument)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;

	(void)argument;
	options.rate_hz = VGCTL_ON_DEMAND;
	if (vgctl_begin(path, &options, &session) != 0)
		_exit(1);
	atomic_store(&second_began, true);
	pthread_join(first_thread, NULL);
	/* On a busy machine the thread often does not stop in time. */
	for (int i = 0; i < 2000; i++) {
		if (vgctl_sample(session) != 0)
			_exit(2);
	}
	_exit(vgctl_end(session, NULL) == 0 ? 0 : 3);
}

/* /proc/PID/maps is empty when the first thread has exited. The other threads run on. */
START_TEST(first_thread_exits)
{
	struct recorded recorded;
	int status;
	pid_t child = fork();

	if (child == 0) {
		pthread_t thread;

		first_thread = pthread_self();
		pthread_create(&thread, NULL, second_thread, NULL);
		while (!atomic_load(&second_began))
			usleep(1000);
		pthread_exit(NULL);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	recorded_read(&recorded, path);
	ck_assert_uint_ge(recorded.profile.samples.count, 20);
	ck_assert_uint_eq(recorded.profile.samples.items[recorded.profile.samples.count - 1].end,
			  VG_WALK_ROOT);
	recorded_free(&recorded);
}
END_TEST

#ifdef __x86_64__
enum { STACK_END_ROUNDS = 20 };
static char *stack_end;

/* Runs with 64 bytes of stack left. The red zone has 128 bytes. */
static void *stack_end_thread(void *argument)
{
	(void)argument;
	__asm__ volatile("mov %%rsp, %%rbx\n\tmov %0, %%rsp\n1:\tcmpb $0, %1\n\tje 1b\n\t"
			 "mov %%rbx, %%rsp" : : "r"(stack_end + 64), "m"(stopping) : "rbx", "memory");
	return NULL;
}

/* Returns how many samples were lost. A thread that had no CPU for long is not stopped in time. */
static uint64_t stack_end_sample(void)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct vgctl_session *session;
	pthread_t thread;

	atomic_store(&stopping, false);
	pthread_create(&thread, NULL, stack_end_thread, NULL);
	usleep(20 * 1000);
	options.rate_hz = VGCTL_ON_DEMAND;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	for (int i = 0; i < STACK_END_ROUNDS; i++)
		ck_assert_int_eq(vgctl_sample(session), 0);
	atomic_store(&stopping, true);
	pthread_join(thread, NULL);
	ck_assert_int_eq(vgctl_end(session, &summary), 0);
	ck_assert_uint_eq(summary.samples + summary.lost, 2 * STACK_END_ROUNDS);
	return summary.lost;
}

START_TEST(stack_with_little_space)
{
	char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(memory, MAP_FAILED);
	ck_assert_int_eq(mprotect(memory, 4096, PROT_NONE), 0);
	stack_end = memory + 4096;
	while (stack_end_sample() >= STACK_END_ROUNDS / 2)
		;
}
END_TEST
#endif

Suite *tracer_suite(void)
{
	Suite *suite = suite_create("tracer");
	TCase *tests = tcase_create("host");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, exit_and_exec);
	tcase_add_test(tests, starved_thread_is_continued);
	tcase_add_test(tests, late_stop_is_repaired);
	tcase_add_test(tests, signal_of_a_late_stop_is_delivered);
	tcase_add_test(tests, first_thread_exits);
#ifdef __x86_64__
	tcase_add_test(tests, patient_capture);
	tcase_add_test(tests, stack_with_little_space);
#endif
	suite_add_tcase(suite, tests);
	return suite;
}
