/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/remote.h"

#include <errno.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "vignetted/session/dumps.h"
#include "vignetted/session/recording.h"

/* How long the helper waits at its exit until vgctl has renamed files.  vgctl renames a file at once unless vgctl is
 * stopped. */
enum { NAME_TIMEOUT_MS = 1000 };

_Static_assert((int)VG_WIRE_RECORDINGS == (int)VG_RECORDINGS_MAX, "a STATE message has room for all recordings");

/* ---- for all connections ---- */

int vg_options_from_wire(struct vg_session_options *options, const struct vg_wire_begin *begin)
{
	*options = (struct vg_session_options){
		.period_ns = begin->period_ns,
		.max_file_bytes = begin->max_file_bytes,
		.max_duration_ns = begin->max_duration_ns,
		.max_frames = begin->max_frames,
		.max_memory_bytes = begin->max_memory_bytes,
		.max_threads = begin->max_threads,
		.cpu_mode = begin->cpu_mode != 0,
		.budget_ppm = begin->budget_ppm,
		.perf_map = begin->perf_map != 0,
		.thread_names = begin->thread_names != 0,
		.stop_always = begin->stop_always != 0,
		.events_overwrite = begin->events_overwrite != 0,
		.events_fd = -1,
		.counters = { begin->counters[0], begin->counters[1], begin->counters[2],
			      begin->counters[3] },
		.thread = (pid_t)begin->thread,
		.flight_ns = begin->flight_ns,
		.flight_memory_bytes = begin->flight_memory_bytes != 0 ?
				       begin->flight_memory_bytes : VG_FLIGHT_MEMORY_DEFAULT_BYTES,
	};
	/* A flight recorder is bounded by its window and its memory. */
	if (begin->flight_ns != 0)
		options->max_file_bytes = options->max_duration_ns = 0;
	if (begin->max_frames < 1 || begin->max_frames > 65536 || begin->cpu_mode > 1 ||
	    begin->perf_map > 1 || begin->thread_names > 1 || begin->stop_always > 1 ||
	    begin->events_overwrite > 1 || begin->budget_ppm > 1000000 ||
	    (begin->max_memory_bytes != 0 && begin->max_memory_bytes < VG_MEMORY_MIN_BYTES) ||
	    begin->thread > INT32_MAX ||
	    options->flight_memory_bytes < VG_FLIGHT_MEMORY_MIN_BYTES ||
	    begin->flight_ns > VG_WIRE_FLIGHT_MAX_NS || vg_counters_check(begin->counters) != 0 ||
	    (begin->period_ns != 0 &&
	     (begin->period_ns < VG_WIRE_PERIOD_LEAST_NS || begin->period_ns > VG_WIRE_PERIOD_MAX_NS)))
		return -EINVAL;
	return 0;
}

int vg_request_receive(int socket, struct vg_wire_message *message, int fds[VG_CHANNEL_FDS], int timeout_ms)
{
	int rc = vg_channel_receive(socket, message, fds, NULL, timeout_ms);

	if (rc == -EPROTONOSUPPORT)
		vg_reply_failed(socket, -EPROTO, message->version > VG_WIRE_NEWEST ?
				"the helper vignetted is too old for this request; use a vignetted of the version of "
				"libvgctl and vgctl" :
				"libvgctl or vgctl is too old for this helper vignetted; use those of the helper's "
				"version");
	return rc;
}

int vg_reply_failed(int socket, int code, const char *text)
{
	struct vg_wire_message message = { .failure = { .code = code } };

	snprintf(message.failure.text, sizeof message.failure.text, "%.*s",
		 (int)sizeof message.failure.text - 1, text);
	return vg_channel_send(socket, &message, VG_WIRE_FAILED, NULL, 0);
}

