/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/reply.h"

#include <errno.h>
#include <stdio.h>

#include "libvgctl/channel.h"
#include "vignetted/session/dumps.h"

int vg_reply_failed(int socket, int code, const char *text)
{
	struct vg_wire_message message = { .failure = { .code = code } };

	snprintf(message.failure.text, sizeof message.failure.text, "%.*s",
		 (int)sizeof message.failure.text - 1, text);
	return vg_channel_send(socket, &message, VG_WIRE_FAILED, NULL, 0);
}

/* Why a recording, which has ended, takes no sample. */
static int ended_error(const struct vg_session *session, const struct vg_recording *recording, struct vg_err *err)
{
	pid_t only = recording->options.thread;

	if (recording->failure != 0)
		return vg_err_sys(err, recording->failure, "the profile could not be written");
	return vg_err_set(err, only != 0 && !vg_task_is_alive(&session->tasks, only) ? -ESRCH : -EFBIG, "%s",
			  recording->ended);
}

/* Why the live recording has taken no sample of the thread. */
static int thread_error(const struct vg_session *session, const struct vg_recording *recording, uint32_t thread, int rc,
			struct vg_err *err)
{
	switch (rc) {
	case -EINVAL:
		return vg_err_set(err, rc, "the session samples only thread %d", recording->options.thread);
	case -ENOSPC:
		return vg_err_set(err, rc, "thread %u is not sampled: the process has more than max_threads threads",
				  thread);
	default:
		return vg_err_set(err, rc, "process %d has no thread %u", session->target.pid, thread);
	}
}

void vg_reply_sampled(struct vg_session *session, struct vg_recording *recording, uint32_t thread, int socket)
{
	struct vg_wire_message message = { 0 };
	struct vg_err err;
	int rc = thread > INT32_MAX ? -ESRCH : 0;

	if (thread == 0)
		vg_session_sample(session, recording);
	else if (rc == 0)
		rc = vg_session_sample_thread(session, recording, (pid_t)thread);
	if (recording->ended != NULL)
		rc = ended_error(session, recording, &err);
	else if (rc != 0)
		rc = thread_error(session, recording, thread, rc, &err);
	if (rc == 0)
		vg_channel_send(socket, &message, VG_WIRE_SAMPLED, NULL, 0);
	else
		vg_reply_failed(socket, rc, err.text);
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
		message.summary.samples = recording->flight_recorder.samples;
		message.summary.events = recording->flight_recorder.events;
		message.summary.threads = recording->flight_recorder.threads;
		message.summary.file_bytes = recording->flight_recorder.file_bytes;
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
