/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/policy/stop_state.h"

/* The largest error of the computed time at which a thread was queued.  It was measured with 230 threads from which the
 * helper took the CPU: the error was less than 2 us for 215 of them, and less than 5 us for 220
 * (doc/design/time.md). */
static const int64_t QUEUE_BEGIN_ERROR_NS = 5 * 1000;

enum vg_thread_state vg_stop_state(const struct vg_stop *stop)
{
	int64_t queue_begin_ns = (int64_t)(stop->stopped_ns - stop->ran_ns - stop->queued_ns);
	int64_t after_ns = queue_begin_ns - (int64_t)stop->got_cpu_ns;

	/* The kernel restarts a call that a stop has interrupted.  If another stop follows at once, it may find the call
	 * before its sleep. */
	if (stop->waits && stop->was_waiting)
		return VG_THREAD_WAITING;
	/* A thread that has slept begins a timeslice.  If `waits` is set here, the call had not slept yet. */
	if (stop->timeslices == 0)
		return VG_THREAD_RUNNING;
	if (after_ns < -QUEUE_BEGIN_ERROR_NS)
		return VG_THREAD_QUEUED;
	if (stop->waits)
		return VG_THREAD_WAITING;
	return after_ns <= QUEUE_BEGIN_ERROR_NS ? VG_THREAD_RUNNING : VG_THREAD_QUEUED;
}