void vg_reply_ended(struct vg_session *session, struct vg_recording *recording, int socket, const char *reason)
{
	const struct vg_recorder *recorder = &recording->recorder;
	struct vg_wire_message message = { .summary = { .limited = recording->ended != NULL } };
	struct vg_err err;
	int rc = vg_session_end(session, recording, reason);

	message.summary.samples = recorder->samples;
	message.summary.threads = recorder->threads;
	message.summary.lost = vg_recorder_lost(recorder);
	message.summary.duration_ns = recording->ended_ns;
	message.summary.events = session->events.profiles[recording->index].recorded;
	message.summary.events_dropped = recorder->losses.events;
	message.summary.file_bytes = recorder->writer.file_bytes;
	if (recording->options.flight_ns != 0) {
		message.summary.samples = recording->flight.final.samples;
		message.summary.events = recording->flight.final.events;
		message.summary.threads = recording->flight.final.threads;
		message.summary.file_bytes = recording->flight.final.file_bytes;
	}
	if (rc != 0) {
		vg_err_sys(&err, rc, "the profile could not be written completely");
		vg_reply_failed(socket, rc, err.text);
	} else {
		vg_channel_send(socket, &message, VG_WIRE_ENDED, NULL, 0);
	}
}

void vg_reply_dumped(int socket, const struct vg_dump *dump, int rc)
{
	struct vg_wire_message message = { 0 };
	struct vg_err err;

	if (rc == 0 && dump != NULL) {
		message.summary.samples = dump->samples;
		message.summary.events = dump->events;
		message.summary.threads = dump->threads;
		message.summary.file_bytes = dump->writer.file_bytes;
		message.summary.duration_ns = dump->end_ns - dump->window_begin_ns;
		vg_channel_send(socket, &message, VG_WIRE_DUMPED, NULL, 0);
		return;
	}
	if (rc == -ENOTSUP)
		vg_err_set(&err, rc, "the session has no flight recorder: it was begun without flight_s");
	else if (rc == -EBUSY)
		vg_err_set(&err, rc, "another dump of that flight recorder is in progress");
	else
		vg_err_sys(&err, rc, "the dump could not be written");
	vg_reply_failed(socket, rc, err.text);
}

/* ---- the ends of recordings ---- */

#define NOT_RENAMED \
	"the profile is complete, but the vgctl that began the session has not renamed it: its name still ends in .part"

/* Call it when the recording's file was renamed (code 0), or if nobody will rename it (`why` is the reason).  Answers
 * the connection that requested the end, and frees the recording's place. */
static void recording_finish(struct vg_remote *remote, struct vg_remote_recording *entry, int code,
			     const char *why)
{
	if (entry->end_peer >= 0 && code == 0)
		vg_reply_ended(remote->session, entry->recording, entry->end_peer, NULL);
	else if (entry->end_peer >= 0)
		vg_reply_failed(entry->end_peer, code, why);
	/* Unlock, because the process that began the recording may have copies of the descriptor, which keep the
	 * file locked. */
	flock(entry->file, LOCK_UN);
	close(entry->file);
	vg_recording_close(remote->session, entry->recording);
	remote->open &= ~(1u << entry->recording->index);
}

void vg_remote_complete_send(struct vg_remote *remote)
{
	VG_EACH_RECORDING(i, remote->open) {
		struct vg_remote_recording *entry = &remote->recordings[i];
		struct vg_wire_message message = { 0 };

		if (!entry->recording->complete || entry->complete_sent)
			continue;
		/* An error means that the connection is closed.  The control loop notices this at its next turn. */
		vg_channel_send(entry->owner, &message, VG_WIRE_COMPLETE, NULL, 0);
		entry->complete_sent = true;
	}
}

/* Call it when the process at the other end says that it renamed its file, or could not rename it.  Returns false if no
 * recording of this connection waits for that message. */
static bool on_named(struct vg_remote *remote, int socket, struct vg_wire_failure *named)
{
	bool found = false;

	named->text[sizeof named->text - 1] = '\0';
	VG_EACH_RECORDING(i, remote->open) {
		struct vg_remote_recording *entry = &remote->recordings[i];

		if (entry->owner != socket || !entry->complete_sent)
			continue;
		recording_finish(remote, entry, named->code < 0 ? named->code : 0, named->text);
		found = true;
	}
	return found;
}

void vg_remote_disconnected(struct vg_remote *remote, int socket)
{
	VG_EACH_RECORDING(i, remote->open) {
		struct vg_remote_recording *entry = &remote->recordings[i];

		if (entry->end_peer == socket)
			entry->end_peer = -1;
		if (entry->owner != socket)
			continue;
		vg_session_end(remote->session, entry->recording, "the vgctl that began it was killed");
		recording_finish(remote, entry, -ESRCH, NOT_RENAMED);
	}
}

