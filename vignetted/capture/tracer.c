/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/tracer.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "vignetted/capture/waits.h"
#include "vignetted/target/tasks.h"

/*
 * A thread that runs on another CPU stops within some 20 us, and asking again and again finds that
 * 17 us sooner than being woken does.  But one that shares ours cannot stop before we sleep.  Which it
 * is costs half as much to learn as a stop: where asking was in vain for so long, it is looked up, and
 * one that is elsewhere asked for longer.  If that is in vain too, the next stops are slept for, twice
 * as many each time.
 */
enum { POLL_NS = 40 * 1000, POLL_ELSEWHERE_NS = 80 * 1000, STOP_TIMEOUT_NS = 20 * 1000 * 1000 };
enum { PASSED_MAX = 256 };
enum { FINISH_NS = 1000 * 1000 * 1000, FINISH_EVERY_US = 1000 };

/*
 * A copy ahead takes some 3 us.  A program that maps memory all the time, as for the stacks of its threads,
 * holds the lock that the copy needs: it takes as long as we sleep for it, and then the program for us.
 */
enum { AHEAD_NS = 25 * 1000 };

/* After a success the backoff is shortened: to nothing for polls, by an eighth for early copies, because one failure costs as
 * much as many successes save. */
enum { FORGET_POLLS = 1, FORGET_AHEADS = 8 };

/* After a failure the attempt is left out for a while, twice as long each time.  Counts down. */
static bool backoff_due(struct vg_backoff *backoff)
{
	if (backoff->left == 0)
		return true;
	backoff->left--;
	return false;
}

static void backoff_note(struct vg_backoff *backoff, bool in_vain, uint32_t forget)
{
	if (!in_vain)
		backoff->run -= (backoff->run + forget - 1) / forget;
	else if (backoff->run < PASSED_MAX)
		backoff->run = backoff->run * 2 + 1;
	backoff->left = backoff->run;
}

/* Waits for a change of the thread's state.  Its pid, 0 when time is up, -1 if it is gone. */
static pid_t stop_wait(struct vg_tracer *tracer, pid_t tid, int *status, uint64_t since_ns)
{
	bool polls = backoff_due(&tracer->polls);
	uint64_t poll_ns = POLL_NS;
	struct timespec left;
	sigset_t child;
	pid_t got;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		uint64_t waited_ns;

		got = waitpid(tid, status, WNOHANG | __WALL);
		if (got != 0 && polls)
			backoff_note(&tracer->polls, false, FORGET_POLLS);
		if (got != 0)
			return got;
		waited_ns = vg_now_ns() - since_ns;
		if (polls && waited_ns < poll_ns)
			continue;
		if (polls && poll_ns == POLL_NS && vg_task_cpu(tid) != sched_getcpu()) {
			poll_ns = POLL_ELSEWHERE_NS;
			continue;
		}
		if (polls)
			backoff_note(&tracer->polls, true, FORGET_POLLS);
		polls = false;
		if (waited_ns >= STOP_TIMEOUT_NS)
			return 0;
		left = (struct timespec){ 0, (long)(STOP_TIMEOUT_NS - waited_ns) };
		sigtimedwait(&child, NULL, &left);
	}
}

/* Lets a stopped thread go.  A stop that is no event stop is a signal on its way to the thread,
 * which it must have: the kernel keeps its siginfo when the same number is handed back. */
static void stop_release(struct vg_tracer *tracer, pid_t tid, int status)
{
	unsigned long signal = status >> 16 == 0 ? (unsigned long)WSTOPSIG(status) : 0;

	/* Killed meanwhile, it cannot be detached, and is ours until it is reaped: an exit or an
	 * execve(2) of the process waits for that. */
	if (ptrace(PTRACE_DETACH, tid, NULL, signal) != 0)
		tracer->pending = tid;
}

static void command_note(struct vg_tracer *tracer, pid_t tid, int status)
{
	if (tid == tracer->command && !WIFSTOPPED(status)) {
		tracer->command_ended = true;
		tracer->command_status = status;
	}
}

/* A request to stop does no harm where one is made already, and fails for all but tracees. */
static bool is_tracee(pid_t tid)
{
	return ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0 || errno != ESRCH;
}

/* A tracee that is no more may be the process's leader by now, and our tracee still: execve(2)
 * gives the thread that calls it the leader's number. */
static void renamed_keep(struct vg_tracer *tracer, pid_t tid)
{
	if (tid != tracer->leader && is_tracee(tracer->leader))
		tracer->pending = tracer->leader;
}

/* Lets go of a thread that has stopped too late to be copied.  It may have begun to wait before it
 * stopped, like any other. */
static void late_release(struct vg_tracer *tracer, pid_t tid, int status)
{
	struct vg_regs regs;

	if (vg_regs_read(&regs, tid) == 0 && vg_regs_repair(&regs, tid))
		tracer->repaired++;
	stop_release(tracer, tid, status);
}

