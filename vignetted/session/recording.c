/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/recording.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "vignetted/session/account.h"
#include "vignetted/session/pacing.h"
#include "vignetted/session/session.h"

static const uint64_t CHECKPOINT_NS = 1000000000, STATS_NS = 10000000000;

/* Labels from outside stand above all that a ring can number. */
enum { LABELS_OUTSIDE = 1 << 30, LABELS_OUTSIDE_MAX = 1 << 12 };

static int header_write(const struct vg_session *session, struct vg_recording *recording)
{
	struct vg_writer_header header = {
		.period_ns = recording->options.period_ns,
		.start_unix_s = (uint64_t)time(NULL),
		.max_frames = recording->options.max_frames,
		.mode = recording->options.cpu_mode ? "cpu" : "wall",
		.writer = "vignetted " PACKAGE_VERSION,
		.program = session->target.program, .arch = session->machine,
		.counters = recording->counting.count > 0 ? recording->counting.names : NULL,
	};

	return vg_writer_header(&recording->recorder.writer, &header);
}

static void before_note(const struct vg_session *session, struct vg_recording_before *before)
{
	const struct vg_unwind_counts *unwound = vg_unwinder_counts(session->unwinder);

	*before = (struct vg_recording_before){
		.pauses = session->pauses, .late = session->ticks.late,
		.changes = session->budget.changes, .interrupts = session->interrupts.taken,
		.interrupts_lost = session->interrupts.told.lost, .maps_reads = session->maps_reads,
		.repaired = session->tracer.repaired, .walks = unwound->walks,
		.fallbacks = unwound->fallbacks, .rows = unwound->rows_decoded,
	};
	/* What it took the helper to start is the first one's. */
	if (session->round_count != 0)
		before->helper_cpu_ns = vg_own_cpu_ns();
}

int vg_recording_open(struct vg_session *session, struct vg_recording *recording,
		      const struct vg_session_options *options, int fd, uint32_t shares)
{
	struct vg_recorder *recorder = &recording->recorder;
	uint32_t index = recording->index;

	memset(recording, 0, sizeof *recording);
	recording->index = index;
	recording->open = true;
	recording->options = *options;
	recording->perf_map.directory = recording->disk.fd = -1;
	recording->begin_ns = vg_now_ns();
	recording->since_ns = recording->begin_ns - session->begin_ns;
	recording->period_now_ns = options->period_ns;
	vg_recorder_open(recorder, fd, options->max_file_bytes, &session->modules);
	recorder->writer.name_max_bytes = session->max_name_bytes;
	vg_recorder_memory_limit(recorder, session->max_memory_bytes / shares);
	vg_counting_open(&recording->counting, options->counters);
	vg_dumping_open(recording);
	before_note(session, &recording->before);
	vg_disk_open(&recording->disk, fd, recording->begin_ns);
	vg_ticks_start(&recording->ticks, options->period_ns, recording->begin_ns);
	recording->ticks.follow = true;
	if (options->perf_map)
		vg_perfmap_open(&recording->perf_map, session->target.pid);
	vg_events_join(&session->events, index, &recorder->writer, &recorder->threads,
		       recording->since_ns);
	return header_write(session, recording);
}

/* ---- when it is due ---- */

uint64_t vg_recording_period_ns(const struct vg_session *session,
				const struct vg_recording *recording)
{
	uint64_t ticks_ns = vg_pacing_period_ns(session);

	return recording->options.period_ns > ticks_ns ? recording->options.period_ns : ticks_ns;
}

bool vg_recording_due(struct vg_session *session, struct vg_recording *recording)
{
	uint64_t period_ns = recording->options.period_ns, before = recording->ticks.skipped;
	/* The end of the period that the tick was of.  Where it was in that is chance: of two rates that are nearly
	 * the same, the lower would have to pass ticks over for it. */
	uint64_t tick_ns = session->ticks.period_end_ns - session->ticks.period_ns;
	bool due;

	if (period_ns == 0)
		return false;
	if (period_ns <= session->ticks.period_ns) {
		recording->apart = false;
		recording->skipped += session->skipped_now * session->fetch_periods;
		return true;
	}
	if (!recording->apart)
		vg_ticks_restart(&recording->ticks, period_ns, tick_ns - period_ns);
	recording->apart = true;
	due = vg_ticks_due(&recording->ticks, tick_ns);
	recording->skipped += recording->ticks.skipped - before;
	return due;
}

