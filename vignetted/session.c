/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session.h"

#include <errno.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "vignetted/account.h"
#include "vignetted/interrupted.h"
#include "vignetted/sampling.h"

static const uint64_t CHECKPOINT_NS = 1000000000, STATS_NS = 10000000000;
enum { LIMITS_EVERY = 16 };
enum { FIRST_ATTEMPTS = 50, FIRST_PAUSE_US = 2000 };

static int header_write(struct vg_session *session)
{
	struct utsname machine;
	struct vg_writer_header header = {
		.period_ns = session->options.period_ns,
		.start_unix_s = (uint64_t)time(NULL),
		.max_frames = session->options.max_frames,
		.mode = session->options.cpu_mode ? "cpu" : "wall",
		.writer = "vignetted " PACKAGE_VERSION,
		.program = session->target.program,
	};

	uname(&machine);
	header.arch = machine.machine;
	return vg_writer_header(&session->recorder.writer, &header);
}

static int parts_open(struct vg_session *session, pid_t pid, struct vg_err *err)
{
	int rc = vg_target_open(&session->target, pid, err);

	if (rc != 0)
		return rc;
	rc = vg_memory_open(&session->memory, pid);
	if (rc == 0)
		rc = vg_tasks_open(&session->tasks, pid);
	session->tasks.max = session->options.max_threads;
	if (rc == 0)
		rc = vg_unwinder_open(&session->unwinder, &session->modules);
	return rc != 0 ? vg_err_sys(err, rc, "process %d", pid) : 0;
}

static void bounds_default(struct vg_session_options *options)
{
	if (options->max_memory_bytes == 0)
		options->max_memory_bytes = VG_MEMORY_DEFAULT_BYTES;
	if (options->max_threads == 0)
		options->max_threads = VG_THREADS_DEFAULT;
	if (options->max_modules == 0)
		options->max_modules = VG_MODULES_MAX_DEFAULT;
	if (options->max_name_bytes == 0)
		options->max_name_bytes = VG_NAME_DEFAULT_BYTES;
}

/* Why no thread can be looked at: most often for want of descriptors. */
static int unreadable(struct vg_session *session, struct vg_err *err)
{
	struct vg_task_look look;
	int rc = session->tasks.live.count == 0 ? 0 :
		 vg_task_look(&session->tasks, &session->tasks.live.items[0], &look);

	return rc == 0 || rc == -ESRCH ? 0 :
	       vg_err_sys(err, rc, "no thread of process %d can be read", session->target.pid);
}

/* The first sample.  Nothing at all could be sampled: say so now, rather than leave an empty
 * profile. */
static int first_sample(struct vg_session *session, struct vg_err *err)
{
	const struct vg_recorder *recorder = &session->recorder;
	int rc;

	if (session->options.period_ns == 0)
		return 0;
	for (int attempt = 0; attempt < FIRST_ATTEMPTS; attempt++) {
		vg_session_tick(session);
		if (recorder->samples > 0 || session->ended != NULL)
			return 0;
		if (recorder->lost[VG_LOSS_UNREADABLE] > 0)
			return unreadable(session, err);
		if (recorder->lost[VG_LOSS_FORBIDDEN] == 0)
			return 0;
		/* For a moment a process that executes a program lets nobody in. */
		rc = vg_target_probe(&session->target, err);
		if (rc != 0)
			return rc;
		usleep(FIRST_PAUSE_US);
	}
	return vg_target_forbidden(&session->target, err);
}