/* Whether the process's first thread has ended.  While others go on, no wait says so. */
static bool leader_is_zombie(pid_t leader)
{
	char text[1024], *end;

	vg_task_stat_read(leader, text, sizeof text);
	end = strrchr(text, ')');
	return end != NULL && strncmp(end, ") Z", 3) == 0;
}

/* Of the number of a leader that is gone another may bear by now, the thread that executed a
 * program: a stop is that one's. */
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
	if (got > 0 && WIFSTOPPED(status))
		late_release(tracer, tid, status);
	else if (got > 0)
		command_note(tracer, tid, status);
}

bool vg_tracer_settle(struct vg_tracer *tracer)
{
	pid_t tid = tracer->pending, got;
	int status;

	zombie_reap(tracer);
	if (tid == 0)
		return true;
	got = waitpid(tid, &status, WNOHANG | __WALL);
	/* Of our own child there is something to wait for when it is no tracee any more, because
	 * another of its threads became the leader. */
	if (got == 0 && tid == tracer->leader && leader_is_zombie(tid)) {
		tracer->zombie = tid;
		tracer->pending = 0;
		return true;
	}
	if (got == 0 && (tid != tracer->leader || is_tracee(tid)))
		return false;
	tracer->pending = 0;
	if (got < 0)
		renamed_keep(tracer, tid);
	else if (got > 0 && WIFSTOPPED(status))
		late_release(tracer, tid, status);
	else if (got > 0)
		command_note(tracer, tid, status);
	return tracer->pending == 0;
}

void vg_tracer_finish(struct vg_tracer *tracer)
{
	uint64_t give_up_ns = vg_now_ns() + FINISH_NS;

	vg_priority_raise(&tracer->priority);
	while (!vg_tracer_settle(tracer) && vg_now_ns() < give_up_ns)
		usleep(FINISH_EVERY_US);
	vg_priority_rest(&tracer->priority);
}

static enum vg_capture stopped_copy(pid_t tid, size_t stack_bytes, struct vg_snapshot *snapshot)
{
	int rc;

	vg_snapshot_ahead(snapshot, tid, stack_bytes);
	rc = vg_regs_read(&snapshot->regs, tid);
	snapshot->thread_block = rc == 0 ? vg_regs_thread_block(&snapshot->regs) : 0;
	vg_snapshot_slot(snapshot);
	snapshot->whole = rc == 0;
	snapshot->fp_guess = 0;
	if (rc == 0 && !vg_snapshot_covers(snapshot, stack_bytes))
		rc = vg_snapshot_stack(snapshot, tid, stack_bytes);
	if (rc == -ESRCH)
		return VG_CAPTURE_GONE;
	return rc == 0 ? VG_CAPTURE_TAKEN : VG_CAPTURE_FAILED;
}

/* Of a thread that has been seized. */
static enum vg_capture stop_capture(struct vg_tracer *tracer, pid_t tid, size_t stack_bytes,
				    struct vg_snapshot *snapshot)
{
	uint64_t since_ns = vg_now_ns();
	enum vg_capture result;
	int status;
	pid_t got;

	/* Fails only if the thread has died: the wait finds that out. */
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	got = stop_wait(tracer, tid, &status, since_ns);
	if (got == 0) {
		/* A running or sleeping thread cannot be detached: it stays ours until it stops. */
		tracer->pending = tid;
		return VG_CAPTURE_PENDING;
	}
	if (got < 0) {
		renamed_keep(tracer, tid);
		return VG_CAPTURE_GONE;
	}
	if (!WIFSTOPPED(status)) {
		command_note(tracer, tid, status);
		return VG_CAPTURE_GONE;
	}
	result = stopped_copy(tid, stack_bytes, snapshot);
	if (snapshot->whole && vg_regs_repair(&snapshot->regs, tid))
		tracer->repaired++;
	stop_release(tracer, tid, status);
	tracer->pause_ns = vg_now_ns() - since_ns;
	return result;
}

enum vg_capture vg_tracer_capture(struct vg_tracer *tracer, pid_t tid, size_t stack_bytes,
				  struct vg_snapshot *snapshot)
{
	enum vg_capture result;

	if (!vg_tracer_settle(tracer))
		return VG_CAPTURE_PENDING;
	/* Thrown away: it is made so that the one after the stop finds all it needs in the caches.
	 * That takes a fifth off the pause, for some 3 us of our own time.  Where the thread shares our
	 * CPU, our time is its own. */
	if (tracer->polls.left == 0 && backoff_due(&tracer->aheads)) {
		uint64_t since_ns = vg_now_ns();

		vg_snapshot_ahead(snapshot, tid, stack_bytes);
		backoff_note(&tracer->aheads, vg_now_ns() - since_ns > AHEAD_NS, FORGET_AHEADS);
	}
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
		return errno == EPERM ? VG_CAPTURE_FORBIDDEN : VG_CAPTURE_GONE;
	vg_priority_raise(&tracer->priority);
	result = stop_capture(tracer, tid, stack_bytes, snapshot);
	vg_priority_lower(&tracer->priority);
	return result;
}
