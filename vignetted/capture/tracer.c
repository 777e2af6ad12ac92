/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "vignetted/capture/waits.h"
#include "vignetted/target/target.h"
#include "vignetted/target/tasks.h"

/*
 * A thread on another CPU stops within about 20 us.  Polling notices the stop 17 us sooner than sleeping.  But a thread
 * on our own CPU cannot stop before we sleep, and finding out a thread's CPU costs half as much as a stop.  So
 * stop_wait():
 *
 * - polls for POLL_NS;
 * - then finds out the thread's CPU; if it is not ours, polls until POLL_OTHER_CPU_NS after the request;
 * - then sleeps.  Polling has failed, so the next stops do not poll (struct vg_backoff).
 */
enum { POLL_NS = 40 * 1000, POLL_OTHER_CPU_NS = 80 * 1000, STOP_TIMEOUT_NS = 20 * 1000 * 1000 };

/* The most attempts that a backoff skips. */
enum { SKIPS_MAX = 256 };

/* How long vg_tracer_pending_wait() and a patient tracer wait, and the time between the checks of the former. */
enum { FINISH_NS = 1000 * 1000 * 1000, FINISH_POLL_US = 1000 };

/*
 * An early copy takes about 3 us.  It takes longer if the program maps memory all the time, for example stacks of
 * threads: then the copy waits for the program's mmap lock, and the program waits for the copy.
 */
enum { EARLY_COPY_MAX_NS = 25 * 1000 };

/* A success drops 1 / FORGET of the skips.  For polls that is all of them.  For early copies it is 1/8, because one
 * failed early copy costs as much as many good ones save. */
enum { FORGET_POLLS = 1, FORGET_EARLY_COPIES = 8 };

/* Returns whether an attempt is due.  If it is not, counts it as skipped. */
static bool backoff_due(struct vg_backoff *backoff)
{
	if (backoff->skips_left == 0)
		return true;
	backoff->skips_left--;
	return false;
}

static void backoff_note(struct vg_backoff *backoff, bool failed, uint32_t forget)
{
	if (!failed)
		backoff->skips -= (backoff->skips + forget - 1) / forget;
	else if (backoff->skips < SKIPS_MAX)
		backoff->skips = backoff->skips * 2 + 1;
	backoff->skips_left = backoff->skips;
}

/* Sleeps until a thread stops, but at most max_ns.  Sets stopped_ns, which is earlier than the end of the sleep if the
 * helper was in the run queue.  With a real-time priority it was not, and the stopped thread need not wait for a read
 * of schedstat, which takes 1 to 3 us. */
static void stop_sleep(struct vg_tracer *tracer, const sigset_t *child, uint64_t max_ns)
{
	struct timespec left = { (time_t)(max_ns / 1000000000), (long)(max_ns % 1000000000) };
	bool may_queue = !tracer->priority.raised;
	uint64_t queued_ns = may_queue ? vg_schedstat_queued_ns(tracer->schedstat) : 0, cpu_ns = vg_thread_cpu_ns();

	sigtimedwait(child, NULL, &left);
	tracer->stopped_ns = tracer->got_cpu_ns = vg_got_cpu_ns(cpu_ns);
	if (may_queue)
		tracer->stopped_ns -= vg_schedstat_queued_ns(tracer->schedstat) - queued_ns;
}

/* Waits for a change of the thread's state.  Returns tid, 0 if that takes too long, or -1 if the thread has exited.
 * Sets stopped_ns. */
static pid_t stop_wait(struct vg_tracer *tracer, pid_t tid, int *status, uint64_t since_ns)
{
	uint64_t timeout_ns = tracer->is_patient ? FINISH_NS : STOP_TIMEOUT_NS, poll_ns = POLL_NS;
	bool polls = backoff_due(&tracer->poll_backoff);
	bool slept = false;
	sigset_t child;
	pid_t got;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		uint64_t waited_ns;

		got = waitpid(tid, status, WNOHANG | __WALL);
		if (got != 0 && polls)
			backoff_note(&tracer->poll_backoff, false, FORGET_POLLS);
		if (!slept)
			tracer->stopped_ns = vg_now_ns();
		if (got != 0)
			return got;
		waited_ns = vg_now_ns() - since_ns;
		if (polls && waited_ns < poll_ns)
			continue;
		if (polls && poll_ns == POLL_NS && vg_task_cpu(tid) != sched_getcpu()) {
			poll_ns = POLL_OTHER_CPU_NS;
			continue;
		}
		if (polls)
			backoff_note(&tracer->poll_backoff, true, FORGET_POLLS);
		polls = false;
		if (waited_ns >= timeout_ns)
			return 0;
		stop_sleep(tracer, &child, timeout_ns - waited_ns);
		slept = true;
		/* The time in the run queue includes any before the sleep.  The thread cannot have stopped before the
		 * request. */
		if (tracer->stopped_ns < since_ns)
			tracer->stopped_ns = since_ns;
	}
}

