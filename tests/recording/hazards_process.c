/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Hazards of a process's life: stops, exec, fork, ends of threads, debuggers, kernel threads. */
#include "tests/recording/hazards.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/spin.h"

static pid_t spinner_start(void)
{
	pid_t child = fork();

	if (child == 0) {
		for (;;)
			;
	}
	return child;
}

/* Ends the recording, and reads its profile.  If vignetted has failed, nothing is found: on a busy machine all
 * samples may be lost.  Then the caller records again, for longer. */
static void record_end(pid_t helper, struct found *found)
{
	memset(found, 0, sizeof *found);
	if (record_stop(helper, 0) == 0)
		found_read(PROFILE, found);
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* A process that job control has stopped stays stopped.  The helper does not attach to it, and its parent gets only one
 * notification.  The process runs again when it is continued. */
static void stopped(void)
{
	pid_t child = spinner_start(), helper;
	struct found found = { 0 };
	int status;

	spin_ms(20);
	kill(child, SIGSTOP);
	ensure(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status), "it did not stop");
	for (int checks = 500; found.samples <= 20; checks *= 2) {
		ensure(checks < WAIT_MAX_MS, "%lu samples; expected more than 20", found.samples);
		helper = record_start(child, 0, "1000");
		record_await();
		for (int i = 0; i < checks; i++) {
			char state = state_of(child, child);

			ensure(state == 'T', "its state is %c; expected T", state);
			usleep(500);
		}
		record_end(helper, &found);
		ensure(found.stops == 0 && found.lost == 0, "%lu lost, %lu stops; expected none of both", found.lost,
		       found.stops);
	}
	ensure(waitpid(child, &status, WUNTRACED | WNOHANG) == 0, "its parent got a second notification");
	kill(child, SIGCONT);
	ensure(waitpid(child, &status, WCONTINUED) == child && WIFCONTINUED(status), "it was not continued");
	spin_ms(20);
	ensure(state_of(child, child) == 'R', "its state is %c", state_of(child, child));
	end(child);
}

/* execve(2) ends the session of a process, and the helper completes the profile. */
static void exec_in_session(void)
{
	struct found found;
	int ends[2];
	pid_t child;
	char byte;

	ensure(pipe2(ends, O_CLOEXEC) == 0, "no pipe");
	child = fork();
	if (child == 0) {
		session_use(begin(500));
		if (write(ends[1], "", 1) == 1)
			execl("/bin/sleep", "sleep", "100", NULL);
		_exit(1);
	}
	ensure(read(ends[0], &byte, 1) == 1, "no session");
	helper_wait(getpid());
	found_read(PROFILE ".part", &found);
	ensure(strcmp(found.reason, "the program closed its end of the session") == 0, "the profile ends with '%s'",
	       found.reason);
	ensure(found.samples > 2, "%lu samples, %lu lost; expected at least 3 samples", found.samples, found.lost);
	ensure(waitpid(child, NULL, WNOHANG) == 0, "the program has ended");
	end(child);
}

/* A child of fork(2) that outlives its parent's session does not hinder the end of that session.  If the parent is
 * killed in a session, the child does not hinder the next session with the same path. */
static void fork_lives_on(void)
{
	struct vgctl_session *session;
	int ends[2];
	pid_t host, child;
	int rc;

	session = begin(500);
	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	ensure(vgctl_sample(session) == 0 && vgctl_end(session, NULL) == 0, "the child hinders its parent's session");
	end(child);
	ensure(pipe(ends) == 0, "no pipe");
	host = fork();
	if (host == 0) {
		begin(500);
		child = fork();
		if (child == 0) {
			for (;;)
				pause();
		}
		(void)!write(ends[1], &child, sizeof child);
		pause();
	}
	ensure(read(ends[0], &child, sizeof child) == sizeof child, "no child");
	end(host);
	/* The helper may take about a second to complete the file. */
	for (int ms = 0; (rc = vgctl_begin(PROFILE, NULL, &session)) == -EBUSY; ms++) {
		ensure(ms < WAIT_MAX_MS, "the path is still in use");
		usleep(1000);
	}
	ensure(rc == 0, "vgctl_begin: %s", vgctl_strerror(rc));
	ensure(kill(child, 0) == 0, "the child has ended");
	ensure(vgctl_end(session, NULL) == 0, "the child hinders the next session");
	kill(child, SIGKILL);
}

