/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/dumps.h"

#include <errno.h>

#include "base/clock.h"
#include "vignetted/session/recordings.h"
#include "vignetted/session/threads.h"
#include "vignetted/session/timer_samples.h"

/* Entries between two looks at what else is due: well below a millisecond. */
enum { SLICE = 2000 };

/* What a table of stacks may have in any case. */
enum { STACKS_SPARE = 4096 };

/* A stall that lasts longer is dumped no further: it will not change any more. */
static const uint64_t STALL_MAX_NS = UINT64_C(60) * 1000000000, FLUSH_NS = 1000000000;

/* Fetches what threads did until now, and returns that time: the recorder may know a part of what came later. */
static uint64_t threads_fetch(struct vg_session *session, struct vg_recording *recording)
{
	uint64_t now_ns = vg_recording_now_ns(recording);

	if (recording->ended != NULL)
		return recording->ended_ns;
	/* Ticks may be far apart. */
	vg_timer_samples_fetch(session);
	vg_recordings_events(session, false);
	vg_threads_names(session);
	vg_recordings_checkpoint(session, recording, true);
	return now_ns;
}

static int dump_finish(struct vg_session *session, struct vg_recording *recording, const char *reason)
{
	vg_priority_rest(&session->tracer.priority);
	return vg_dumping_finish(recording, reason);
}

static int dump_start(struct vg_session *session, struct vg_recording *recording, enum vg_dumping_for who, int fd)
{
	return vg_dumping_start(recording, who, fd, threads_fetch(session, recording));
}

int vg_dumps_ask(struct vg_session *session, struct vg_recording *recording, int fd,
		   const char *reason, vg_dumping_done *done, int asker)
{
	struct vg_dumping *dumping = &recording->dumping;

	if (!vg_dumping_is_open(recording))
		return -ENOTSUP;
	if (dumping->who == VG_DUMPING_ASKED)
		return -EBUSY;
	if (dumping->who == VG_DUMPING_STALL) {
		vg_dump_stop(&dumping->dump, threads_fetch(session, recording));
		dump_finish(session, recording, "another dump was asked for");
	}
	dumping->reason = reason;
	dumping->done = done;
	dumping->asker = asker;
	/* If it fails already, it ends in the next turn like any other. */
	dump_start(session, recording, VG_DUMPING_ASKED, fd);
	return 0;
}

void vg_dumps_forget(struct vg_session *session, int asker)
{
	for (uint32_t i = 0; i < VG_RECORDINGS; i++) {
		struct vg_dumping *dumping = &session->recordings[i].dumping;

		if (dumping->who == VG_DUMPING_ASKED && dumping->asker == asker)
			dumping->asker = -1;
	}
}

bool vg_dumps_awaited(const struct vg_session *session, int asker)
{
	bool awaited = false;

	for (uint32_t i = 0; i < VG_RECORDINGS; i++) {
		const struct vg_dumping *dumping = &session->recordings[i].dumping;

		awaited = awaited || (dumping->who == VG_DUMPING_ASKED && dumping->asker == asker);
	}
	return awaited;
}

/* ---- the watchdog ---- */

static void stall_begin(struct vg_session *session, struct vg_recording *recording)
{
	struct vg_dumping *dumping = &recording->dumping;
	int fd = vg_watchdog_file(&dumping->watchdog);

	if (fd < 0)
		return;
	vg_session_sample(session, recording);
	dump_start(session, recording, VG_DUMPING_STALL, fd);
	dumping->stall_ns = vg_recording_now_ns(recording);
	dumping->late_ns = vg_now_ns() - dumping->watchdog.beat_ns;
	dumping->flush_ns = 0;
}

/* Behind what the thread reported before. */
static void note_late(struct vg_session *session, struct vg_recording *recording)
{
	struct vg_dumping *dumping = &recording->dumping;

	if (dumping->late_ns != 0)
		vg_dump_note(&dumping->dump, atomic_load(&session->events.shared->beat_tid),
			     "the heartbeat is late", dumping->stall_ns, dumping->late_ns);
	dumping->late_ns = 0;
}

static void stall_end(struct vg_session *session, struct vg_recording *recording,
		      const char *reason, uint64_t late_ns)
{
	struct vg_dumping *dumping = &recording->dumping;

	if (dumping->who != VG_DUMPING_STALL)
		return;
	vg_dump_stop(&dumping->dump, threads_fetch(session, recording));
	vg_dump_run(&dumping->dump, SIZE_MAX);
	note_late(session, recording);
	vg_dump_note(&dumping->dump, atomic_load(&session->events.shared->beat_tid), reason,
		     dumping->dump.end_ns, late_ns);
	dump_finish(session, recording, reason);
}

