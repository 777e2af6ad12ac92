/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/recording.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"

static const uint64_t CHECKPOINT_NS = 1000000000, STATS_NS = 10000000000;

/* With a perf map, this part of the largest size is for names of JIT code, which are written when the recording has
 * ended: 4 KiB of 64 KiB, 16 MiB of 256 MiB. */
enum { NAMES_SHARE = 16 };

/* Longer names of modules, threads and JIT code are truncated: a program can have a million names of JIT code. */
enum { NAME_MAX_BYTES = 1024 };

/* Labels of vg_recording_mark() get ids above those that an event ring can have. */
enum { REMOTE_LABELS_FIRST = 1 << 30, REMOTE_LABELS_MAX = 1 << 12 };

static int header_write(struct vg_recording *recording, const struct vg_recording_start *start)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	recording->header = (struct vg_writer_header){
		.period_ns = recording->options.period_ns,
		.start_unix_s = (uint64_t)now.tv_sec, .start_us = (uint64_t)now.tv_nsec / 1000,
		.max_frames = recording->options.max_frames,
		.mode = recording->options.cpu_mode ? "cpu" : "wall",
		.writer = "vignetted " PACKAGE_VERSION,
		.program = start->program, .arch = start->machine,
		.counters = recording->counter_set.count > 0 ? recording->counter_set.names : NULL,
	};

	return vg_recording_header_write(recording);
}

int vg_recording_header_write(struct vg_recording *recording)
{
	/* Each dump of a flight recorder has a header of its own. */
	return vg_recording_is_flight_recorder(recording) ? 0 :
	       vg_writer_header(&recording->recorder.writer, &recording->header);
}

