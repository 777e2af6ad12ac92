/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/ending.h"

/* Longer than the kernel takes, unless another tracer holds one of the threads. */
enum { DEATH_TIMEOUT_MS = 400 };

/* A process that ends closes its descriptors before its end shows.  By then all its threads are exiting, so only such a
 * process is waited for.  It does not end before a thread that was killed in our hands is reaped. */
static bool is_ending(struct vg_session *session)
{
	for (int ms = 0; ms < DEATH_TIMEOUT_MS && !vg_target_ended(&session->target, ms > 0); ms++) {
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