/* As soon as it is known, and once a second: the program may be killed for not answering. */
static void stall_flush(struct vg_session *session, struct vg_recording *recording,
			uint64_t now_ns)
{
	struct vg_dumping *dumping = &recording->dumping;

	if (dumping->who != VG_DUMPING_STALL || vg_dump_behind(&dumping->dump) ||
	    now_ns < dumping->flush_ns)
		return;
	note_late(session, recording);
	vg_writer_flush(&dumping->dump.writer);
	dumping->flush_ns = now_ns + FLUSH_NS;
}

static void heart_look(struct vg_session *session, struct vg_recording *recording)
{
	struct vg_dumping *dumping = &recording->dumping;
	uint64_t beat_ns = atomic_load_explicit(&session->events.shared->beat_ns,
						memory_order_relaxed);
	uint64_t now_ns = vg_now_ns(), before_ns = dumping->watchdog.beat_ns;

	/* An earlier session's. */
	if (beat_ns < recording->begin_ns)
		beat_ns = 0;
	switch (vg_watchdog_look(&dumping->watchdog, beat_ns, now_ns)) {
	case VG_WATCH_STALL:
		stall_begin(session, recording);
		break;
	case VG_WATCH_STALLED:
		if (vg_recording_now_ns(recording) > dumping->stall_ns + STALL_MAX_NS)
			stall_end(session, recording, "the heartbeat has stopped for good", now_ns - before_ns);
		break;
	case VG_WATCH_OVER:
		stall_end(session, recording, "the heartbeat is back",
			  (beat_ns > before_ns && beat_ns < now_ns ? beat_ns : now_ns) - before_ns);
		break;
	case VG_WATCH_WELL:
		break;
	}
}

/* The recorder's table of stacks would grow for as long as there are new ones, up to its limit.  One
 * that has half as much again as a window takes begins anew, and what is gone from the window goes.  No
 * sooner: threads that sleep are walked anew then. */
static void table_look(struct vg_recording *recording, uint64_t now_ns)
{
	struct vg_dumping *dumping = &recording->dumping;
	struct vg_recorder *recorder = &recording->recorder;
	uint32_t count = recorder->stacks.count;

	if (dumping->table_seen != recorder->stacks_generation) {
		dumping->table_seen = recorder->stacks_generation;
		dumping->table_ns = now_ns;
		dumping->table_enough = 0;
	} else if (dumping->table_enough == 0) {
		if (now_ns >= dumping->table_ns + dumping->flight.window_ns)
			dumping->table_enough = count + count / 2 + STACKS_SPARE;
	} else if (count > dumping->table_enough) {
		vg_recorder_stacks_restart(recorder);
	}
}

static void turn(struct vg_session *session, struct vg_recording *recording)
{
	struct vg_dumping *dumping = &recording->dumping;

	if (dumping->who != VG_DUMPING_NOBODY) {
		vg_priority_rest(&session->tracer.priority);
		if (!vg_dump_run(&dumping->dump, SLICE) && dumping->who == VG_DUMPING_ASKED)
			dump_finish(session, recording, dumping->reason);
	}
	stall_flush(session, recording, vg_recording_now_ns(recording));
	table_look(recording, vg_recording_now_ns(recording));
	if (dumping->who != VG_DUMPING_ASKED && dumping->watchdog.limit_ns != 0 &&
	    session->events.shared != NULL && recording->ended == NULL)
		heart_look(session, recording);
}

void vg_dumps_turn(struct vg_session *session)
{
	for (uint32_t i = 0; i < VG_RECORDINGS; i++) {
		if (vg_dumping_is_open(&session->recordings[i]))
			turn(session, &session->recordings[i]);
	}
}

bool vg_dumps_busy(const struct vg_session *session)
{
	for (uint32_t i = 0; i < VG_RECORDINGS; i++) {
		const struct vg_dumping *dumping = &session->recordings[i].dumping;

		if (vg_dumping_is_open(&session->recordings[i]) &&
		    (dumping->who == VG_DUMPING_ASKED || vg_dump_behind(&dumping->dump)))
			return true;
	}
	return false;
}