int vg_recording_open(struct vg_recording *recording, const struct vg_recording_start *start)
{
	const struct vg_session_options *options = start->options;
	struct vg_recorder *recorder = &recording->recorder;
	uint32_t index = recording->index;

	memset(recording, 0, sizeof *recording);
	recording->index = index;
	recording->open = true;
	recording->options = *options;
	recording->perf_map.directory = recording->disk.fd = -1;
	recording->begin_ns = vg_now_ns();
	recording->begin_session_ns = recording->begin_ns - start->session_begin_ns;
	recording->period_now_ns = options->period_ns;
	vg_recorder_open(recorder, start->fd, options->max_file_bytes, start->modules);
	recorder->kernel = start->kernel;
	recorder->writer.name_max_bytes = NAME_MAX_BYTES;
	vg_recorder_memory_limit(recorder, start->max_memory_bytes);
	vg_counter_set_open(&recording->counter_set, options->counters);
	if (options->flight_ns != 0)
		vg_flight_recorder_open(&recording->flight_recorder, recorder, &recording->header, options->flight_ns,
					options->flight_memory_bytes, start->events);
	vg_disk_open(&recording->disk, start->fd, recording->begin_ns);
	vg_ticks_start(&recording->ticks, options->period_ns, recording->begin_ns);
	recording->ticks.in_first_half = true;
	if (options->perf_map) {
		vg_perf_map_open(&recording->perf_map, start->pid);
		recording->flight_recorder.has_perf_map = true;
		recorder->writer.names_bytes = options->max_file_bytes / NAMES_SHARE;
	}
	return header_write(recording, start);
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

uint64_t vg_recording_period_ns(const struct vg_recording *recording, uint64_t session_period_ns)
{
	return recording->options.period_ns > session_period_ns ? recording->options.period_ns : session_period_ns;
}

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

void vg_recording_rate_write(struct vg_recording *recording, uint64_t session_period_ns)
{
	uint64_t period_ns = vg_recording_period_ns(recording, session_period_ns);

	if (recording->options.period_ns == 0 || period_ns == recording->period_now_ns)
		return;
	recording->period_now_ns = period_ns;
	vg_writer_rate(&recording->recorder.writer, vg_recording_now_ns(recording), period_ns);
}

/* ---- why a recording stops ---- */

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

const char *vg_recording_fail(struct vg_recording *recording, int code)
{
	recording->failure = code;
	return failure_reason(code);
}

const char *vg_recording_limit(const struct vg_recording *recording, uint64_t now_ns)
{
	if (vg_writer_full(&recording->recorder.writer))
		return "the file size limit was reached";
	if (recording->options.max_duration_ns != 0 &&
	    now_ns - recording->begin_ns >= recording->options.max_duration_ns)
		return "the duration limit was reached";
	return NULL;
}

/* ---- checkpoints ---- */

static size_t pauses_list(const struct vg_pauses *pauses, uint64_t pairs[VG_PAUSES_BUCKETS][2])
{
	size_t count = 0;

	for (uint32_t i = 0; i < VG_PAUSES_BUCKETS; i++) {
		if (pauses->buckets[i] == 0)
			continue;
		pairs[count][0] = vg_pauses_upper_ns(i);
		pairs[count++][1] = pauses->buckets[i];
	}
	return count;
}

/* Returns how many samples were due but became part of another sample's weight.  One sample is due in each period of
 * each thread's wall time.  Returns 0 in cpu mode, where it is not known how many were due. */
static uint64_t samples_merged(const struct vg_recording *recording)
{
	int64_t merged_ns = recording->recorder.merged_ns;

	return recording->options.cpu_mode || merged_ns < 0 || recording->period_now_ns == 0 ?
	       0 : (uint64_t)merged_ns / recording->period_now_ns;
}

/* Writes the counts, or keeps them for the next dump of a flight recorder. */
static int counts_write(struct vg_recording *recording, const struct vg_events_profile *events,
			const struct vg_session_counts *counts, const struct vg_pauses *pauses)
{
	const struct vg_recorder *recorder = &recording->recorder;
	const struct vg_session_counts *before = &recording->counts_at_begin;
	uint64_t used_ns = vg_recording_cpu_used_ns(recording, counts->process_cpu_ns), pairs[VG_PAUSES_BUCKETS][2];
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
		{ "events", events->recorded },
		{ "walks", counts->walks - before->walks },
		{ "walks_by_libunwind", counts->walks_by_libunwind - before->walks_by_libunwind },
		{ "rows_decoded", counts->rows_decoded - before->rows_decoded },
		{ "threads_over_limit", counts->threads_over },
		{ "modules_over_limit", counts->modules_over },
		{ "modules_unindexed", counts->modules_unindexed },
		{ "names_truncated", recorder->writer.names_truncated },
		{ "records_left_out", recorder->writer.records_left_out },
		{ VG_PERF_MAP_STATISTIC, recording->perf_map.unread_bytes },
		{ "stack_tables", recorder->stacks_generation + UINT64_C(1) },
		{ "syncs", recording->disk.syncs },
		{ "syncs_failed", recording->disk.failures },
		{ "stalls", recording->flight_recorder.watchdog.stalls },
		{ "unconfined", counts->unconfined },
		/* Must be the last: it is written only with perf counters. */
		{ "threads_without_counters", recording->counter_set.threads_without },
	};
	size_t count = sizeof stats / sizeof *stats - (recording->counter_set.count == 0);
	size_t pairs_count = pauses_list(pauses, pairs);
	int rc = 0;

	if (vg_recording_is_flight_recorder(recording)) {
		vg_flight_counts(&recording->flight_recorder.flight, stats, count, pairs, pairs_count);
		return 0;
	}
	if (pairs_count > 0)
		rc = vg_writer_pauses(writer, pairs, pairs_count);
	if (rc == 0)
		rc = vg_losses_write(writer, &recorder->losses, NULL);
	return rc != 0 ? rc : vg_writer_stats(writer, stats, count);
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
int vg_recording_checkpoint(struct vg_recording *recording, const struct vg_events_profile *events,
			    const struct vg_session_counts *counts, bool last)
{
	uint64_t now_ns = vg_now_ns(), recording_ns = now_ns - recording->begin_ns;
	struct vg_recorder *recorder = &recording->recorder;
	struct vg_pauses pauses;
	int rc = 0;

	if (last && recording->options.flight_ns == 0)
		perf_map_write(recording);
	recorder->losses.events = counts->events_dropped - events->dropped + events->file_full;
	recorder->losses.samples[VG_LOSS_TICK_SKIPPED] = recording->skipped;
	recorder->losses.samples[VG_LOSS_RING_FULL] =
		counts->timer_samples_lost - recording->counts_at_begin.timer_samples_lost;
	if (last || recording_ns >= recording->next_stats_ns || recording->options.flight_ns != 0) {
		recording->stats_period_ns = recording->stats_period_ns == 0 ? CHECKPOINT_NS :
					    recording->stats_period_ns < STATS_NS ?
					    2 * recording->stats_period_ns : STATS_NS;
		recording->next_stats_ns = recording_ns + recording->stats_period_ns;
		vg_pauses_since(&pauses, &counts->pauses, &recording->counts_at_begin.pauses);
		rc = counts_write(recording, events, counts, &pauses);
	}
	/* A flight recorder keeps full chunks, but a dump that goes on gets what there is. */
	if (rc == 0 && (!vg_recording_is_flight_recorder(recording) || recording->flight_recorder.flight.dump.is_open))
		rc = vg_writer_flush(&recorder->writer);
	if (rc == 0 && !last)
		vg_disk_sync_if_due(&recording->disk, recorder->writer.file_bytes, now_ns);
	recording->next_checkpoint_ns = now_ns + CHECKPOINT_NS;
	return rc;
}

int vg_recording_finish(struct vg_recording *recording)
{
	int rc;

	rc = recording->options.flight_ns != 0 ?
	     vg_flight_recorder_dump_final(&recording->flight_recorder, &recording->perf_map,
					   recording->recorder.writer.fd, recording->ended, recording->ended_ns) :
	     vg_recorder_finish(&recording->recorder, recording->ended, recording->ended_ns);
	vg_disk_write_begin(&recording->disk, recording->recorder.writer.file_bytes);
	return rc;
}

void vg_recording_counting_end(struct vg_recording *recording, struct vg_tasks *tasks)
{
	vg_counter_set_end(&recording->counter_set, &recording->recorder.writer, tasks, recording->index,
			   vg_recording_now_ns(recording));
}

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

bool vg_recording_mark(struct vg_recording *recording, const struct vg_tasks *tasks, const char *label)
{
	struct vg_writer *writer = &recording->recorder.writer;
	struct vg_writer_event event = {
		.type = VG_EVENT_INSTANT, .kind = VG_NONE,
		.time_ns = vg_recording_now_ns(recording),
	};

	if (vg_writer_full(writer))
		return false;
	/* An event belongs to a thread: use the first live thread that is in the profile. */
	for (size_t i = 0; i < tasks->live.count; i++) {
		const struct vg_task *task = &tasks->live.items[i];

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

void vg_recording_close(struct vg_recording *recording, struct vg_tasks *tasks)
{
	for (size_t i = 0; i < tasks->live.count; i++)
		tasks->live.items[i].in_profiles &= ~(1u << recording->index);
	vg_disk_close(&recording->disk);
	vg_flight_recorder_close(&recording->flight_recorder, vg_recording_now_ns(recording));
	recording->recorder.writer.take = NULL;
	vg_intern_free(&recording->remote_labels);
	vg_recorder_free(&recording->recorder);
	vg_perf_map_close(&recording->perf_map);
	recording->open = false;
}
