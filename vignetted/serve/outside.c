/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/outside.h"

#include <errno.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "libvgctl/channel.h"
#include "vignetted/session/dumps.h"
#include "vignetted/session/recordings.h"

/* vgctl renames a file at once; one that is stopped must not hold up the helper's end for long. */
enum { NAME_TIMEOUT_MS = 1000 };

_Static_assert((int)VG_WIRE_RECORDINGS == (int)VG_RECORDINGS, "a state has room for all");

int vg_outside_refuse(int socket, int code, const char *text)
{
	struct vg_wire_message message = { .failure = { .code = code } };

	snprintf(message.failure.text, sizeof message.failure.text, "%.*s",
		 (int)sizeof message.failure.text - 1, text);
	return vg_channel_send(socket, &message, VG_WIRE_FAILED, NULL, 0);
}

int vg_outside_options(struct vg_session_options *options, const struct vg_wire_begin *begin)
{
	*options = (struct vg_session_options){
		.period_ns = begin->period_ns,
		.max_file_bytes = begin->max_file_bytes,
		.max_duration_ns = begin->max_duration_ns,
		.max_frames = begin->max_frames,
		.max_memory_bytes = begin->max_memory_bytes,
		.max_threads = begin->max_threads,
		.max_modules = begin->max_modules,
		.max_name_bytes = begin->max_name_bytes,
		.cpu_mode = begin->cpu_mode != 0,
		.budget_ppm = begin->budget_ppm,
		.perf_map = begin->perf_map != 0,
		.thread_names = begin->thread_names != 0,
		.stop_always = begin->stop_always != 0,
		.events_overwrite = begin->events_overwrite != 0,
		.events_fd = -1,
		.counters = { begin->counters[0], begin->counters[1], begin->counters[2],
			      begin->counters[3] },
		.flight_ns = begin->flight_ns,
		.flight_memory_bytes = begin->flight_memory_bytes != 0 ?
				       begin->flight_memory_bytes : VG_FLIGHT_MEMORY_DEFAULT_BYTES,
	};
	/* Its own bounds are the window and its memory. */
	if (begin->flight_ns != 0)
		options->max_file_bytes = options->max_duration_ns = 0;
	if (begin->max_frames < 1 || begin->max_frames > 65536 || begin->cpu_mode > 1 ||
	    begin->perf_map > 1 || begin->thread_names > 1 || begin->stop_always > 1 ||
	    begin->events_overwrite > 1 || begin->budget_ppm > 1000000 ||
	    (begin->max_memory_bytes != 0 && begin->max_memory_bytes < VG_MEMORY_LEAST_BYTES) ||
	    (begin->max_name_bytes != 0 && begin->max_name_bytes < VG_NAME_LEAST_BYTES) ||
	    begin->max_name_bytes > VG_NAME_MAX_BYTES || begin->max_modules > VG_NONE - 1 ||
	    options->flight_memory_bytes < VG_FLIGHT_MEMORY_LEAST_BYTES ||
	    begin->flight_ns > VG_WIRE_FLIGHT_MAX_NS || vg_counters_check(begin->counters) != 0 ||
	    (begin->period_ns != 0 &&
	     (begin->period_ns < VG_WIRE_PERIOD_LEAST_NS || begin->period_ns > VG_WIRE_PERIOD_MAX_NS)))
		return -EINVAL;
	return 0;
}

void vg_outside_end(struct vg_session *session, struct vg_recording *recording, int socket,
		    const char *reason)
{
	const struct vg_recorder *recorder = &recording->recorder;
	struct vg_wire_message message = { .summary = { .limited = recording->ended != NULL } };
	struct vg_err err;
	int rc = vg_session_end(session, recording, reason);

	message.summary.samples = recorder->samples;
	message.summary.threads = recorder->threads;
	message.summary.lost = vg_recorder_lost(recorder);
	message.summary.duration_ns = recording->ended_ns;
	message.summary.events = session->events.outs[recording->index].recorded;
	message.summary.events_dropped = recorder->events_dropped;
	message.summary.file_bytes = recorder->writer.file_bytes;
	if (recording->options.flight_ns != 0) {
		message.summary.samples = recording->dumping.samples;
		message.summary.events = recording->dumping.events;
		message.summary.threads = recording->dumping.threads;
		message.summary.file_bytes = recording->dumping.file_bytes;
	}
	if (rc != 0) {
		vg_err_sys(&err, rc, "the profile could not be written whole");
		vg_outside_refuse(socket, rc, err.text);
	} else {
		vg_channel_send(socket, &message, VG_WIRE_ENDED, NULL, 0);
	}
}