int vg_session_open(struct vg_session *session, const struct vg_session_options *options,
		    pid_t pid, bool command, int fd, struct vg_err *err)
{
	int rc;

	memset(session, 0, sizeof *session);
	session->options = *options;
	bounds_default(&session->options);
	session->modules.max = session->options.max_modules;
	session->target.pidfd = session->disk.fd = -1;
	session->perf_map.directory = -1;
	session->tracer.leader = pid;
	session->tracer.command = command ? pid : 0;
	session->modules.memory = &session->memory;
	vg_recorder_open(&session->recorder, fd, options->max_file_bytes, &session->modules);
	session->recorder.writer.name_max_bytes = session->options.max_name_bytes;
	vg_recorder_memory_limit(&session->recorder, session->options.max_memory_bytes);
	rc = parts_open(session, pid, err);
	if (rc == 0)
		rc = vg_target_probe(&session->target, err);
	if (rc != 0)
		return rc;
	session->begin_ns = vg_now_ns();
	/* A session without events is better than none. */
	if (options->events_fd >= 0)
		vg_events_open(&session->events, options->events_fd, options->events_overwrite);
	vg_events_begin(&session->events, session->begin_ns);
	session->fetch_periods = 1;
	vg_disk_open(&session->disk, fd, session->begin_ns);
	vg_ticks_start(&session->ticks, options->period_ns, session->begin_ns);
	vg_budget_start(&session->budget, options->budget_ppm, session->begin_ns);
	if (options->perf_map)
		vg_perfmap_open(&session->perf_map, pid);
	rc = header_write(session);
	if (rc != 0)
		return vg_err_sys(err, rc, "cannot write the profile");
	vg_modules_refresh(&session->modules);
	rc = first_sample(session, err);
	if (rc != 0)
		return rc;
	vg_interrupted_open(session);
	if (session->failure != 0)
		return vg_err_sys(err, session->failure, "cannot write the profile");
	return 0;
}

