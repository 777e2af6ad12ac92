/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/recording.h"

#include <errno.h>
#include <time.h>

#include "vignetted/session/account.h"

static const uint64_t CHECKPOINT_NS = 1000000000, STATS_NS = 10000000000;

/* With a perf map, this part of the largest size is for names of JIT code, which are written when the recording has
 * ended: 4 KiB of 64 KiB, 16 MiB of 256 MiB. */
enum { NAMES_SHARE = 16 };

/* Longer names of modules, threads and JIT code are truncated: a program can have a million names of JIT code. */
enum { NAME_MAX_BYTES = 1024 };

/* A flight recorder keeps one open interval for this part of its memory. */
enum { OPEN_SHARE_BYTES = 2048 };

/* Labels of vg_recordings_mark() get ids above those that an event ring can have. */
enum { REMOTE_LABELS_FIRST = 1 << 30, REMOTE_LABELS_MAX = 1 << 12 };

/* ---- begin and end ---- */

/* Returns the session's counts so far. */
static void counts_read(const struct vg_session *session, struct vg_session_counts *counts)
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
	};
}

int vg_recording_header_write(struct vg_recording *recording)
{
	/* Each dump of a flight recorder has a header of its own. */
	return vg_recording_is_flight_recorder(recording) ? 0 :
	       vg_writer_header(&recording->recorder.writer, &recording->header);
}