void vg_outside_dumped(int socket, const struct vg_dump *dump, int rc)
{
	struct vg_wire_message message = { 0 };
	struct vg_err err;

	if (rc == 0 && dump != NULL) {
		message.summary.samples = dump->samples;
		message.summary.events = dump->events;
		message.summary.threads = dump->threads;
		message.summary.file_bytes = dump->writer.file_bytes;
		message.summary.duration_ns = dump->end_ns - dump->from_ns;
		vg_channel_send(socket, &message, VG_WIRE_DUMPED, NULL, 0);
		return;
	}
	if (rc == -ENOTSUP)
		vg_err_set(&err, rc, "the session has no flight recorder: it was begun without flight_s");
	else if (rc == -EBUSY)
		vg_err_set(&err, rc, "another dump of that flight recorder is in progress");
	else
		vg_err_sys(&err, rc, "the dump could not be written");
	vg_outside_refuse(socket, rc, err.text);
}

/* ---- the ends of recordings ---- */

#define UNNAMED "the profile is whole, but the vgctl that began it has not renamed its file: look for its name with .part"

/* The file has its name, or has not: `code` and `why`.  Answers the connection that asked for the end, and frees the place. */
static void recording_finish(struct vg_outside *outside, struct vg_outside_recording *own, int code,
			     const char *why)
{
	if (own->asker >= 0 && code == 0)
		vg_outside_end(outside->session, own->recording, own->asker, NULL);
	else if (own->asker >= 0)
		vg_outside_refuse(own->asker, code, why);
	/* The process that began it may have copies of the file, which would keep it locked. */
	flock(own->file, LOCK_UN);
	close(own->file);
	vg_session_release(outside->session, own->recording);
	own->recording = NULL;
}

void vg_outside_settle(struct vg_outside *outside)
{
	for (int i = 0; i < VG_RECORDINGS; i++) {
		struct vg_outside_recording *own = &outside->recordings[i];
		struct vg_wire_message message = { 0 };

		if (own->recording == NULL || !own->recording->complete || own->complete_sent)
			continue;
		/* Where it is gone, so is the connection, which is noticed next. */
		vg_channel_send(own->owner, &message, VG_WIRE_COMPLETE, NULL, 0);
		own->complete_sent = true;
	}
}

/* False: the connection began no recording that is complete. */
static bool on_named(struct vg_outside *outside, int socket, struct vg_wire_failure *named)
{
	bool found = false;

	named->text[sizeof named->text - 1] = '\0';
	for (int i = 0; i < VG_RECORDINGS; i++) {
		struct vg_outside_recording *own = &outside->recordings[i];

		if (own->recording == NULL || own->owner != socket || !own->complete_sent)
			continue;
		recording_finish(outside, own, named->code < 0 ? named->code : 0, named->text);
		found = true;
	}
	return found;
}

void vg_outside_hung_up(struct vg_outside *outside, int socket)
{
	for (int i = 0; i < VG_RECORDINGS; i++) {
		struct vg_outside_recording *own = &outside->recordings[i];

		if (own->recording == NULL)
			continue;
		if (own->asker == socket)
			own->asker = -1;
		if (own->owner != socket)
			continue;
		vg_session_end(outside->session, own->recording, "the vgctl that began it was killed");
		recording_finish(outside, own, -ESRCH, UNNAMED);
	}
}

bool vg_outside_needs(const struct vg_outside *outside, int socket)
{
	bool needed = false;

	for (int i = 0; i < VG_RECORDINGS; i++) {
		const struct vg_outside_recording *own = &outside->recordings[i];

		needed = needed || (own->recording != NULL && (own->owner == socket || own->asker == socket));
	}
	return needed || vg_dumps_awaited(outside->session, socket);
}

bool vg_outside_any(const struct vg_outside *outside)
{
	bool any = false;

	for (int i = 0; i < VG_RECORDINGS; i++)
		any = any || outside->recordings[i].recording != NULL;
	return any;
}

