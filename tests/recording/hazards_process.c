/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Hazards of a process's life: stops, exec, fork, ends of threads, debuggers, threads of the kernel's. */
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

/* A tracer's hold that is no moment: vignetted waits some 100 ms, which many moments are in. */
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

static void stopped_well(pid_t helper)
{
	int status = record_stop(helper, 0);

	ensure(status == 0, "vignetted's exit status is %d", status);
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Stopped by job control, a process stays stopped, is not attached, and its parent hears of it once;
 * continued, it goes on. */
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
	ensure(waitpid(child, &status, WUNTRACED | WNOHANG) == 0, "its parent is told of another stop");
	stopped_well(helper);
	profile_look(PROFILE, &found);
	ensure(found.stops == 0 && found.samples > 20 && found.lost == 0,
	       "%lu samples, %lu lost, %lu stops", found.samples, found.lost, found.stops);
	kill(child, SIGCONT);
	ensure(waitpid(child, &status, WCONTINUED) == child && WIFCONTINUED(status), "it did not go on");
	spin_ms(20);
	ensure(state_of(child, child) == 'R', "its state is %c", state_of(child, child));
	end(child);
}

/* The program that a session's process executes is not the session's: the file is completed. */
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
	helper_gone(getpid());
	profile_look(PROFILE ".part", &found);
	ensure(strcmp(found.reason, "the program closed its end of the session") == 0, "the profile ends with '%s'", found.reason);
	ensure(found.samples > 2, "%lu samples", found.samples);
	ensure(waitpid(child, NULL, WNOHANG) == 0, "the program has ended");
	end(child);
}

/* A child of fork(2) that lives on hinders neither the end of its parent's session, nor the next
 * session of the same path when the parent was killed in one. */
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
	ensure(vgctl_sample(session) == 0 && vgctl_end(session, NULL) == 0, "the parent's session is hindered");
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
	/* The helper has about a second to complete the file. */
	for (int ms = 0; (rc = vgctl_begin(PROFILE, NULL, &session)) == -EBUSY; ms++) {
		ensure(ms < 10000, "the path is still in use");
		usleep(1000);
	}
	ensure(rc == 0, "vgctl_begin: %s", vgctl_strerror(rc));
	ensure(kill(child, 0) == 0, "the child is gone");
	ensure(vgctl_end(session, NULL) == 0, "the next session is hindered");
	kill(child, SIGKILL);
}

static atomic_ulong turns;

static void *count_turns(void *argument)
{
	for (;;)
		atomic_fetch_add(&turns, 1);
	return argument;
}

/* The kernel goes through the list of robust futexes when a thread ends, 2048 of them at most: here
 * each is on a page of its own that is to be mapped first, which takes milliseconds. */
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
		entry[1] = 64;                   /* in the head: where the futex of an entry is */
		entry[2] = 0;
	}
	syscall(SYS_set_robust_list, unmapped, 24);
	syscall(SYS_exit, 0);
}

/* The first thread may end while it is asked to stop: it stays a zombie until the others end, and
 * those are sampled as before. */
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
		/* Not faster than the scheduler's tick, between two of which a process looks idle. */
		helper = record_start(child, 0, "200");
		while (state_of(child, child) != 'Z')
			usleep(1000);
		usleep(600 * 1000);
		stopped_well(helper);
		profile_look(PROFILE, &found);
		ensure(found.latest_of_second_ns + 400000000 > found.duration_ns,
		       "the last sample of the other thread is at %lu of %lu ms",
		       found.latest_of_second_ns / 1000000, found.duration_ns / 1000000);
		end(child);
	}
}

/* A tracer that comes later gets in, keeps the thread for as long as it likes, and when it goes the
 * samples go on. */
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
	for (int i = 0; i < 100; i++) {          /* running under it */
		ensure(waitpid(child, &status, __WALL | WNOHANG) == 0, "a stop that is not its own");
		usleep(3000);
	}
	ptrace(PTRACE_INTERRUPT, child, NULL, NULL);
	ensure(waitpid(child, &status, __WALL) == child && status >> 16 == PTRACE_EVENT_STOP, "no stop");
	for (int i = 0; i < 100; i++) {          /* and stopped by it */
		ensure(state_of(child, child) == 't', "its state is %c", state_of(child, child));
		usleep(3000);
	}
	detached_ns = spin_now_ns();
	ensure(ptrace(PTRACE_DETACH, child, NULL, NULL) == 0, "cannot detach");
	spin_ms(300);
	stopped_well(helper);
	profile_look(PROFILE, &found);
	ensure(found.forbidden > 5, "%lu forbidden", found.forbidden);
	ensure(found.latest_ns + (spin_now_ns() - detached_ns) > found.duration_ns,
	       "the last sample is at %lu of %lu ms, before the tracer went", found.latest_ns / 1000000,
	       found.duration_ns / 1000000);
	end(child);
}

/* gdb's or strace's program cannot be begun with: it says who has it. */
static void debugger_first(void)
{
	pid_t child = spinner_start();

	ensure(ptrace(PTRACE_SEIZE, child, NULL, NULL) == 0, "cannot attach");
	ensure(record_outside(child, 0, "100", 1000) == 1, "vignetted did not refuse");
	ensure(access(PROFILE, F_OK) != 0 && access(PROFILE ".part", F_OK) != 0, "a file is left");
	ptrace(PTRACE_DETACH, child, NULL, NULL);
	end(child);
}

/* A second recorder of the same process, for half of the time.  Adds to *long_holds where that was no moment: a busy machine
 * lets it wait while it has the thread. */
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

/* One that holds a thread for moments only is no reason not to begin; one that holds it for longer may be. */
static void recorded_twice(void)
{
	atomic_int *long_holds = mmap(NULL, sizeof *long_holds, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = spinner_start(), recorder = recorder_start(child, long_holds);
	struct found found;

	for (int i = 0, tries = 0; i < rounds(3, 40); i++) {
		int holds = *long_holds, rc = record_outside(child, 0, "100", 700);

		/* A hold that lasted as it was refused ends later. */
		usleep(rc != 0 ? 200 * 1000 : 0);
		if (rc != 0 && *long_holds != holds && ++tries < 100) {
			i--;
			continue;
		}
		ensure(rc == 0, "refused at try %d", i);
		profile_look(PROFILE, &found);
		ensure(found.samples > 0, "no samples in try %d", i);
	}
	end(recorder);
	end(child);
}

/* Pollers that come and go; only main itself runs for the program. */
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

/* A poller and a worker of io_uring are threads of the process to look at, and cannot be traced:
 * they are no losses. */
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
	/* The poller is there, and starts the worker if it is not asleep. */
	syscall(SYS_io_uring_enter, fd, 1, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
	spin_ms(50);
	session = begin(1000);
	pollers_make();
	ensure(vgctl_end(session, NULL) == 0, "vgctl_end failed");
	profile_look(PROFILE, &found);
	ensure(found.threads >= 10, "%d threads: no pollers", found.threads);
	ensure(found.forbidden == 0, "%lu forbidden", found.forbidden);
	ensure(found.samples_of[0] == found.samples, "a thread of the kernel's has samples");
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