void vg_recording_rate(const struct vg_session *session, struct vg_recording *recording)
{
	uint64_t period_ns = vg_recording_period_ns(session, recording);

	if (recording->options.period_ns == 0 || period_ns == recording->period_now_ns)
		return;
	recording->period_now_ns = period_ns;
	vg_writer_rate(&recording->recorder.writer, vg_now_ns() - recording->begin_ns, period_ns);
}

/* ---- its end ---- */

void vg_recording_stop(struct vg_session *session, struct vg_recording *recording,
		       const char *reason)
{
	if (recording->ended != NULL)
		return;
	vg_counting_end(session, recording);
	recording->ended_ns = vg_now_ns() - recording->begin_ns;
	session->events.outs[recording->index].until_ns = recording->since_ns + recording->ended_ns;
	/* Fetches the events until then.  Threads go on, so later ones are fetched as well, and left out. */
	vg_session_events(session);
	recording->ended = reason;
	session->live &= ~(1u << recording->index);
	session->changed = true;
}

static const char *failure_reason(int code)
{
	switch (code) {
	case -ENOSPC: return "the disk is full";
	case -EDQUOT: return "the disk quota is used up";
	case -EFBIG: return "the process may not write larger files";
	case -ENOMEM: return "memory was short";
	}
	return "the profile could not be written";
}

static void recording_fail(struct vg_session *session, struct vg_recording *recording, int code)
{
	recording->failure = code;
	vg_recording_stop(session, recording, failure_reason(code));
	/* It may have been ending for another reason. */
	recording->ended = failure_reason(code);
}

void vg_recording_limits(struct vg_session *session, struct vg_recording *recording, uint64_t now_ns)
{
	if (recording->ended != NULL)
		return;
	if (recording->recorder.writer.failed != 0)
		recording_fail(session, recording, recording->recorder.writer.failed);
	else if (vg_writer_full(&recording->recorder.writer))
		vg_recording_stop(session, recording, "the file size limit was reached");
	else if (recording->options.max_duration_ns != 0 &&
		 now_ns - recording->begin_ns >= recording->options.max_duration_ns)
		vg_recording_stop(session, recording, "the duration limit was reached");
}

/* ---- what it writes from time to time ---- */

static int pauses_write(struct vg_recording *recording, const struct vg_ledger *ledger)
{
	uint64_t pairs[VG_LEDGER_BUCKETS][2];
	size_t count = 0;

	for (uint32_t i = 0; i < VG_LEDGER_BUCKETS; i++) {
		if (ledger->buckets[i] == 0)
			continue;
		pairs[count][0] = vg_ledger_upper_ns(i);
		pairs[count++][1] = ledger->buckets[i];
	}
	return count == 0 ? 0 : vg_writer_pauses(&recording->recorder.writer, pairs, count);
}