bool vg_remote_is_waiting(const struct vg_remote *remote, int socket)
{
	VG_EACH_RECORDING(i, remote->open) {
		if (remote->recordings[i].owner == socket || remote->recordings[i].end_peer == socket)
			return true;
	}
	return vg_dumps_peer_waits(remote->session, socket);
}

void vg_remote_events_update(struct vg_remote *remote)
{
	const struct vg_session *session = remote->session;
	uint32_t recording = (session->live & remote->open) != 0;

	if (session->events.shared != NULL && atomic_load(&session->events.shared->remote) != recording)
		atomic_store(&session->events.shared->remote, recording);
}

void vg_remote_end_all(struct vg_remote *remote, const char *reason)
{
	VG_EACH_RECORDING(i, remote->open)
		vg_session_end(remote->session, remote->recordings[i].recording, reason);
	vg_remote_complete_send(remote);
}

void vg_remote_finish(struct vg_remote *remote)
{
	uint64_t until_ns = vg_now_ns() + (uint64_t)NAME_TIMEOUT_MS * 1000000;

	vg_remote_complete_send(remote);
	for (int i = 0; i < VG_RECORDINGS_MAX; i++) {
		struct vg_remote_recording *entry = &remote->recordings[i];
		uint64_t now_ns = vg_now_ns();
		struct vg_wire_message message;

		/* on_named() may have finished this one, too: it has the same owner. */
		if ((remote->open & 1u << i) == 0 || entry->end_peer < 0)
			continue;
		if (vg_channel_receive(entry->owner, &message, NULL, NULL,
				       now_ns < until_ns ? (int)((until_ns - now_ns) / 1000000) : 0) == 0 &&
		    message.kind == VG_WIRE_RENAMED)
			on_named(remote, entry->owner, &message.failure);
		else
			recording_finish(remote, entry, -ETIMEDOUT, NOT_RENAMED);
	}
}

/* ---- requests ---- */

static void state_send(const struct vg_remote *remote, int socket)
{
	const struct vg_session *session = remote->session;
	struct vg_wire_message message = { .state = {
		.pid = session->target.pid, .threads = (uint32_t)session->tasks.live.count,
	} };

	snprintf(message.state.program, sizeof message.state.program, "%.47s",
		 session->target.program);
	VG_EACH_RECORDING(i, session->open) {
		const struct vg_recording *recording = &session->recordings[i];

		if (recording->complete)
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
			.remote = (remote->open & 1u << i) != 0,
		};
	}
	vg_channel_send(socket, &message, VG_WIRE_STATE, NULL, 0);
}