/* Releases a stopped thread.  A stop that is not an event stop reports a signal, which must still be delivered to the
 * thread.  The kernel keeps the signal's siginfo if PTRACE_DETACH passes the same signal number. */
static void stop_release(struct vg_tracer *tracer, pid_t tid, int status)
{
	unsigned long signal = status >> 16 == 0 ? (unsigned long)WSTOPSIG(status) : 0;

	/* If the thread was killed meanwhile, it cannot be detached.  It must be reaped: an exit or an execve(2) of the
	 * process waits until the thread is reaped. */
	if (ptrace(PTRACE_DETACH, tid, NULL, signal) != 0)
		tracer->pending = tid;
}

/* Tests with PTRACE_INTERRUPT whether the thread is our tracee: the call fails with ESRCH if it is not.  A second
 * PTRACE_INTERRUPT does no harm. */
static bool is_tracee(pid_t tid)
{
	return ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0 || errno != ESRCH;
}

/* Handles a result of waitpid(2) for a thread that is not copied: it has exited, or has stopped too late. */
static void uncopied_take(struct vg_tracer *tracer, pid_t tid, pid_t got, int status)
{
	struct vg_regs regs;

	if (got > 0 && WIFSTOPPED(status)) {
		/* Its system call may need a repair, as after any stop. */
		if (vg_regs_read(&regs, tid) == 0 && vg_wait_repair(&regs, tid))
			tracer->repaired++;
		stop_release(tracer, tid, status);
	} else if (got > 0 && tid == tracer->command) {
		tracer->command_ended = true;
		tracer->command_status = status;
	} else if (got < 0 && tid != tracer->leader && is_tracee(tracer->leader)) {
		/* A tracee whose id no longer exists may still be our tracee, with the leader's id: execve(2) gives
		 * the leader's id to the thread that calls it. */
		tracer->pending = tracer->leader;
	}
}

/* Whether the process's first thread has exited.  While other threads live, waitpid(2) does not report its exit. */
static bool leader_is_zombie(pid_t leader)
{
	char text[1024], *end;

	vg_proc_read(text, sizeof text, "/proc/%d/stat", leader);
	end = strrchr(text, ')');
	return end != NULL && strncmp(end, ") Z", 3) == 0;
}

/* Reaps the exited leader.  If another thread has called execve(2), that thread now has the leader's id.  A stop that
 * waitpid(2) reports is a stop of that thread. */
static void zombie_reap(struct vg_tracer *tracer)
{
	pid_t tid = tracer->zombie, got;
	int status;

	if (tid == 0 || tid == tracer->pending)
		return;
	got = waitpid(tid, &status, WNOHANG | __WALL);
	if (got == 0)
		return;
	tracer->zombie = 0;
	uncopied_take(tracer, tid, got, status);
}

bool vg_tracer_pending_release(struct vg_tracer *tracer)
{
	pid_t tid = tracer->pending, got;
	int status;

	zombie_reap(tracer);
	if (tid == 0)
		return true;
	got = waitpid(tid, &status, WNOHANG | __WALL);
	if (got == 0 && tid == tracer->leader && leader_is_zombie(tid)) {
		tracer->zombie = tid;
		tracer->pending = 0;
		return true;
	}
	/* The leader of a launched command is our child, so waitpid(2) returns 0 for the leader's id even if no tracee
	 * has this id any more.  Another thread, which is not our tracee, may have taken the id with execve(2). */
	if (got == 0 && (tid != tracer->leader || is_tracee(tid)))
		return false;
	tracer->pending = 0;
	if (got != 0)
		uncopied_take(tracer, tid, got, status);
	return tracer->pending == 0;
}