static int stats_write(const struct vg_session *session, struct vg_recording *recording,
		       const struct vg_ledger *pauses)
{
	const struct vg_recorder *recorder = &recording->recorder;
	const struct vg_recording_before *before = &recording->before;
	const struct vg_unwind_counts *unwound = vg_unwinder_counts(session->unwinder);
	const struct vg_named stats[] = {
		{ "stops", pauses->stops },
		{ "reads_without_stop", recorder->reads_without_stop },
		{ "samples_repeated", recorder->samples_repeated },
		{ "copies_discarded", recorder->copies_discarded },
		{ "eintr_repaired", session->tracer.repaired - before->repaired },
		{ "pause_p50_ns", vg_ledger_percentile_ns(pauses, 50) },
		{ "pause_p90_ns", vg_ledger_percentile_ns(pauses, 90) },
		{ "pause_p99_ns", vg_ledger_percentile_ns(pauses, 99) },
		{ "pause_max_ns", pauses->max_ns },
		{ "pause_total_ns", pauses->total_ns },
		{ "helper_cpu_ns", vg_own_cpu_ns() - before->helper_cpu_ns },
		{ "ticks_late", session->ticks.late - before->late },
		{ "rate_changes", session->budget.changes - before->changes },
		{ "period_now_ns", recording->period_now_ns },
		{ "interrupts", session->interrupts.taken - before->interrupts },
		{ "maps_reads", session->maps_reads - before->maps_reads },
		{ "events", session->events.outs[recording->index].recorded },
		{ "walks", unwound->walks - before->walks },
		{ "walks_by_libunwind", unwound->fallbacks - before->fallbacks },
		{ "rows_decoded", unwound->rows_decoded - before->rows },
		{ "threads_over_limit", session->tasks.over_most },
		{ "modules_over_limit", session->modules.over_most },
		{ "names_cut", recorder->writer.names_cut },
		{ VG_PERFMAP_STAT, recording->perf_map.unread_bytes },
		{ "stack_tables", recorder->stacks_generation + UINT64_C(1) },
		{ "syncs", recording->disk.syncs },
		{ "syncs_failed", recording->disk.failures },
		{ "stalls", recording->dumping.watchdog.stalls },
		{ "unconfined", session->unconfined },
		/* The last, and only where there are counters. */
		{ "threads_uncounted", recording->counting.threads_without },
	};
	size_t count = sizeof stats / sizeof *stats - (recording->counting.count == 0);

	return vg_recorder_counts(&recording->recorder, stats, count);
}

static int counts_write(const struct vg_session *session, struct vg_recording *recording)
{
	struct vg_ledger pauses;
	int rc;

	vg_ledger_since(&pauses, &session->pauses, &recording->before.pauses);
	rc = pauses_write(recording, &pauses);
	return rc != 0 ? rc : stats_write(session, recording, &pauses);
}

/* Statistics are long and only add up: they are written after one second, then at twice the
 * distance each time, and at the end. */
void vg_recording_checkpoint(struct vg_session *session, struct vg_recording *recording, bool last)
{
	uint64_t now_ns = vg_now_ns(), own_ns = now_ns - recording->begin_ns;
	const struct vg_events_out *events = &session->events.outs[recording->index];
	struct vg_recorder *recorder = &recording->recorder;
	int rc = 0;

	vg_priority_rest(&session->tracer.priority);
	recorder->events_dropped = vg_events_dropped(&session->events) - events->dropped + events->cut;
	recorder->lost[VG_LOSS_TICK_SKIPPED] = recording->skipped;
	recorder->lost[VG_LOSS_RING_FULL] = session->interrupts.told.lost - recording->before.interrupts_lost;
	for (size_t i = 0; rc == 0 && i < session->tasks.live.count; i++) {
		struct vg_task *task = &session->tasks.live.items[i];

		if (task->ran)
			vg_account_name(session, task, now_ns - session->begin_ns);
		task->ran = false;
		rc = vg_account_settle(recording, task);
	}
	if (rc == 0 && (last || own_ns >= recording->stats_ns || recording->options.flight_ns != 0)) {
		recording->stats_every_ns = recording->stats_every_ns == 0 ? CHECKPOINT_NS :
					    recording->stats_every_ns < STATS_NS ?
					    2 * recording->stats_every_ns : STATS_NS;
		recording->stats_ns = own_ns + recording->stats_every_ns;
		rc = counts_write(session, recording);
	}
	if (rc == 0)
		rc = vg_writer_flush(&recorder->writer);
	if (rc == 0 && !last)
		vg_disk_tick(&recording->disk, recorder->writer.file_bytes, now_ns);
	recording->checkpoint_ns = now_ns + CHECKPOINT_NS;
	if (rc != 0 && recording->failure == 0)
		recording_fail(session, recording, rc);
}

