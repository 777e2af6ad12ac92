/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/ending.h"

#include "base/clock.h"

/* Longer than the kernel takes, unless another tracer holds one of the threads. */
enum { DEATH_TIMEOUT_NS = 400 * 1000 * 1000 };

/* A process that ends closes its descriptors before its end shows.  By then all its threads are exiting, so only such a
 * process is waited for.  It does not end before a thread that was killed in our hands is reaped. */
static bool is_ending(struct vg_session *session)
{
	/* One turn reads the state of every thread, which takes long for thousands of them. */
	const uint64_t deadline_ns = vg_now_ns() + DEATH_TIMEOUT_NS;

	for (int wait_ms = 0; !vg_target_ended(&session->target, wait_ms) && vg_now_ns() < deadline_ns; wait_ms = 1) {
		if (vg_tasks_any_runs(&session->tasks))
			return false;
		vg_tracer_settle(&session->tracer);
	}
	return true;
}

const char *vg_ending_reason(struct vg_session *session, const char *otherwise)
{
	return session->gone || is_ending(session) ? "the process ended" : otherwise;
}