void vg_tracer_pending_wait(struct vg_tracer *tracer)
{
	uint64_t give_up_ns = vg_now_ns() + FINISH_NS;

	vg_priority_raise(&tracer->priority);
	while (!vg_tracer_pending_release(tracer) && vg_now_ns() < give_up_ns)
		usleep(FINISH_POLL_US);
	vg_priority_lower_now(&tracer->priority);
}

void vg_tracer_open(struct vg_tracer *tracer)
{
	tracer->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

void vg_tracer_close(struct vg_tracer *tracer)
{
	if (tracer->schedstat > 0)
		close(tracer->schedstat);
	tracer->schedstat = -1;
}

static enum vg_capture stopped_copy(pid_t tid, size_t stack_bytes, struct vg_snapshot *snapshot)
{
	int rc;

	vg_snapshot_read_early(snapshot, tid, stack_bytes);
	rc = vg_regs_read(&snapshot->regs, tid);
	snapshot->thread_block = rc == 0 ? vg_regs_thread_block(&snapshot->regs) : 0;
	vg_snapshot_read_token(snapshot);
	snapshot->regs_complete = rc == 0;
	snapshot->fp_guess = 0;
	if (rc == 0 && !vg_snapshot_covers(snapshot, stack_bytes))
		rc = vg_snapshot_read_stack(snapshot, tid, stack_bytes);
	if (rc == 0)
		vg_snapshot_read_other_stack(snapshot, tid, stack_bytes);
	if (snapshot->modules != NULL)
		vg_modules_copied(snapshot->modules);
	if (rc == -ESRCH)
		return VG_CAPTURE_EXITED;
	return rc == 0 ? VG_CAPTURE_TAKEN : VG_CAPTURE_FAILED;
}

/* Stops, copies and releases a thread that has been seized. */
static enum vg_capture stop_capture(struct vg_tracer *tracer, pid_t tid, size_t stack_bytes,
				    struct vg_snapshot *snapshot)
{
	uint64_t since_ns = vg_now_ns();
	enum vg_capture result;
	int status;
	pid_t got;

	/* PTRACE_INTERRUPT fails only if the thread has exited.  stop_wait() notices that. */
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	got = stop_wait(tracer, tid, &status, since_ns);
	if (got == 0) {
		/* A thread that is not stopped cannot be detached.  It stays a tracee until it stops. */
		tracer->pending = tid;
		return VG_CAPTURE_PENDING;
	}
	if (got < 0 || !WIFSTOPPED(status)) {
		uncopied_take(tracer, tid, got, status);
		return VG_CAPTURE_EXITED;
	}
	result = stopped_copy(tid, stack_bytes, snapshot);
	if (snapshot->regs_complete && vg_wait_repair(&snapshot->regs, tid))
		tracer->repaired++;
	stop_release(tracer, tid, status);
	tracer->pause_ns = vg_now_ns() - since_ns;
	return result;
}

enum vg_capture vg_tracer_capture(struct vg_tracer *tracer, pid_t tid, size_t stack_bytes,
				  struct vg_snapshot *snapshot)
{
	enum vg_capture result;

	if (!vg_tracer_pending_release(tracer))
		return VG_CAPTURE_PENDING;
	/* This early copy is discarded.  It brings into the CPU's caches what the copy after the stop needs.  So the
	 * pause is 20 % shorter, at a cost of about 3 us of our time.  If polling is skipped, the thread probably
	 * shares our CPU.  The early copy would then take CPU time from the thread, so there is no early copy. */
	if (tracer->poll_backoff.skips_left == 0 && backoff_due(&tracer->early_copy_backoff)) {
		uint64_t since_ns = vg_now_ns();

		vg_snapshot_read_early(snapshot, tid, stack_bytes);
		backoff_note(&tracer->early_copy_backoff, vg_now_ns() - since_ns > EARLY_COPY_MAX_NS,
			     FORGET_EARLY_COPIES);
	}
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
		return errno == EPERM ? VG_CAPTURE_FORBIDDEN : VG_CAPTURE_EXITED;
	vg_priority_raise(&tracer->priority);
	result = stop_capture(tracer, tid, stack_bytes, snapshot);
	vg_priority_lower(&tracer->priority);
	return result;
}