static atomic_ulong turns;

static void *count_turns(void *argument)
{
	for (;;)
		atomic_fetch_add(&turns, 1);
	return argument;
}

/* When a thread exits, the kernel walks its list of robust futexes, at most 2048 of them.  Here each is on a page of
 * its own that must be mapped first, which takes milliseconds. */
static void end_slowly(void)
{
	enum { ENTRIES = 2048, STRIDE = 32 * 4096 };
	size_t bytes = (size_t)(ENTRIES + 1) * STRIDE;
	int fd = memfd_create("robust", MFD_CLOEXEC);
	char *unmapped, *mapped;

	ensure(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0, "memfd: %s", strerror(errno));
	mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	unmapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ensure(mapped != MAP_FAILED && unmapped != MAP_FAILED, "mmap: %s", strerror(errno));
	for (size_t i = 0; i <= ENTRIES; i++) {
		long *entry = (long *)(mapped + i * STRIDE);

		entry[0] = (long)(unmapped + (i + 1) % (ENTRIES + 1) * STRIDE);
		entry[1] = 64;                   /* in the list head: the offset of the futex in an entry */
		entry[2] = 0;
	}
	syscall(SYS_set_robust_list, unmapped, 24);
	syscall(SYS_exit, 0);
}

/* The first thread exits while a stop is requested.  It stays a zombie until the other threads exit.  The other threads
 * are sampled as before. */
static void leader_ends(void)
{
	for (int i = 0, more_ms = 100; i < rounds(10, 300); i++) {
		pid_t child = fork(), helper;
		uint64_t begun_ns, ended_ns;
		struct found found;

		if (child == 0) {
			pthread_t thread;

			pthread_create(&thread, NULL, count_turns, NULL);
			record_await();
			spin_ms(30);
			end_slowly();
		}
		begun_ns = spin_now_ns();
		/* Not faster than the scheduler ticks: schedstat is updated only at these ticks. */
		helper = record_start(child, 0, "200");
		while (state_of(child, child) != 'Z')
			usleep(1000);
		ended_ns = spin_now_ns();
		usleep((useconds_t)more_ms * 1000);
		record_end(helper, &found);
		end(child);
		/* Three samples: one may be taken when the recording ends. */
		if (found.latest_of_second_ns[2] > ended_ns - begun_ns)
			continue;
		/* On a busy machine a thread may not stop in time, again and again.  Record again, and for longer from
		 * now on: so this is not repeated for long. */
		more_ms *= 2;
		i--;
		ensure(more_ms < WAIT_MAX_MS / 4, "the third last sample of the other thread is at %lu of %lu ms; the "
		       "first thread ended before %lu ms", found.latest_of_second_ns[2] / 1000000,
		       found.duration_ns / 1000000, (ended_ns - begun_ns) / 1000000);
	}
}

/* Another tracer can attach during a recording and keep the thread for as long as it wants.  When it detaches, sampling
 * continues.  The thread runs under the tracer for `ms`, and the recording continues for `ms` after that.  Returns
 * whether the profile has enough of both. */
static bool debugged(int ms, struct found *found)
{
	pid_t child = spinner_start(), helper = record_start(child, 0, "1000");
	uint64_t detached_ns;
	int status, tries = 0;

	record_await();
	/* vignetted traces the thread now and then. */
	while (ptrace(PTRACE_SEIZE, child, NULL, NULL) != 0) {
		ensure(errno == EPERM && ++tries < WAIT_MAX_MS, "cannot attach: %s", strerror(errno));
		usleep(tries < 1000 ? 50 : 1000);
	}
	for (int i = 0; i < ms; i++) {           /* the thread runs under the tracer */
		ensure(waitpid(child, &status, __WALL | WNOHANG) == 0, "a stop that the tracer did not request");
		usleep(1000);
	}
	ptrace(PTRACE_INTERRUPT, child, NULL, NULL);
	ensure(waitpid(child, &status, __WALL) == child && status >> 16 == PTRACE_EVENT_STOP, "no stop");
	for (int i = 0; i < 100; i++) {          /* the tracer has stopped the thread */
		ensure(state_of(child, child) == 't', "its state is %c; expected t", state_of(child, child));
		usleep(1000);
	}
	detached_ns = spin_now_ns();
	ensure(ptrace(PTRACE_DETACH, child, NULL, NULL) == 0, "cannot detach");
	usleep((useconds_t)ms * 1000);
	record_end(helper, found);
	end(child);
	return found->forbidden > 5 && found->latest_ns + (spin_now_ns() - detached_ns) > found->duration_ns;
}

