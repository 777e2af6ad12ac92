/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/dumps.h"

#include <errno.h>

#include "base/clock.h"
#include "vignetted/session/recording.h"
#include "vignetted/session/session.h"
#include "vignetted/session/threads.h"
#include "vignetted/session/timer_samples.h"

/* Chunks in one slice of a dump.  Writing one takes 0.3 ms of CPU time. */
enum { SLICE_CHUNKS = 3 };

/* The dump of a stall ends after STALL_MAX_NS, because a longer stall shows nothing new. */
static const uint64_t STALL_MAX_NS = UINT64_C(60) * 1000000000;

/* Fetches samples and events up to now.  Returns the time up to which they are complete: a dump may end there. */
static uint64_t fetch_until_now(struct vg_session *session, struct vg_recording *recording)
{
	uint64_t now_ns = vg_recording_now_ns(recording);

	if (recording->ended != NULL)
		return recording->ended_ns;
	/* The latest tick may be long ago. */
	vg_timer_samples_fetch(session);
	vg_recordings_events_fetch(session, false);
	vg_threads_names_read(session);
	vg_recording_checkpoint(session, recording, false);
	return now_ns;
}

/* Begins a segment of the recording's memory, after everything so far is in the segment before it. */
static void segment_begin(struct vg_session *session, struct vg_recording *recording)
{
	vg_timer_samples_fetch(session);
	vg_recordings_events_fetch(session, false);
	vg_recording_checkpoint(session, recording, false);
	if (recording->ended == NULL)
		vg_recording_segment_begin(session, recording);
}

static void dump_finish(struct vg_session *session, struct vg_recording *recording, const char *reason)
{
	vg_priority_lower_now(&session->tracer.priority);
	vg_flight_dump_end(&recording->flight, reason);
}

int vg_dumps_request(struct vg_session *session, struct vg_recording *recording, int fd,
		     const char *reason, vg_dump_done *done, int peer)
{
	struct vg_flight *flight = &recording->flight;

	if (!vg_recording_is_flight_recorder(recording))
		return -ENOTSUP;
	if (flight->purpose == VG_DUMP_REQUESTED)
		return -EBUSY;
	if (flight->purpose == VG_DUMP_STALL) {
		vg_flight_dump_stop(flight, fetch_until_now(session, recording));
		dump_finish(session, recording, "another dump was requested");
	}
	flight->reason = reason;
	flight->done = done;
	flight->peer = peer;
	/* If this fails, the next vg_dumps_turn() ends the dump and reports the error. */
	vg_flight_dump_begin(flight, VG_DUMP_REQUESTED, fd, fetch_until_now(session, recording));
	return 0;
}

void vg_dumps_peer_left(struct vg_session *session, int peer)
{
	VG_EACH_RECORDING(i, session->open) {
		struct vg_flight *flight = &session->recordings[i].flight;

		if (flight->purpose == VG_DUMP_REQUESTED && flight->peer == peer)
			flight->peer = -1;
	}
}

bool vg_dumps_peer_waits(const struct vg_session *session, int peer)
{
	VG_EACH_RECORDING(i, session->open) {
		const struct vg_flight *flight = &session->recordings[i].flight;

		if (flight->purpose == VG_DUMP_REQUESTED && flight->peer == peer)
			return true;
	}
	return false;
}

/* ---- the watchdog ---- */

/* The id in the recording of the thread that sends the heartbeat, or of another thread if that one does not live.
 * VG_NONE: there is none. */
static uint32_t heartbeat_thread(const struct vg_session *session, const struct vg_recording *recording)
{
	pid_t tid = atomic_load(&session->events.shared->heartbeat_tid);
	const struct vg_account *of = NULL;

	VG_EACH_TASK(task, &session->tasks) {
		if ((task->in_profiles & 1u << recording->index) != 0 &&
		    (of == NULL || task->accounts[recording->index].tid == tid))
			of = &task->accounts[recording->index];
	}
	return of != NULL ? of->id : VG_NONE;
}