int vg_recording_open(struct vg_session *session, struct vg_recording *recording,
		      const struct vg_session_options *options, int fd, uint64_t max_memory_bytes)
{
	struct vg_recorder *recorder = &recording->recorder;
	struct vg_session_counts *before = &recording->counts_at_begin;
	struct vg_events_profile *events = &session->events.profiles[recording->index];
	uint32_t index = recording->index;
	struct timespec now;
	int rc;

	memset(recording, 0, sizeof *recording);
	recording->index = index;
	session->open |= 1u << index;
	recording->options = *options;
	recording->perf_map.directory = recording->disk.fd = -1;
	recording->begin_ns = vg_now_ns();
	recording->begin_session_ns = recording->begin_ns - session->begin_ns;
	recording->period_now_ns = options->period_ns;
	vg_recorder_open(recorder, fd, options->max_file_bytes,
			 options->flight_ns != 0 ? options->flight_memory_bytes : max_memory_bytes, &session->modules);
	recorder->kernel = &session->kernel;
	recorder->writer.name_max_bytes = NAME_MAX_BYTES;
	vg_counter_set_open(&recording->counter_set, options->counters);
	if (options->flight_ns != 0) {
		vg_flight_open(&recording->flight, recorder, &recording->header, options->flight_ns,
			       options->flight_memory_bytes);
		recording->flight.perf_map = options->perf_map ? &recording->perf_map : NULL;
		if (session->events.shared != NULL)
			recording->flight.stalls_written = &session->events.shared->stalls_written;
	}
	vg_disk_open(&recording->disk, fd, recording->begin_ns);
	vg_ticks_start(&recording->ticks, options->period_ns, recording->begin_ns);
	recording->ticks.in_first_half = true;
	if (options->perf_map) {
		vg_perf_map_open(&recording->perf_map, session->target.pid);
		recorder->writer.names_bytes = options->max_file_bytes / NAMES_SHARE;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	recording->header = (struct vg_writer_header){
		.period_ns = options->period_ns,
		.start_unix_s = (uint64_t)now.tv_sec, .start_us = (uint64_t)now.tv_nsec / 1000,
		.max_frames = options->max_frames,
		.mode = options->cpu_mode ? "cpu" : "wall",
		.writer = "vignetted " PACKAGE_VERSION,
		.program = session->target.program, .arch = session->machine,
		.counters = recording->counter_set.count > 0 ? recording->counter_set.names : NULL,
	};
	rc = vg_recording_header_write(recording);
	counts_read(session, before);
	before->process_cpu_ns = vg_target_cpu_ns(&session->target);
	/* The first recording's statistics include the start of the helper. */
	if (session->round.count == 0)
		before->helper_cpu_ns = 0;
	vg_events_recording_begin(&session->events, index, &recorder->writer, &recorder->threads,
				  recording->begin_session_ns);
	events->only = options->thread;
	if (options->flight_ns != 0)
		events->open.max = options->flight_memory_bytes / OPEN_SHARE_BYTES;
	return rc;
}

/* Writes the perf counters of all threads for the last time, and closes them. */
static void counting_end(struct vg_session *session, struct vg_recording *recording, uint64_t now_ns)
{
	vg_counter_set_end(&recording->counter_set, &recording->recorder.writer, &session->tasks, recording->index,
			   now_ns);
	session->with_counters &= ~(1u << recording->index);
}

void vg_recording_close(struct vg_session *session, struct vg_recording *recording)
{
	if ((session->open & 1u << recording->index) == 0)
		return;
	session->live &= ~(1u << recording->index);
	counting_end(session, recording, vg_recording_now_ns(recording));
	vg_events_recording_end(&session->events, recording->index);
	VG_EACH_TASK(task, &session->tasks)
		task->in_profiles &= ~(1u << recording->index);
	vg_disk_close(&recording->disk);
	vg_flight_close(&recording->flight);
	recording->recorder.writer.take = NULL;
	vg_intern_free(&recording->remote_labels);
	vg_recorder_free(&recording->recorder);
	vg_perf_map_close(&recording->perf_map);
	session->open &= ~(1u << recording->index);
}

void vg_recording_thread_cpu(struct vg_recording *recording, uint64_t cpu_ns)
{
	if (recording->options.thread == 0)
		return;
	/* The total decreases if another thread calls execve(2) and takes the first thread's id. */
	if (recording->thread_cpu_begin_ns == 0 || cpu_ns < recording->thread_cpu_begin_ns)
		recording->thread_cpu_begin_ns = cpu_ns;
	recording->thread_cpu_ns = cpu_ns - recording->thread_cpu_begin_ns;
}

/* ---- when a recording is due ---- */

bool vg_recording_due(struct vg_recording *recording, const struct vg_ticks *ticks, uint64_t skipped)
{
	uint64_t period_ns = recording->options.period_ns, before = recording->ticks.skipped;
	/* The due time is compared with the end of the tick's period.  The time of the tick itself is random within
	 * that period.  If the due time were compared with the tick's own time, a recording that is only a little
	 * slower than the session would skip ticks by chance. */
	uint64_t tick_ns = ticks->period_end_ns - ticks->period_ns;
	bool due;

	if (period_ns == 0)
		return false;
	if (period_ns <= ticks->period_ns) {
		recording->has_own_ticks = false;
		recording->skipped += skipped;
		return true;
	}
	if (!recording->has_own_ticks)
		vg_ticks_restart(&recording->ticks, period_ns, tick_ns - period_ns);
	recording->has_own_ticks = true;
	due = vg_ticks_due(&recording->ticks, tick_ns);
	recording->skipped += recording->ticks.skipped - before;
	return due;
}

/* ---- events and segments ---- */

/* All samples are written first, because they have stacks of the segment before. */
void vg_recording_segment_begin(struct vg_session *session, struct vg_recording *recording)
{
	struct vg_recorder *recorder = &recording->recorder;
	struct vg_flight *flight = &recording->flight;
	uint64_t session_ns = vg_session_now_ns(session), now_ns = vg_recording_time_ns(recording, session_ns);

	VG_EACH_TASK(task, &session->tasks)
		vg_account_flush(recording, task);
	vg_flight_segment_begin(flight, now_ns);
	if (recording->period_now_ns != 0)
		vg_writer_rate(&recorder->writer, now_ns, recording->period_now_ns);
	vg_events_state_write(&session->events, recording->index);
	vg_flight_state_end(flight);
	vg_recorder_restart(recorder);
	VG_EACH_TASK(task, &session->tasks) {
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
		    vg_flight_segment_is_full(&recording->flight))
			vg_recording_segment_begin(session, recording);
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

/* ---- why a recording stops ---- */

void vg_recording_stop(struct vg_session *session, struct vg_recording *recording, const char *reason)
{
	uint64_t now_ns = vg_session_now_ns(session);

	if (recording->ended != NULL)
		return;
	VG_EACH_TASK(task, &session->tasks) {
		if ((task->in_profiles & 1u << recording->index) != 0)
			vg_account_finish(recording, task, now_ns);
	}
	recording->ended_ns = vg_recording_time_ns(recording, now_ns);
	counting_end(session, recording, recording->ended_ns);
	session->events.profiles[recording->index].until_ns = recording->begin_session_ns + recording->ended_ns;
	/* Fetch the events so far.  until_ns keeps events after ended_ns out of this recording. */
	vg_recordings_events_fetch(session, false);
	recording->ended = reason;
	session->live &= ~(1u << recording->index);
	session->changed = true;
	/* Fewer threads may be wanted now. */
	session->tasks.stale = true;
}

void vg_recording_fail(struct vg_session *session, struct vg_recording *recording, int code)
{
	const char *reason = code == -ENOSPC ? "the disk is full" :
			     code == -EDQUOT ? "the disk quota is used up" :
			     code == -EFBIG ? "the process may not write larger files" :
			     code == -ENOMEM ? "memory was short" : "the profile could not be written";

	recording->failure = code;
	vg_recording_stop(session, recording, reason);
	/* Replace the reason of a recording that had stopped before. */
	recording->ended = reason;
}

void vg_recordings_limits_check(struct vg_session *session, uint64_t now_ns)
{
	VG_EACH_RECORDING(i, session->live) {
		struct vg_recording *recording = &session->recordings[i];
		uint64_t max_duration_ns = recording->options.max_duration_ns;

		if (recording->recorder.writer.failed != 0)
			vg_recording_fail(session, recording, recording->recorder.writer.failed);
		else if (vg_writer_full(&recording->recorder.writer))
			vg_recording_stop(session, recording, "the file size limit was reached");
		else if (max_duration_ns != 0 && now_ns - recording->begin_ns >= max_duration_ns)
			vg_recording_stop(session, recording, "the duration limit was reached");
	}
}

/* ---- checkpoints ---- */

/* Returns how many samples were due but became part of another sample's weight.  One sample is due in each period of
 * each thread's wall time.  Returns 0 in cpu mode, where it is not known how many were due. */
static uint64_t samples_merged(const struct vg_recording *recording)
{
	int64_t merged_ns = recording->recorder.merged_ns;

	return recording->options.cpu_mode || merged_ns < 0 || recording->period_now_ns == 0 ?
	       0 : (uint64_t)merged_ns / recording->period_now_ns;
}

/* Writes the counts, or keeps them for the next dump of a flight recorder. */
static int counts_write(const struct vg_session *session, struct vg_recording *recording,
			const struct vg_session_counts *counts, const struct vg_pauses *pauses)
{
	const struct vg_recorder *recorder = &recording->recorder;
	const struct vg_session_counts *before = &recording->counts_at_begin;
	uint64_t used_ns = vg_recording_cpu_used_ns(recording, counts->process_cpu_ns);
	struct vg_writer *writer = &recording->recorder.writer;
	const struct vg_named_value stats[] = {
		{ "stops", pauses->stops },
		{ "reads_without_stop", recorder->reads_without_stop },
		{ "samples_repeated", recorder->samples_repeated },
		{ "samples_merged", samples_merged(recording) },
		{ "copies_discarded", recorder->copies_discarded },
		{ "eintr_repaired", counts->eintr_repaired - before->eintr_repaired },
		{ "pause_p50_ns", vg_pauses_percentile_ns(pauses, 50) },
		{ "pause_p90_ns", vg_pauses_percentile_ns(pauses, 90) },
		{ "pause_p99_ns", vg_pauses_percentile_ns(pauses, 99) },
		{ "pause_max_ns", pauses->max_ns },
		{ "pause_total_ns", pauses->total_ns },
		{ "cpu_unsampled_ns", used_ns > recorder->cpu_ns ? used_ns - recorder->cpu_ns : 0 },
		{ "helper_cpu_ns", counts->helper_cpu_ns - before->helper_cpu_ns },
		{ "ticks_late", counts->ticks_late - before->ticks_late },
		{ "rate_changes", counts->rate_changes - before->rate_changes },
		{ "period_now_ns", recording->period_now_ns },
		{ "timer_samples", counts->timer_samples - before->timer_samples },
		{ "maps_reads", counts->maps_reads - before->maps_reads },
		{ "events", session->events.profiles[recording->index].recorded },
		{ "walks", counts->walks - before->walks },
		{ "walks_by_libunwind", counts->walks_by_libunwind - before->walks_by_libunwind },
		{ "rows_decoded", counts->rows_decoded - before->rows_decoded },
		{ "threads_over_limit", session->tasks.excess_max },
		{ "modules_over_limit", session->modules.excess_max },
		{ "modules_unindexed", vg_modules_unindexed(&session->modules) },
		{ "names_truncated", recorder->writer.names_truncated },
		{ "records_left_out", recorder->writer.records_left_out },
		{ VG_PERF_MAP_STATISTIC, recording->perf_map.unread_bytes },
		{ "stack_tables", recorder->stacks_generation + UINT64_C(1) },
		{ "syncs", recording->disk.syncs },
		{ "syncs_failed", recording->disk.failures },
		{ "stalls", recording->flight.watchdog.stalls },
		{ "unconfined", session->unconfined },
		/* Must be the last: it is written only with perf counters. */
		{ "threads_without_counters", recording->counter_set.threads_without },
	};
	size_t count = sizeof stats / sizeof *stats - (recording->counter_set.count == 0);
	int rc;

	if (vg_recording_is_flight_recorder(recording)) {
		vg_flight_counts(&recording->flight, stats, count, pauses);
		return 0;
	}
	rc = vg_writer_pauses(writer, pauses);
	if (rc == 0)
		rc = vg_losses_write(writer, &recorder->losses, NULL);
	return rc != 0 ? rc : vg_writer_counts(writer, VG_RECORD_STATS, stats, count);
}

/* Writes the names that the process's perf map has for sampled JIT code. */
static void perf_map_write(struct vg_recording *recording)
{
	const struct vg_intern *stacks = &recording->recorder.stacks;
	VG_ARRAY(uint64_t) addresses = { 0 };

	for (uint32_t i = 0; recording->perf_map.directory >= 0 && i < stacks->count; i++) {
		struct vg_stack_key key;

		memcpy(&key, vg_intern_bytes(stacks, i, NULL), sizeof key);
		/* If memory is short, write the names for the addresses so far. */
		if (vg_perf_map_may_name(key.module, key.found) &&
		    vg_array_push(&addresses, &key.address) != 0)
			break;
	}
	vg_perf_map_write(&recording->perf_map, addresses.items, addresses.count,
			  &recording->recorder.writer);
	vg_array_free(&addresses);
}

/* Statistics are long, and later ones replace earlier ones.  So the time from one writing to the next is first 1 s,
 * then 2, 4, 8 and 16 s, and then always 10 s.  They are also written at the last checkpoint.  A flight recorder gets
 * them at each checkpoint. */
static int checkpoint_write(const struct vg_session *session, struct vg_recording *recording, bool last)
{
	const struct vg_events_profile *events = &session->events.profiles[recording->index];
	uint64_t now_ns = vg_now_ns(), recording_ns = now_ns - recording->begin_ns;
	struct vg_recorder *recorder = &recording->recorder;
	struct vg_session_counts counts;
	struct vg_pauses pauses;
	int rc = 0;

	counts_read(session, &counts);
	if (last && recording->options.flight_ns == 0)
		perf_map_write(recording);
	recorder->losses.events = counts.events_dropped - events->dropped + events->file_full;
	recorder->losses.samples[VG_LOSS_TICK_SKIPPED] = recording->skipped;
	recorder->losses.samples[VG_LOSS_RING_FULL] =
		counts.timer_samples_lost - recording->counts_at_begin.timer_samples_lost;
	if (last || recording_ns >= recording->next_stats_ns || recording->options.flight_ns != 0) {
		recording->stats_period_ns = recording->stats_period_ns == 0 ? CHECKPOINT_NS :
					    recording->stats_period_ns < STATS_NS ?
					    2 * recording->stats_period_ns : STATS_NS;
		recording->next_stats_ns = recording_ns + recording->stats_period_ns;
		vg_pauses_since(&pauses, &counts.pauses, &recording->counts_at_begin.pauses);
		rc = counts_write(session, recording, &counts, &pauses);
	}
	/* A flight recorder keeps full chunks, but a dump that goes on gets what there is. */
	if (rc == 0 && (!vg_recording_is_flight_recorder(recording) || recording->flight.purpose != VG_DUMP_NONE))
		rc = vg_writer_flush(&recorder->writer);
	if (rc == 0 && !last)
		vg_disk_sync_if_due(&recording->disk, recorder->writer.file_bytes, now_ns);
	recording->next_checkpoint_ns = now_ns + CHECKPOINT_NS;
	return rc;
}

void vg_recording_checkpoint(struct vg_session *session, struct vg_recording *recording, bool last)
{
	int rc = 0;

	vg_priority_lower_now(&session->tracer.priority);
	VG_EACH_TASK(task, &session->tasks)
		rc = rc != 0 ? rc : vg_account_flush(recording, task);
	if (rc == 0)
		rc = checkpoint_write(session, recording, last);
	if (rc != 0 && recording->failure == 0)
		vg_recording_fail(session, recording, rc);
}

/* ---- marks, unloads and losses ---- */

/* Returns the label's id.  Writes the label if it is new; for a flight recorder always, because each segment needs it.
 * VG_NONE: there are too many labels, or no memory. */
static uint32_t remote_label(struct vg_recording *recording, const char *label)
{
	uint32_t index;
	int added = 0;

	if (!vg_intern_find(&recording->remote_labels, label, strlen(label), &index)) {
		if (recording->remote_labels.count >= REMOTE_LABELS_MAX)
			return VG_NONE;
		added = vg_intern(&recording->remote_labels, label, strlen(label), &index);
	}
	if (added < 0)
		return VG_NONE;
	if (added > 0 || vg_recording_is_flight_recorder(recording))
		vg_writer_label(&recording->recorder.writer, REMOTE_LABELS_FIRST + index, label, strlen(label));
	return REMOTE_LABELS_FIRST + index;
}

/* Writes an instant with this label.  Returns false if the file is full, if there are too many labels, or if no thread
 * in the profile is alive. */
static bool mark_write(struct vg_recording *recording, const struct vg_tasks *tasks, const char *label)
{
	struct vg_writer *writer = &recording->recorder.writer;
	struct vg_writer_event event = {
		.type = VG_EVENT_INSTANT, .kind = VG_NONE,
		.time_ns = vg_recording_now_ns(recording),
	};

	if (vg_writer_full(writer))
		return false;
	/* An event belongs to a thread: use the first live thread that is in the profile. */
	VG_EACH_TASK(task, tasks) {
		if ((task->in_profiles & 1u << recording->index) == 0)
			continue;
		event.thread = task->accounts[recording->index].id;
		event.label = remote_label(recording, label);
		if (event.label == VG_NONE)
			return false;
		vg_writer_event(writer, &event);
		return true;
	}
	return false;
}

uint32_t vg_recordings_mark(struct vg_session *session, const char *label)
{
	uint32_t marked = 0;

	VG_EACH_RECORDING(i, session->live) {
		bool own = mark_write(&session->recordings[i], &session->tasks, label);

		session->events.profiles[i].recorded += own;
		marked += own;
	}
	return marked;
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

void vg_recordings_count_loss(struct vg_recording *recordings, vg_recording_set set, enum vg_loss loss)
{
	VG_EACH_RECORDING(i, set)
		recordings[i].recorder.losses.samples[loss]++;
}
