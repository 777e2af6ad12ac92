/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/recordings.h"

#include "vignetted/session/account.h"

/* All samples are written first, because they have stacks of the segment before. */
void vg_recordings_segment_begin(struct vg_session *session, struct vg_recording *recording)
{
	struct vg_recorder *recorder = &recording->recorder;
	struct vg_flight *flight = &recording->flight_recorder.flight;
	uint64_t session_ns = vg_session_now_ns(session), now_ns = vg_recording_time_ns(recording, session_ns);

	for (size_t i = 0; i < session->tasks.live.count; i++)
		vg_account_flush(recording, &session->tasks.live.items[i]);
	vg_flight_segment_begin(flight, now_ns);
	if (recording->period_now_ns != 0)
		vg_writer_rate(&recorder->writer, now_ns, recording->period_now_ns);
	vg_events_state_write(&session->events, recording->index);
	vg_flight_state_end(flight);
	vg_recorder_restart(recorder);
	for (size_t i = 0; i < session->tasks.live.count; i++) {
		struct vg_task *task = &session->tasks.live.items[i];

		if ((task->in_profiles & 1u << recording->index) == 0)
			continue;
		vg_account_restart(recording, task, now_ns);
		vg_events_task_restart(&session->events, recording->index, task, session_ns);
	}
	vg_recorder_restart_end(recorder);
	vg_events_restart(&session->events, recording->index, session_ns);
	vg_flight_definitions_end(flight);
}

void vg_recordings_segments_check(struct vg_session *session)
{
	VG_EACH_RECORDING(i, session->live) {
		struct vg_recording *recording = &session->recordings[i];

		if (vg_recording_is_flight_recorder(recording) &&
		    vg_flight_segment_is_full(&recording->flight_recorder.flight))
			vg_recordings_segment_begin(session, recording);
	}
}

static void on_batch(void *session)
{
	vg_recordings_segments_check(session);
}

void vg_recordings_events_fetch(struct vg_session *session, bool last)
{
	struct vg_drain_context sink = {
		.tasks = &session->tasks, .now_ns = vg_session_now_ns(session), .last = last,
		.on_batch = on_batch, .session = session,
	};

	if (session->live == 0 && !last)
		return;
	vg_events_drain(&session->events, &sink);
	session->budget.excluded_cpu_ns = session->events.cpu_ns;
}

void vg_recordings_counts(const struct vg_session *session, struct vg_session_counts *counts)
{
	const struct vg_unwind_counts *unwound = vg_unwinder_counts(session->walker.unwinder);

	*counts = (struct vg_session_counts){
		.pauses = session->pauses,
		.process_cpu_ns = session->activity.process_cpu_ns, .helper_cpu_ns = vg_own_cpu_ns(),
		.ticks_late = session->ticks.late,
		.rate_changes = session->budget.changes,
		.timer_samples = session->timers.samples,
		.timer_samples_lost = session->timers.lost,
		.maps_reads = session->walker.maps_reads,
		.eintr_repaired = session->tracer.repaired,
		.walks = unwound->walks,
		.walks_by_libunwind = unwound->fallbacks,
		.rows_decoded = unwound->rows_decoded,
		.events_dropped = vg_events_dropped(&session->events),
		.threads_over = session->tasks.excess_max,
		.modules_over = session->modules.excess_max,
		.modules_unindexed = vg_modules_unindexed(&session->modules),
		.unconfined = session->unconfined,
	};
}

void vg_recordings_stop(struct vg_session *session, struct vg_recording *recording, const char *reason)
{
	if (recording->ended != NULL)
		return;
	for (size_t i = 0; i < session->tasks.live.count; i++) {
		struct vg_task *task = &session->tasks.live.items[i];

		if ((task->in_profiles & 1u << recording->index) != 0)
			vg_account_finish(recording, task, vg_session_now_ns(session));
	}
	vg_recording_counting_end(recording, &session->tasks);
	session->with_counters &= ~(1u << recording->index);
	recording->ended_ns = vg_recording_now_ns(recording);
	session->events.profiles[recording->index].until_ns = recording->begin_session_ns + recording->ended_ns;
	/* Fetch the events so far.  until_ns keeps events after ended_ns out of this recording. */
	vg_recordings_events_fetch(session, false);
	recording->ended = reason;
	session->live &= ~(1u << recording->index);
	session->changed = true;
	/* Fewer threads may be wanted now. */
	session->tasks.stale = true;
}

void vg_recordings_stop_all(struct vg_session *session, const char *reason)
{
	VG_EACH_RECORDING(i, session->live)
		vg_recordings_stop(session, &session->recordings[i], reason);
}

void vg_recordings_fail(struct vg_session *session, struct vg_recording *recording, int code)
{
	const char *reason = vg_recording_fail(recording, code);

	vg_recordings_stop(session, recording, reason);
	/* Replace the reason of a recording that had stopped before. */
	recording->ended = reason;
}

void vg_recordings_limits_check(struct vg_session *session, uint64_t now_ns)
{
	VG_EACH_RECORDING(i, session->live) {
		struct vg_recording *recording = &session->recordings[i];
		const char *reason = vg_recording_limit(recording, now_ns);

		if (recording->recorder.writer.failed != 0)
			vg_recordings_fail(session, recording, recording->recorder.writer.failed);
		else if (reason != NULL)
			vg_recordings_stop(session, recording, reason);
	}
}

void vg_recordings_checkpoint(struct vg_session *session, struct vg_recording *recording, bool last)
{
	struct vg_session_counts counts;
	int rc = 0;

	vg_priority_lower_now(&session->tracer.priority);
	vg_recordings_counts(session, &counts);
	for (size_t i = 0; rc == 0 && i < session->tasks.live.count; i++)
		rc = vg_account_flush(recording, &session->tasks.live.items[i]);
	if (rc == 0)
		rc = vg_recording_checkpoint(recording, &session->events.profiles[recording->index], &counts, last);
	if (rc != 0 && recording->failure == 0)
		vg_recordings_fail(session, recording, rc);
}

void vg_recordings_unloads_write(struct vg_session *session, uint64_t now_ns)
{
	if (session->modules_generation_reported == session->modules.generation)
		return;
	session->modules_generation_reported = session->modules.generation;
	VG_EACH_RECORDING(i, session->live)
		vg_recorder_unloads_write(&session->recordings[i].recorder,
					  vg_recording_time_ns(&session->recordings[i], now_ns));
}

uint32_t vg_recordings_mark(struct vg_session *session, const char *label)
{
	uint32_t marked = 0;

	VG_EACH_RECORDING(i, session->live) {
		bool own = vg_recording_mark(&session->recordings[i], &session->tasks, label);

		session->events.profiles[i].recorded += own;
		marked += own;
	}
	return marked;
}

void vg_recordings_count_loss(struct vg_recording *recordings, vg_recording_set set, enum vg_loss loss)
{
	VG_EACH_RECORDING(i, set)
		recordings[i].recorder.losses.samples[loss]++;
}
