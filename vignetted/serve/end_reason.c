/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/end_reason.h"

#include "base/clock.h"

/* A process exits in less time than this, unless another tracer has stopped one of its threads. */
enum { EXIT_TIMEOUT_NS = 400 * 1000 * 1000 };

/* Returns false if the process has a thread that is not exiting.  If all threads are exiting, waits up to
 * EXIT_TIMEOUT_NS for the exit of the process, and returns true.  The wait is needed because a process closes its
 * descriptors before its pidfd reports the exit.  The exit is also delayed until we reap a thread that was killed while
 * it was our tracee. */
static bool is_ending(struct vg_session *session)
{
	/* The limit is a time and not a number of turns of this loop: a turn reads the state of every thread, and there
	 * may be thousands. */
	const uint64_t deadline_ns = vg_now_ns() + EXIT_TIMEOUT_NS;

	for (int wait_ms = 0; !vg_target_exited(&session->target, wait_ms) && vg_now_ns() < deadline_ns; wait_ms = 1) {
		if (vg_tasks_any_alive(&session->tasks))
			return false;
		vg_tracer_pending_release(&session->tracer);
	}
	return true;
}

const char *vg_end_reason(struct vg_session *session, const char *otherwise)
{
	return session->exited || is_ending(session) ? "the process ended" : otherwise;
}