/* Of code that samples were in and that is no module's. */
static void names_write(struct vg_recording *recording)
{
	const struct vg_intern *stacks = &recording->recorder.stacks;
	VG_ARRAY(uint64_t) addresses = { 0 };

	for (uint32_t i = 0; recording->perf_map.directory >= 0 && i < stacks->count; i++) {
		struct vg_stack_key key;

		memcpy(&key, vg_intern_bytes(stacks, i, NULL), sizeof key);
		/* Names that memory is too short for are not worth the rest of the file. */
		if (vg_perfmap_concerns(key.module, key.found) &&
		    vg_array_push(&addresses, &key.address) != 0)
			break;
	}
	vg_perfmap_write(&recording->perf_map, addresses.items, addresses.count,
			 &recording->recorder.writer);
	vg_array_free(&addresses);
}

int vg_recording_finish(struct vg_session *session, struct vg_recording *recording)
{
	int rc;

	if (recording->complete)
		return recording->failure;
	recording->complete = true;
	if (recording->failure == 0) {
		if (recording->options.flight_ns == 0)
			names_write(recording);
		vg_recording_checkpoint(session, recording, true);
	}
	rc = recording->options.flight_ns != 0 ? vg_dumping_last(session, recording) :
	     vg_recorder_finish(&recording->recorder, recording->ended, recording->ended_ns);
	if (rc != 0 && recording->failure == 0)
		recording_fail(session, recording, rc);
	vg_disk_last(&recording->disk, recording->recorder.writer.file_bytes);
	vg_events_leave(&session->events, recording->index);
	return recording->failure;
}

/* The label's number, known or new; VG_NONE if there are too many. */
static uint32_t outside_label(struct vg_recording *recording, const char *label)
{
	uint32_t index;
	int added = 0;

	if (!vg_intern_find(&recording->labels, label, strlen(label), &index)) {
		if (recording->labels.count >= LABELS_OUTSIDE_MAX)
			return VG_NONE;
		added = vg_intern(&recording->labels, label, strlen(label), &index);
	}
	if (added < 0)
		return VG_NONE;
	if (added > 0)
		vg_writer_label(&recording->recorder.writer, LABELS_OUTSIDE + index, label, strlen(label));
	return LABELS_OUTSIDE + index;
}

bool vg_recording_mark(struct vg_session *session, struct vg_recording *recording,
		       const char *label)
{
	struct vg_writer *writer = &recording->recorder.writer;
	struct vg_writer_event event = {
		.what = VG_EVENT_INSTANT, .kind = VG_NONE,
		.time_ns = vg_now_ns() - recording->begin_ns,
	};

	if (vg_writer_full(writer))
		return false;
	/* The first thread's, if it lives: an event is somebody's. */
	for (size_t i = 0; i < session->tasks.live.count; i++) {
		const struct vg_task *task = &session->tasks.live.items[i];

		if ((task->begun & 1u << recording->index) == 0)
			continue;
		event.thread = task->accounts[recording->index].id;
		event.label = outside_label(recording, label);
		if (event.label == VG_NONE)
			return false;
		vg_writer_event(writer, &event);
		session->events.outs[recording->index].recorded++;
		return true;
	}
	return false;
}

void vg_recording_close(struct vg_session *session, struct vg_recording *recording)
{
	if (!recording->open)
		return;
	session->live &= ~(1u << recording->index);
	vg_counting_end(session, recording);
	vg_events_leave(&session->events, recording->index);
	for (size_t i = 0; i < session->tasks.live.count; i++)
		session->tasks.live.items[i].begun &= ~(1u << recording->index);
	vg_disk_close(&recording->disk);
	vg_dumping_close(recording);
	vg_intern_free(&recording->labels);
	vg_recorder_free(&recording->recorder);
	vg_perfmap_close(&recording->perf_map);
	recording->open = false;
}