void vg_outside_end_all(struct vg_outside *outside, const char *reason)
{
	for (int i = 0; i < VG_RECORDINGS; i++) {
		if (outside->recordings[i].recording != NULL)
			vg_session_end(outside->session, outside->recordings[i].recording, reason);
	}
	vg_outside_settle(outside);
}

void vg_outside_finish(struct vg_outside *outside)
{
	uint64_t until_ns = vg_now_ns() + (uint64_t)NAME_TIMEOUT_MS * 1000000;

	vg_outside_settle(outside);
	for (int i = 0; i < VG_RECORDINGS; i++) {
		struct vg_outside_recording *own = &outside->recordings[i];
		uint64_t now_ns = vg_now_ns();
		struct vg_wire_message message;

		if (own->recording == NULL || own->asker < 0)
			continue;
		if (vg_channel_receive(own->owner, &message, NULL, NULL,
				       now_ns < until_ns ? (int)((until_ns - now_ns) / 1000000) : 0) == 0 &&
		    message.kind == VG_WIRE_NAMED)
			on_named(outside, own->owner, &message.failure);
		else
			recording_finish(outside, own, -ETIMEDOUT, UNNAMED);
	}
}

/* ---- questions ---- */

static void state_send(const struct vg_outside *outside, int socket)
{
	const struct vg_session *session = outside->session;
	struct vg_wire_message message = { .state = {
		.pid = session->target.pid, .threads = (uint32_t)session->tasks.live.count,
	} };

	snprintf(message.state.program, sizeof message.state.program, "%.47s",
		 session->target.program);
	for (int i = 0; i < VG_RECORDINGS; i++) {
		const struct vg_recording *recording = &session->recordings[i];

		if (!recording->open || recording->complete)
			continue;
		message.state.recordings[i] = (struct vg_wire_recording){
			.id = recording->number,
			.period_us = (uint32_t)(recording->options.period_ns / 1000),
			.samples = recording->recorder.samples,
			.lost = vg_recorder_lost(&recording->recorder),
			.duration_ns = vg_now_ns() - recording->begin_ns,
			.file_bytes = recording->recorder.writer.file_bytes,
			.cpu_mode = recording->options.cpu_mode,
			.flight_s = (uint32_t)(recording->options.flight_ns / 1000000000),
			.outside = outside->recordings[i].recording != NULL,
		};
	}
	vg_channel_send(socket, &message, VG_WIRE_STATE, NULL, 0);
}

