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

/* vignetted refuses a process if each of 20 checks within 100 ms finds a tracer (lasting_tracer() in
 * vignetted/target/access.c).  It is improbable that 20 checks find 20 short holds.  But a hold that is longer than
 * LONG_HOLD_NS can be found by several checks, and a few such holds by all. */
enum { LONG_HOLD_NS = 5 * 1000 * 1000 };

static pid_t spinner_start(void)
{
	pid_t child = fork();

	if (child == 0) {
		for (;;)
			;
	}
	return child;
}

static void record_end(pid_t helper)
{
	int status = record_stop(helper, 0);

	ensure(status == 0, "vignetted's exit status is %d", status);
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
	struct found found;
	int status;

	spin_ms(20);
	kill(child, SIGSTOP);
	ensure(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status), "it did not stop");
	helper = record_start(child, 0, "1000");
	for (int i = 0; i < 20000; i++) {
		char state = state_of(child, child);

		ensure(state == 'T', "its state is %c", state);
		usleep(50);
	}
	ensure(waitpid(child, &status, WUNTRACED | WNOHANG) == 0, "its parent got a second notification");
	record_end(helper);
	found_read(PROFILE, &found);
	ensure(found.stops == 0 && found.samples > 20 && found.lost == 0,
	       "%lu samples, %lu lost, %lu stops", found.samples, found.lost, found.stops);
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
		begin(500);
		spin_ms(200);
		if (write(ends[1], "", 1) == 1)
			execl("/bin/sleep", "sleep", "100", NULL);
		_exit(1);
	}
	ensure(read(ends[0], &byte, 1) == 1, "no session");
	helper_wait(getpid());
	found_read(PROFILE ".part", &found);
	ensure(strcmp(found.reason, "the program closed its end of the session") == 0, "the profile ends with '%s'",
	       found.reason);
	ensure(found.samples > 2, "%lu samples", found.samples);
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
		ensure(ms < 10000, "the path is still in use");
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
	for (int i = 0; i < rounds(10, 300); i++) {
		pid_t child = fork(), helper;
		struct found found;

		if (child == 0) {
			pthread_t thread;

			pthread_create(&thread, NULL, count_turns, NULL);
			spin_ms(30);
			end_slowly();
		}
		/* Not faster than the scheduler ticks: schedstat is updated only at these ticks. */
		helper = record_start(child, 0, "200");
		while (state_of(child, child) != 'Z')
			usleep(1000);
		usleep(600 * 1000);
		record_end(helper);
		found_read(PROFILE, &found);
		ensure(found.latest_of_second_ns + 400000000 > found.duration_ns,
		       "the last sample of the other thread is at %lu of %lu ms",
		       found.latest_of_second_ns / 1000000, found.duration_ns / 1000000);
		end(child);
	}
}

/* Another tracer can attach during a recording and keep the thread for as long as it wants.  When it detaches, sampling
 * continues. */
static void debugger(void)
{
	pid_t child = spinner_start(), helper = record_start(child, 0, "1000");
	struct found found;
	uint64_t detached_ns;
	int status, tries = 0;

	record_await();
	spin_ms(300);
	while (ptrace(PTRACE_SEIZE, child, NULL, NULL) != 0) {
		ensure(errno == EPERM && ++tries < 1000, "cannot attach: %s", strerror(errno));
		usleep(50);
	}
	for (int i = 0; i < 100; i++) {          /* the thread runs under the tracer */
		ensure(waitpid(child, &status, __WALL | WNOHANG) == 0, "a stop that the tracer did not request");
		usleep(3000);
	}
	ptrace(PTRACE_INTERRUPT, child, NULL, NULL);
	ensure(waitpid(child, &status, __WALL) == child && status >> 16 == PTRACE_EVENT_STOP, "no stop");
	for (int i = 0; i < 100; i++) {          /* the tracer has stopped the thread */
		ensure(state_of(child, child) == 't', "its state is %c", state_of(child, child));
		usleep(3000);
	}
	detached_ns = spin_now_ns();
	ensure(ptrace(PTRACE_DETACH, child, NULL, NULL) == 0, "cannot detach");
	spin_ms(300);
	record_end(helper);
	found_read(PROFILE, &found);
	ensure(found.forbidden > 5, "%lu forbidden", found.forbidden);
	ensure(found.latest_ns + (spin_now_ns() - detached_ns) > found.duration_ns,
	       "the last sample is at %lu of %lu ms, before the tracer detached", found.latest_ns / 1000000,
	       found.duration_ns / 1000000);
	end(child);
}

/* vignetted refuses a process that gdb or strace traces. */
static void debugger_first(void)
{
	pid_t child = spinner_start();

	ensure(ptrace(PTRACE_SEIZE, child, NULL, NULL) == 0, "cannot attach");
	ensure(record(child, 0, "100", 1000) == 1, "vignetted did not refuse");
	ensure(access(PROFILE, F_OK) != 0 && access(PROFILE ".part", F_OK) != 0, "a file is left");
	ptrace(PTRACE_DETACH, child, NULL, NULL);
	end(child);
}

/* Starts a second recorder of the target.  This recorder is attached for half of the time.  On a busy machine the
 * recorder may have to wait for a CPU while it is attached.  *long_holds counts how often it was attached for longer
 * than LONG_HOLD_NS. */
static pid_t recorder_start(pid_t target, atomic_int *long_holds)
{
	pid_t recorder = fork();

	while (recorder == 0) {
		uint64_t begin_ns = spin_now_ns();

		if (ptrace(PTRACE_SEIZE, target, NULL, NULL) == 0) {
			usleep(500);
			ptrace(PTRACE_INTERRUPT, target, NULL, NULL);
			waitpid(target, NULL, __WALL);
			ptrace(PTRACE_DETACH, target, NULL, NULL);
			*long_holds += spin_now_ns() - begin_ns > LONG_HOLD_NS;
		}
		usleep(500);
	}
	return recorder;
}

/* vignetted begins although another recorder repeatedly attaches to the thread for a short time.  vignetted may refuse
 * if one of these times was long. */
static void recorded_twice(void)
{
	atomic_int *long_holds = mmap(NULL, sizeof *long_holds, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = spinner_start(), recorder = recorder_start(child, long_holds);
	struct found found;

	for (int i = 0, tries = 0; i < rounds(3, 40); i++) {
		int holds = *long_holds, rc = record(child, 0, "100", 700);

		/* The long hold is counted when it ends, which may be later. */
		usleep(rc != 0 ? 200 * 1000 : 0);
		if (rc != 0 && *long_holds != holds && ++tries < 100) {
			i--;
			continue;
		}
		ensure(rc == 0, "refused at try %d", i);
		found_read(PROFILE, &found);
		ensure(found.samples > 0, "no samples in try %d", i);
	}
	end(recorder);
	end(child);
}

/* Creates pollers of io_uring and closes them. */
static void pollers_make(void)
{
	for (int i = 0; i < 20; i++) {
		struct io_uring_params params = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 1000 };
		int fd = (int)syscall(SYS_io_uring_setup, 4, &params);

		ensure(fd >= 0, "io_uring_setup: %s", strerror(errno));
		spin_ms(15);
		usleep(10000);
		close(fd);
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
	pollers_make();
	ensure(vgctl_end(session, NULL) == 0, "vgctl_end failed");
	found_read(PROFILE, &found);
	ensure(found.threads >= 10, "%d threads: no pollers", found.threads);
	ensure(found.forbidden == 0, "%lu forbidden", found.forbidden);
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