/* Only regular files are accepted, because writing to other files could block. */
static bool is_file(int fd)
{
	struct stat status;

	return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/* Returns whether it has taken ownership of fd. */
static bool recording_begin(struct vg_remote *remote, int socket, const struct vg_wire_begin *begin, int fd)
{
	struct vg_wire_message message = { 0 };
	struct vg_session_options options;
	struct vg_recording *recording;
	struct vg_err err;
	int rc = vg_options_from_wire(&options, begin);

	if (rc != 0 || !is_file(fd)) {
		vg_reply_failed(socket, -EINVAL, "an option is out of range, or the file is not a regular file");
		return false;
	}
	/* The profile has the events of this moment on. */
	if (remote->session->events.shared != NULL)
		atomic_store(&remote->session->events.shared->remote, 1);
	rc = vg_session_begin(remote->session, &options, fd, &recording, &err);
	if (rc != 0) {
		vg_remote_events_update(remote);
		vg_reply_failed(socket, rc, err.text);
		return false;
	}
	remote->open |= 1u << recording->index;
	remote->recordings[recording->index] = (struct vg_remote_recording){
		.recording = recording, .file = fd, .owner = socket, .end_peer = -1,
	};
	vg_remote_events_update(remote);
	message.recording.id = recording->number;
	vg_channel_send(socket, &message, VG_WIRE_OPENED, NULL, 0);
	return true;
}

/* Returns the remote recording with that number.  Number 0 means the only remote recording.  NULL, with the reason in
 * *why, if there is none or 0 is ambiguous. */
static struct vg_remote_recording *recording_find(struct vg_remote *remote, uint32_t id, const char **why)
{
	struct vg_remote_recording *found = NULL;

	*why = id == 0 ? "the process has no remote session" : "no remote session has that number";
	VG_EACH_RECORDING(i, remote->open) {
		struct vg_remote_recording *entry = &remote->recordings[i];

		if (entry->complete_sent || (id != 0 && entry->recording->number != id))
			continue;
		if (found != NULL) {
			*why = "there are several remote sessions: give the number of one";
			return NULL;
		}
		found = entry;
	}
	return found;
}

/* The answer is sent when the file has been renamed. */
static void recording_end(struct vg_remote *remote, int socket, uint32_t id)
{
	const char *why;
	struct vg_remote_recording *entry = recording_find(remote, id, &why);

	if (entry == NULL) {
		vg_reply_failed(socket, -ENOENT, why);
		return;
	}
	entry->end_peer = socket;
	vg_session_end(remote->session, entry->recording, "ended by another process");
	vg_remote_complete_send(remote);
}

/* Returns the flight recorder with that number, remote or not.  Number 0 means the only flight recorder.  NULL, with
 * the reason in *why, if there is none or 0 is ambiguous. */
static struct vg_recording *flight_find(struct vg_session *session, uint32_t id, const char **why)
{
	struct vg_recording *found = NULL;

	*why = id == 0 ? "the process has no flight recorder" : "no session has that number";
	VG_EACH_RECORDING(i, session->open) {
		struct vg_recording *recording = &session->recordings[i];

		if (recording->complete || (id != 0 && recording->number != id))
			continue;
		if (recording->options.flight_ns == 0) {
			if (id != 0)
				*why = "the session with that number is no flight recorder";
		} else if (found != NULL) {
			*why = "there are several flight recorders: give the number of one";
			return NULL;
		} else {
			found = recording;
		}
	}
	return found;
}

/* Returns whether it has taken ownership of fd.  The answer is sent when the dump is written. */
static bool recording_dump(struct vg_remote *remote, int socket, uint32_t id, int fd)
{
	const char *why;
	struct vg_recording *recording = flight_find(remote->session, id, &why);
	int rc;

	if (recording == NULL || !is_file(fd)) {
		vg_reply_failed(socket, recording == NULL ? -ENOENT : -EINVAL,
				recording == NULL ? why : "the file is not a regular file");
		return false;
	}
	rc = vg_dumps_request(remote->session, recording, fd, "requested by another process",
			      vg_reply_dumped, socket);
	if (rc != 0)
		vg_reply_dumped(socket, NULL, rc);
	return rc == 0;
}

static void mark(struct vg_remote *remote, int socket, char *label)
{
	struct vg_wire_message message = { 0 };

	label[VG_WIRE_TEXT_BYTES - 1] = '\0';
	message.recording.id = vg_recordings_mark(remote->session, label);
	if (message.recording.id == 0 && remote->session->live != 0) {
		vg_reply_failed(socket, -ENOSPC,
				"no session has room for the mark: its file is full, or has too many labels");
		return;
	}
	vg_channel_send(socket, &message, VG_WIRE_MARKED, NULL, 0);
}

bool vg_remote_answer(struct vg_remote *remote, int socket, struct vg_wire_message *message, int fds[VG_CHANNEL_FDS])
{
	switch ((enum vg_wire_kind)message->kind) {
	case VG_WIRE_STATUS:
		state_send(remote, socket);
		return true;
	case VG_WIRE_OPEN:
		if (recording_begin(remote, socket, &message->begin, fds[0]))
			fds[0] = -1;
		return true;
	case VG_WIRE_CLOSE:
		recording_end(remote, socket, message->recording.id);
		return true;
	case VG_WIRE_RENAMED:
		return on_named(remote, socket, &message->failure);
	case VG_WIRE_MARK:
		mark(remote, socket, message->text);
		return true;
	case VG_WIRE_DUMP:
		if (recording_dump(remote, socket, message->recording.id, fds[0]))
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