static void debugger(void)
{
	struct found found;

	for (int ms = 200; !debugged(ms, &found); ms *= 2)
		ensure(ms < WAIT_MAX_MS, "%lu forbidden, the last sample is at %lu of %lu ms; expected more than 5, "
		       "and a sample after the tracer detached, %d ms before the end", found.forbidden,
		       found.latest_ns / 1000000, found.duration_ns / 1000000, ms);
}

/* vignetted refuses a process that gdb or strace traces. */
static void debugger_first(void)
{
	pid_t child = spinner_start();
	int status;

	ensure(ptrace(PTRACE_SEIZE, child, NULL, NULL) == 0, "cannot attach");
	status = record_stop(record_start(child, 0, "100"), 0);
	ensure(status == 1, "vignetted's exit status is %d; expected 1", status);
	ensure(access(PROFILE, F_OK) != 0 && access(PROFILE ".part", F_OK) != 0, "a file is left");
	ptrace(PTRACE_DETACH, child, NULL, NULL);
	end(child);
}

/* vignetted refuses a process if each of 20 checks finds a tracer.  It sleeps before each check (lasting_tracer() in
 * vignetted/target/access.c).  So if the tracer detaches before vignetted has slept BRIEF_WAITS times, vignetted must
 * begin.  Returns whether that was so: on a very busy machine this process may get a CPU too late. */
enum { BRIEF_WAITS = 18 };

static bool traced_briefly(pid_t target)
{
	pid_t helper;
	int status;
	bool brief;

	ensure(ptrace(PTRACE_SEIZE, target, NULL, NULL) == 0, "cannot attach");
	helper = record_start(target, 0, "100");
	while (!is_pausing(helper))
		usleep(100);
	kill(helper, SIGSTOP);
	while (strchr("TZ", state_of(helper, helper)) == NULL)
		usleep(100);
	brief = waits_of(helper) < BRIEF_WAITS;
	ptrace(PTRACE_INTERRUPT, target, NULL, NULL);
	waitpid(target, NULL, __WALL);
	ptrace(PTRACE_DETACH, target, NULL, NULL);
	kill(helper, SIGCONT);
	status = record_stop(helper, 20);
	/* vignetted also fails if all samples were lost, but then there is a profile. */
	ensure(!brief || status == 0 || access(PROFILE, F_OK) == 0, "vignetted's exit status is %d, after a tracer that "
	       "has detached; expected 0", status);
	unlink(PROFILE);
	return brief;
}

/* Starts a second recorder of the target.  This recorder is attached for half of the time. */
static pid_t recorder_start(pid_t target)
{
	pid_t recorder = fork();

	while (recorder == 0) {
		if (ptrace(PTRACE_SEIZE, target, NULL, NULL) == 0) {
			usleep(500);
			ptrace(PTRACE_INTERRUPT, target, NULL, NULL);
			waitpid(target, NULL, __WALL);
			ptrace(PTRACE_DETACH, target, NULL, NULL);
		}
		usleep(500);
	}
	return recorder;
}

/* vignetted begins although another process traced the thread for a short time, and takes samples while another
 * recorder repeatedly attaches to the thread. */