static void session_stop(struct vg_session *session, const char *reason)
{
	if (session->ended != NULL)
		return;
	session->ended = reason;
	session->ended_ns = vg_now_ns() - session->begin_ns;
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

static void session_fail(struct vg_session *session, int code)
{
	session->failure = code;
	session_stop(session, failure_reason(code));
	/* It may have been ending for another reason. */
	session->ended = failure_reason(code);
}

static int pauses_write(struct vg_session *session)
{
	const struct vg_ledger *ledger = &session->pauses;
	uint64_t pairs[VG_LEDGER_BUCKETS][2];
	size_t count = 0;

	for (uint32_t i = 0; i < VG_LEDGER_BUCKETS; i++) {
		if (ledger->buckets[i] == 0)
			continue;
		pairs[count][0] = vg_ledger_upper_ns(i);
		pairs[count++][1] = ledger->buckets[i];
	}
	return count == 0 ? 0 : vg_writer_pauses(&session->recorder.writer, pairs, count);
}

static int stats_write(struct vg_session *session)
{
	const struct vg_ledger *pauses = &session->pauses;
	const struct vg_recorder *recorder = &session->recorder;
	const struct vg_unwind_counts *unwound = vg_unwinder_counts(session->unwinder);
	const struct vg_named stats[] = {
		{ "stops", pauses->stops },
		{ "reads_without_stop", recorder->reads_without_stop },
		{ "samples_repeated", recorder->samples_repeated },
		{ "copies_discarded", recorder->copies_discarded },
		{ "eintr_repaired", session->tracer.repaired },
		{ "pause_p50_ns", vg_ledger_percentile_ns(pauses, 50) },
		{ "pause_p90_ns", vg_ledger_percentile_ns(pauses, 90) },
		{ "pause_p99_ns", vg_ledger_percentile_ns(pauses, 99) },
		{ "pause_max_ns", pauses->max_ns },
		{ "pause_total_ns", pauses->total_ns },
		{ "helper_cpu_ns", vg_budget_cpu_ns() },
		{ "ticks_late", session->ticks.late },
		{ "rate_changes", session->budget.changes },
		{ "period_now_ns", session->ticks.period_ns / session->fetch_periods },
		{ "interrupts", session->interrupts.taken },
		{ "maps_reads", session->maps_reads },
		{ "events", session->events.recorded },
		{ "walks", unwound->walks },
		{ "walks_by_libunwind", unwound->fallbacks },
		{ "rows_decoded", unwound->rows_decoded },
		{ "threads_over_limit", session->tasks.over_most },
		{ "modules_over_limit", session->modules.over_most },
		{ "names_cut", recorder->writer.names_cut },
		{ "stack_tables", recorder->stacks_generation + UINT64_C(1) },
		{ "syncs", session->disk.syncs },
		{ "syncs_failed", session->disk.failures },
	};

	return vg_recorder_counts(&session->recorder, stats, sizeof stats / sizeof *stats);
}

/* Every sample so far is in the file after this.  Statistics are long and only add up: they are
 * written after one second, then at twice the distance each time, and at the end. */
static void checkpoint(struct vg_session *session, bool last)
{
	uint64_t now_ns = vg_now_ns() - session->begin_ns;
	int rc = 0;

	session->recorder.events_dropped = vg_events_dropped(&session->events);
	session->recorder.lost[VG_LOSS_TICK_SKIPPED] = session->ticks.skipped * session->fetch_periods;
	for (size_t i = 0; rc == 0 && i < session->tasks.live.count; i++) {
		struct vg_task *task = &session->tasks.live.items[i];

		if (task->ran)
			rc = vg_account_name(session, task, now_ns);
		task->ran = false;
		if (rc == 0)
			rc = vg_account_settle(session, task);
	}
	if (rc == 0 && (last || now_ns >= session->stats_ns)) {
		session->stats_every_ns = session->stats_every_ns == 0 ? CHECKPOINT_NS :
					  session->stats_every_ns < STATS_NS ?
					  2 * session->stats_every_ns : STATS_NS;
		session->stats_ns = now_ns + session->stats_every_ns;
		rc = pauses_write(session);
		if (rc == 0)
			rc = stats_write(session);
	}
	if (rc == 0)
		rc = vg_writer_flush(&session->recorder.writer);
	if (rc == 0 && !last)
		vg_disk_tick(&session->disk, session->recorder.writer.file_bytes, vg_now_ns());
	if (rc != 0 && session->failure == 0)
		session_fail(session, rc);
}

static void limits_check(struct vg_session *session, uint64_t now_ns)
{
	if (session->ended != NULL)
		return;
	if (session->recorder.writer.failed != 0)
		session_fail(session, session->recorder.writer.failed);
	else if (vg_writer_full(&session->recorder.writer))
		session_stop(session, "the file size limit was reached");
	else if (session->options.max_duration_ns != 0 &&
		 now_ns - session->begin_ns >= session->options.max_duration_ns)
		session_stop(session, "the duration limit was reached");
}

static void events_fetch(struct vg_session *session, bool last)
{
	struct vg_events_sink sink = {
		.writer = &session->recorder.writer, .tasks = &session->tasks,
		.threads = &session->recorder.threads,
		.now_ns = vg_now_ns() - session->begin_ns, .last = last,
	};

	vg_events_drain(&session->events, &sink);
	session->budget.apart_ns = session->events.cpu_ns;
}

void vg_session_events(struct vg_session *session)
{
	if (session->ended == NULL)
		events_fetch(session, false);
}

/* Threads that came and went since the last tick. */
int vg_session_scan(struct vg_session *session, uint64_t now_ns)
{
	int scanned = vg_tasks_scan(&session->tasks), rc = 0;

	for (size_t i = 0; rc == 0 && scanned == 0 && i < session->tasks.live.count; i++) {
		struct vg_task *task = &session->tasks.live.items[i];

		if (task->seen && task->snapshot_bytes == 0)
			rc = vg_account_begin(session, task, now_ns);
	}
	/* While those that are gone are still known. */
	vg_session_events(session);
	/* Of a process that is gone the threads are too, and what they have not told yet is due. */
	for (size_t i = 0; rc == 0 && i < session->tasks.live.count; i++) {
		struct vg_task *task = &session->tasks.live.items[i];

		if (!task->seen)
			rc = vg_account_end(session, task, now_ns);
	}
	vg_tasks_sweep(&session->tasks);
	session->scan_ns = now_ns;
	return scanned != 0 ? scanned : rc;
}

/* Where no thread of the process has run since the last tick, none need be looked at.  The kernel
 * adds up the processor time of all in a hundredth of what it takes to ask for each. */
static bool is_still(struct vg_session *session)
{
	uint64_t before_ns = session->target_cpu_ns;

	session->target_cpu_ns = vg_target_cpu_ns(&session->target);
	return before_ns != 0 && session->target_cpu_ns == before_ns;
}

void vg_session_tick(struct vg_session *session)
{
	uint64_t now_ns = vg_now_ns() - session->begin_ns;
	size_t count, at;
	int rc;

	if (session->ended != NULL)
		return;
	session->maps_fresh = false;
	session->still = is_still(session);
	if (!session->still && !vg_modules_check(&session->modules))
		vg_sampling_modules_refresh(session, now_ns);
	vg_interrupted_weigh(session);
	vg_interrupted_fetch(session);
	rc = vg_session_scan(session, now_ns);
	if (rc == -ESRCH) {
		events_fetch(session, true);
		session_stop(session, "the process ended");
	}
	session->recorder.lost[VG_LOSS_NO_MEMORY] += rc == -ENOMEM;
	session->recorder.lost[VG_LOSS_THREAD_LIMIT] += session->tasks.over;
	count = session->tasks.live.count;
	/* Another first one each time, so that no thread is always the one that waits longest. */
	at = count > 0 ? session->tick_count++ % count : 0;
	for (size_t i = 0; i < count && session->ended == NULL; i++) {
		vg_sampling_thread(session, &session->tasks.live.items[at]);
		at = at + 1 < count ? at + 1 : 0;
		/* Now and then: thousands of sleeping threads cost a microsecond each. */
		if (i % LIMITS_EVERY == LIMITS_EVERY - 1 || i + 1 == count)
			limits_check(session, vg_now_ns());
	}
	if (session->ended == NULL && vg_budget_check(&session->budget, &session->ticks,
						      &session->pauses))
		vg_writer_rate(&session->recorder.writer, vg_now_ns() - session->begin_ns,
			       session->ticks.period_ns / session->fetch_periods);
	vg_events_forget(&session->events);
	if (vg_now_ns() >= session->checkpoint_ns && session->ended == NULL) {
		checkpoint(session, false);
		session->checkpoint_ns = vg_now_ns() + CHECKPOINT_NS;
	}
}

int vg_session_end(struct vg_session *session, const char *reason)
{
	uint64_t give_up_ns = vg_now_ns() + 1000000000;
	int rc;

	/* A last round, so that weights reach to the end. */
	if (session->ended == NULL && session->options.period_ns != 0)
		vg_session_tick(session);
	if (session->ended == NULL) {
		vg_session_scan(session, vg_now_ns() - session->begin_ns);
		events_fetch(session, true);
	}
	session_stop(session, reason);
	if (session->complete)
		return session->failure;
	session->complete = true;
	/* A thread that was asked to stop and has not is let go when it does, or when we exit. */
	while (!vg_tracer_settle(&session->tracer) && vg_now_ns() < give_up_ns)
		usleep(1000);
	if (session->failure == 0) {
		vg_events_finish(&session->events);
		/* Names that memory is too short for are not worth the rest of the file. */
		vg_perfmap_write(&session->perf_map, &session->recorder);
		checkpoint(session, true);
	}
	rc = vg_recorder_finish(&session->recorder, session->ended, session->ended_ns);
	if (rc != 0 && session->failure == 0)
		session_fail(session, rc);
	vg_disk_last(&session->disk, session->recorder.writer.file_bytes);
	return session->failure;
}

void vg_session_close(struct vg_session *session)
{
	vg_disk_close(&session->disk);
	vg_recorder_free(&session->recorder);
	vg_unwinder_free(session->unwinder);
	vg_modules_free(&session->modules);
	vg_memory_free(&session->memory);
	vg_tasks_close(&session->tasks);
	vg_interrupts_close(&session->interrupts);
	vg_events_close(&session->events);
	vg_snapshot_free(&session->snapshot);
	vg_walk_free(&session->walk);
	vg_target_close(&session->target);
	vg_perfmap_close(&session->perf_map);
}