static void stall_begin(struct vg_session *session, struct vg_recording *recording)
{
	struct vg_flight *flight = &recording->flight;
	int fd = vg_watchdog_file(&flight->watchdog);

	if (fd < 0)
		return;
	vg_session_sample(session, recording, 0);
	vg_flight_dump_begin(flight, VG_DUMP_STALL, fd, fetch_until_now(session, recording));
	flight->stall_ns = vg_recording_now_ns(recording);
	flight->stall_thread = heartbeat_thread(session, recording);
	flight->late_ns = vg_now_ns() - flight->watchdog.heartbeat_ns;
}

static void stall_end(struct vg_session *session, struct vg_recording *recording,
		      const char *reason, uint64_t late_ns)
{
	struct vg_flight *flight = &recording->flight;

	if (flight->purpose != VG_DUMP_STALL)
		return;
	vg_flight_dump_stop(flight, fetch_until_now(session, recording));
	vg_flight_dump_run(flight, SIZE_MAX);
	vg_flight_dump_note(flight, heartbeat_thread(session, recording), reason, flight->dump.end_ns, late_ns);
	dump_finish(session, recording, reason);
}

static void heartbeat_check(struct vg_session *session, struct vg_recording *recording)
{
	struct vg_flight *flight = &recording->flight;
	uint64_t heartbeat_ns = atomic_load_explicit(&session->events.shared->heartbeat_ns, memory_order_relaxed);
	uint64_t now_ns = vg_now_ns(), before_ns = flight->watchdog.heartbeat_ns;

	/* A heartbeat from before the recording does not count. */
	if (heartbeat_ns < recording->begin_ns)
		heartbeat_ns = 0;
	switch (vg_watchdog_check(&flight->watchdog, heartbeat_ns, now_ns)) {
	case VG_WATCH_STALL_BEGAN:
		stall_begin(session, recording);
		break;
	case VG_WATCH_STALL_LASTS:
		if (vg_recording_now_ns(recording) > flight->stall_ns + STALL_MAX_NS)
			stall_end(session, recording, "the heartbeat has stopped", now_ns - before_ns);
		break;
	case VG_WATCH_STALL_ENDED:
		stall_end(session, recording, "the heartbeat is back",
			  (heartbeat_ns > before_ns && heartbeat_ns < now_ns ? heartbeat_ns : now_ns) - before_ns);
		break;
	case VG_WATCH_OK:
		break;
	}
}

static void recording_turn(struct vg_session *session, struct vg_recording *recording)
{
	struct vg_flight *flight = &recording->flight;

	if (flight->purpose != VG_DUMP_NONE) {
		vg_priority_lower_now(&session->tracer.priority);
		if (!vg_flight_dump_run(flight, SLICE_CHUNKS) && flight->purpose == VG_DUMP_REQUESTED)
			dump_finish(session, recording, flight->reason);
	}
	if (recording->ended == NULL && vg_flight_segment_due(flight, vg_recording_now_ns(recording)))
		segment_begin(session, recording);
	if (flight->purpose != VG_DUMP_REQUESTED && flight->watchdog.limit_ns != 0 &&
	    session->events.shared != NULL && recording->ended == NULL)
		heartbeat_check(session, recording);
}

void vg_dumps_turn(struct vg_session *session)
{
	VG_EACH_RECORDING(i, session->open) {
		if (vg_recording_is_flight_recorder(&session->recordings[i]))
			recording_turn(session, &session->recordings[i]);
	}
}

bool vg_dumps_busy(const struct vg_session *session)
{
	VG_EACH_RECORDING(i, session->open) {
		const struct vg_flight *flight = &session->recordings[i].flight;

		if (flight->purpose == VG_DUMP_REQUESTED || flight->dump.next != NULL)
			return true;
	}
	return false;
}