static void recorded_twice(void)
{
	pid_t child = spinner_start(), recorder;
	int count = rounds(3, 40), brief = 0;

	for (int tries = 0; tries < 2 * count && brief < count; tries++)
		brief += traced_briefly(child);
	printf("(%d of %d brief tracers) ", brief, count);
	for (int ms = 100, taken = 0; !taken; ms *= 2) {
		pid_t helper = record_start(child, 0, "100");
		struct found found = { 0 };

		record_await();
		recorder = recorder_start(child);
		/* vignetted fails if all samples were lost. */
		if (record_stop(helper, ms) == 0)
			found_read(PROFILE, &found);
		end(recorder);
		/* One sample is taken before the second recorder begins. */
		taken = found.samples > 1;
		ensure(taken || ms < WAIT_MAX_MS, "%lu samples, %lu lost; expected samples beside another recorder",
		       found.samples, found.lost);
	}
	end(child);
}

enum { POLLERS = 20 };

/* Creates pollers of io_uring, each after the end of the previous one.  The samples let the helper see each change of
 * the number of threads, so it finds each poller. */
static void pollers_make(struct vgctl_session *session)
{
	int threads = entries("/proc/self/task");

	for (int i = 0; i < POLLERS; i++) {
		struct io_uring_params params = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 1000 };
		int fd = (int)syscall(SYS_io_uring_setup, 4, &params);

		ensure(fd >= 0, "io_uring_setup: %s", strerror(errno));
		spin_ms(5);
		ensure(vgctl_sample(session) == 0, "vgctl_sample failed");
		close(fd);
		for (int ms = 0; entries("/proc/self/task") > threads; ms++) {
			ensure(ms < WAIT_MAX_MS, "the poller does not end");
			usleep(1000);
		}
		ensure(vgctl_sample(session) == 0, "vgctl_sample failed");
	}
}

/* io_uring's poller and worker are kernel threads in the process's list of threads, and cannot be traced.  They have no
 * samples, and no sample of them counts as lost. */
static void io_uring_threads(void)
{
	struct io_uring_params params = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 2000 };
	int fd = (int)syscall(SYS_io_uring_setup, 4, &params), ends[2];
	struct io_uring_sqe *entries;
	struct vgctl_session *session;
	struct found found;
	unsigned *tail;
	char *ring, byte;

	/* A kernel may lack io_uring, and containers and kernel.io_uring_disabled may forbid it. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
		printf("(not tested: io_uring_setup: %s) ", strerror(errno));
		return;
	}
	ensure(fd >= 0 && pipe(ends) == 0, "io_uring_setup: %s", strerror(errno));
	ring = mmap(NULL, params.sq_off.array + params.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, IORING_OFF_SQ_RING);
	entries = mmap(NULL, params.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       IORING_OFF_SQES);
	ensure(ring != MAP_FAILED && entries != MAP_FAILED, "no ring");
	memset(entries, 0, sizeof *entries);
	entries->opcode = IORING_OP_READ;
	entries->flags = IOSQE_ASYNC;
	entries->fd = ends[0];
	entries->addr = (uint64_t)&byte;
	entries->len = 1;
	((unsigned *)(ring + params.sq_off.array))[0] = 0;
	tail = (unsigned *)(ring + params.sq_off.tail);
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	/* The poller starts the worker.  This call wakes the poller if it sleeps. */
	syscall(SYS_io_uring_enter, fd, 1, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
	spin_ms(50);
	session = begin(1000);
	pollers_make(session);
	ensure(vgctl_end(session, NULL) == 0, "vgctl_end failed");
	found_read(PROFILE, &found);
	ensure(found.threads >= POLLERS, "%d threads; expected at least %d pollers", found.threads, POLLERS);
	ensure(found.forbidden == 0, "%lu forbidden; expected none", found.forbidden);
	ensure(found.samples_of[0] == found.samples, "a kernel thread has samples");
}

const struct hazard process_hazards[] = {
	{ "stopped", stopped },
	{ "exec_in_session", exec_in_session },
	{ "fork_lives_on", fork_lives_on },
	{ "leader_ends", leader_ends },
	{ "debugger", debugger },
	{ "debugger_first", debugger_first },
	{ "recorded_twice", recorded_twice },
	{ "io_uring_threads", io_uring_threads },
	{ NULL, NULL },
};