/* What cannot make us wait. */
static bool is_file(int fd)
{
	struct stat status;

	return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/* Whether the descriptor is ours now. */
static bool recording_begin(struct vg_outside *outside, int socket, const struct vg_wire_begin *begin, int fd)
{
	struct vg_wire_message message = { 0 };
	struct vg_session_options options;
	struct vg_recording *recording;
	struct vg_err err;
	int rc = vg_outside_options(&options, begin);

	if (rc != 0 || !is_file(fd)) {
		vg_outside_refuse(socket, -EINVAL, "an option is out of range, or the file is none");
		return false;
	}
	rc = vg_session_begin(outside->session, &options, fd, &recording, &err);
	if (rc != 0) {
		vg_outside_refuse(socket, rc, err.text);
		return false;
	}
	outside->recordings[recording->index] = (struct vg_outside_recording){
		.recording = recording, .file = fd, .owner = socket, .asker = -1,
	};
	message.which.id = recording->number;
	vg_channel_send(socket, &message, VG_WIRE_OPENED, NULL, 0);
	return true;
}

/* The one with that number that is from outside; for 0 the only one.  NULL and why not. */
static struct vg_outside_recording *recording_find(struct vg_outside *outside, uint32_t id, const char **why)
{
	struct vg_outside_recording *found = NULL;

	*why = id == 0 ? "the process has no session from outside" :
	       "no session from outside has that number";
	for (int i = 0; i < VG_RECORDINGS; i++) {
		struct vg_outside_recording *own = &outside->recordings[i];

		if (own->recording == NULL || own->complete_sent || (id != 0 && own->recording->number != id))
			continue;
		if (found != NULL) {
			*why = "there are several sessions from outside: say which";
			return NULL;
		}
		found = own;
	}
	return found;
}

/* The answer comes when the file has its name. */
static void recording_end(struct vg_outside *outside, int socket, uint32_t id)
{
	const char *why;
	struct vg_outside_recording *own = recording_find(outside, id, &why);

	if (own == NULL) {
		vg_outside_refuse(socket, -ENOENT, why);
		return;
	}
	own->asker = socket;
	vg_session_end(outside->session, own->recording, "it was ended from outside");
	vg_outside_settle(outside);
}

/* The flight recorder with that number, whoever began it; for 0 the only one.  NULL and why not. */
static struct vg_recording *flight_find(struct vg_session *session, uint32_t id, const char **why)
{
	struct vg_recording *found = NULL;

	*why = id == 0 ? "the process has no flight recorder" : "no session has that number";
	for (int i = 0; i < VG_RECORDINGS; i++) {
		struct vg_recording *recording = &session->recordings[i];

		if (!recording->open || recording->complete || (id != 0 && recording->number != id))
			continue;
		if (recording->options.flight_ns == 0) {
			if (id != 0)
				*why = "the session with that number is no flight recorder";
		} else if (found != NULL) {
			*why = "there are several flight recorders: say which";
			return NULL;
		} else {
			found = recording;
		}
	}
	return found;
}

/* Whether the descriptor is ours now.  The answer comes when the dump is written. */
static bool recording_dump(struct vg_outside *outside, int socket, uint32_t id, int fd)
{
	const char *why;
	struct vg_recording *recording = flight_find(outside->session, id, &why);
	int rc;

	if (recording == NULL || !is_file(fd)) {
		vg_outside_refuse(socket, recording == NULL ? -ENOENT : -EINVAL,
				  recording == NULL ? why : "the file is none");
		return false;
	}
	rc = vg_dumps_ask(outside->session, recording, fd, "it was asked for from outside",
			    vg_outside_dumped, socket);
	if (rc != 0)
		vg_outside_dumped(socket, NULL, rc);
	return rc == 0;
}

static void mark(struct vg_outside *outside, int socket, char *label)
{
	struct vg_wire_message message = { 0 };

	label[VG_WIRE_TEXT_BYTES - 1] = '\0';
	message.which.id = vg_recordings_mark(outside->session, label);
	if (message.which.id == 0 && outside->session->live != 0) {
		vg_outside_refuse(socket, -ENOSPC, "no session has room for another mark of that kind");
		return;
	}
	vg_channel_send(socket, &message, VG_WIRE_MARKED, NULL, 0);
}

static bool question_answer(struct vg_outside *outside, int socket, struct vg_wire_message *message,
			    int fds[VG_CHANNEL_FDS])
{
	switch ((enum vg_wire_kind)message->kind) {
	case VG_WIRE_STATUS:
		state_send(outside, socket);
		return true;
	case VG_WIRE_OPEN:
		if (recording_begin(outside, socket, &message->begin, fds[0]))
			fds[0] = -1;
		return true;
	case VG_WIRE_CLOSE:
		recording_end(outside, socket, message->which.id);
		return true;
	case VG_WIRE_NAMED:
		return on_named(outside, socket, &message->failure);
	case VG_WIRE_MARK:
		mark(outside, socket, message->text);
		return true;
	case VG_WIRE_DUMP:
		if (recording_dump(outside, socket, message->which.id, fds[0]))
			fds[0] = -1;
		return true;
	case VG_WIRE_DUMPED: case VG_WIRE_WATCH: case VG_WIRE_WATCHED:
	case VG_WIRE_HELLO: case VG_WIRE_BEGIN: case VG_WIRE_STARTED: case VG_WIRE_SAMPLE:
	case VG_WIRE_SAMPLED: case VG_WIRE_END: case VG_WIRE_ENDED: case VG_WIRE_FAILED:
	case VG_WIRE_JOIN: case VG_WIRE_JOINED: case VG_WIRE_LISTEN: case VG_WIRE_STATE:
	case VG_WIRE_OPENED: case VG_WIRE_MARKED: case VG_WIRE_COMPLETE:
		break;
	}
	return false;
}

bool vg_outside_serve(struct vg_outside *outside, int socket)
{
	struct vg_wire_message message;
	int fds[VG_CHANNEL_FDS];
	bool good;

	if (vg_channel_receive(socket, &message, fds, NULL, 0) != 0)
		return false;
	good = question_answer(outside, socket, &message, fds);
	for (int i = 0; i < VG_CHANNEL_FDS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	return good;
}
