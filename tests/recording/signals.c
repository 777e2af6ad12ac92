/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Signals of a sampled program: none is lost or delivered twice, payload and order do not change, and the parent gets a
 * notification each time that the program is stopped or continued.
 *
 *     signals VIGNETTED PROFILE QUEUED STOPS
 *
 * The sampled program is a child of this one.  One of its threads gets QUEUED real-time signals in a handler, another
 * receives as many with sigwaitinfo(2), a third has as many faults, which its handler repairs.  Meanwhile the program
 * is stopped and continued STOPS times.  All this begins when the helper has begun to record.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Only keep the test from hanging. */
enum { SEEN_MAX_S = 120, END_MAX_S = 3000 };

static struct shared {
	atomic_bool recorded, stops_done;
	atomic_int handled, received, repaired, wrong;
} *shared;
static int wanted;
static char *page;
static long page_bytes;

static void on_queued(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	if (info->si_code != SI_QUEUE || info->si_value.sival_int != shared->handled)
		shared->wrong++;
	shared->handled++;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	if (info->si_addr != page)
		shared->wrong++;
	shared->repaired++;
	mprotect(page, (size_t)page_bytes, PROT_READ);
}

static void *handle(void *argument)
{
	while (shared->handled < wanted || !shared->stops_done)
		;
	return argument;
}

static void *receive(void *argument)
{
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	while (shared->received < wanted) {
		/* Stopping and continuing the process interrupts sigwaitinfo(2) (signal(7)). */
		if (sigwaitinfo(&set, &info) < 0 && errno == EINTR)
			continue;
		if (info.si_value.sival_int != shared->received)
			shared->wrong++;
		shared->received++;
	}
	return argument;
}

static void *fault(void *argument)
{
	for (int i = 0; i < wanted; i++) {
		mprotect(page, (size_t)page_bytes, PROT_NONE);
		*(volatile char *)page;
		if (shared->repaired != i + 1)
			shared->wrong++;
	}
	return argument;
}

/* Tries again while the queue is full (EAGAIN). */
static void queue(pthread_t thread, int signal, int value)
{
	union sigval payload = { .sival_int = value };

	while (pthread_sigqueue(thread, signal, payload) == EAGAIN)
		usleep(100);
}

static int host_run(void)
{
	struct sigaction queued_action = { .sa_sigaction = on_queued, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction fault_action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	pthread_t handler, receiver, faulter;
	sigset_t set;

	page = mmap(NULL, (size_t)page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGRTMIN, &queued_action, NULL);
	sigaction(SIGSEGV, &fault_action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	while (!shared->recorded)
		usleep(1000);
	pthread_create(&handler, NULL, handle, NULL);
	pthread_create(&receiver, NULL, receive, NULL);
	pthread_create(&faulter, NULL, fault, NULL);
	for (int i = 0; i < wanted; i++) {
		queue(handler, SIGRTMIN, i);
		queue(receiver, SIGRTMIN + 1, i);
	}
	pthread_join(receiver, NULL);
	pthread_join(faulter, NULL);
	pthread_join(handler, NULL);
	return 0;
}

/* Whether this process is notified that its child was stopped, or continued. */
static bool state_seen(pid_t child, bool stopped)
{
	for (int ms = 0; ms < SEEN_MAX_S * 1000; ms++) {
		int status, options = WNOHANG | (stopped ? WUNTRACED : WCONTINUED);
		pid_t got = waitpid(child, &status, options);

		if (got == child)
			return stopped ? WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP :
			       WIFCONTINUED(status);
		if (got < 0)
			return false;
		usleep(1000);
	}
	return false;
}

static bool stop_and_continue(pid_t child, int count)
{
	for (int i = 0; i < count; i++) {
		kill(child, SIGSTOP);
		if (!state_seen(child, true)) {
			printf("stop %d was not seen\n", i);
			return false;
		}
		usleep((useconds_t)(rand() % 2000));
		kill(child, SIGCONT);
		if (!state_seen(child, false)) {
			printf("continuation %d was not seen\n", i);
			return false;
		}
		usleep((useconds_t)(rand() % 2000));
	}
	return true;
}

static pid_t helper_start(const char *vignetted, const char *profile, pid_t child)
{
	char number[16];
	pid_t helper;

	snprintf(number, sizeof number, "%d", child);
	helper = fork();
	if (helper == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(vignetted, "vignetted", "--rate", "1000", "--capture", "stop", "-o", profile, "--pid", number,
		      NULL);
		_exit(127);
	}
	return helper;
}

/* Whether the helper has begun to record: it has written the profile's header. */
static bool recording_begun(const char *profile)
{
	char part[4096];
	struct stat status;

	snprintf(part, sizeof part, "%s.part", profile);
	for (int ms = 0; ms < SEEN_MAX_S * 1000; ms++) {
		if (stat(part, &status) == 0 && status.st_size > 0)
			return true;
		usleep(1000);
	}
	printf("no data in %s after %d s\n", part, SEEN_MAX_S);
	return false;
}

int main(int argc, char **argv)
{
	pid_t child, helper;
	int status = 0, helper_status = 0;
	bool good;

	if (argc != 5)
		return 2;
	wanted = atoi(argv[3]);
	page_bytes = sysconf(_SC_PAGESIZE);
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(host_run());
	}
	helper = helper_start(argv[1], argv[2], child);
	if (!recording_begun(argv[2]))
		return 1;
	shared->recorded = true;
	good = stop_and_continue(child, atoi(argv[4]));
	shared->stops_done = true;
	alarm(END_MAX_S);
	waitpid(child, &status, 0);
	waitpid(helper, &helper_status, 0);
	printf("%d handled, %d received, %d faults repaired of %d each; %d wrong; exit status %d, helper's %d\n",
	       shared->handled, shared->received, shared->repaired, wanted, shared->wrong, status,
	       helper_status);
	return good && status == 0 && helper_status == 0 && shared->wrong == 0 &&
	       shared->handled == wanted && shared->received == wanted && shared->repaired == wanted ? 0 : 1;
}
