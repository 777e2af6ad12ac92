/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libvgctl/channel.h"
#include "vignetted/confine.h"
#include "vignetted/loop.h"
#include "vignetted/priority.h"

/* A host that has started us and says nothing is stuck or gone. */
enum { BEGIN_TIMEOUT_MS = 20 * 1000, DEATH_TIMEOUT_MS = 100 };

struct control {
	int socket;
	struct vg_session *session;
	struct vg_recording *recording;
	bool finished;               /* the host asked for the end and has its answer */
};

static int failure_send(int socket, int code, const char *text)
{
	struct vg_wire_message message = { .failure = { .code = code } };

	snprintf(message.failure.text, sizeof message.failure.text, "%.*s",
		 (int)sizeof message.failure.text - 1, text);
	return vg_channel_send(socket, &message, VG_WIRE_FAILED, NULL, 0);
}

static void ended_send(struct control *control)
{
	struct vg_recording *recording = control->recording;
	const struct vg_recorder *recorder = &recording->recorder;
	struct vg_wire_message message = { .summary = {
		.samples = recorder->samples, .threads = recorder->threads,
		.limited = recording->ended != NULL,
	} };
	struct vg_err err;
	int rc = vg_session_end(control->session, recording, "the program ended it");

	message.summary.lost = vg_recorder_lost(recorder);
	message.summary.duration_ns = recording->ended_ns;
	message.summary.events = control->session->events.outs[recording->index].recorded;
	message.summary.events_dropped = recorder->events_dropped;
	message.summary.file_bytes = recorder->writer.file_bytes;
	if (rc != 0) {
		vg_err_sys(&err, rc, "the profile could not be written whole");
		failure_send(control->socket, rc, err.text);
	} else {
		vg_channel_send(control->socket, &message, VG_WIRE_ENDED, NULL, 0);
	}
	control->finished = true;
}

static void sampled_send(struct control *control)
{
	struct vg_wire_message message = { 0 };
	struct vg_recording *recording = control->recording;
	struct vg_err err;

	vg_session_sample(control->session, recording);
	if (recording->ended == NULL) {
		vg_channel_send(control->socket, &message, VG_WIRE_SAMPLED, NULL, 0);
		return;
	}
	if (recording->failure != 0)
		vg_err_sys(&err, recording->failure, "the profile could not be written");
	else
		vg_err_set(&err, -EFBIG, "%s", recording->ended);
	failure_send(control->socket, recording->failure != 0 ? recording->failure : -EFBIG, err.text);
}

/* Whether the session goes on. */
static bool on_message(void *context)
{
	struct control *control = context;
	struct vg_wire_message message;

	if (vg_channel_receive(control->socket, &message, NULL, NULL, 0) != 0)
		return false;            /* gone, or not speaking our language */
	switch ((enum vg_wire_kind)message.kind) {
	case VG_WIRE_SAMPLE:
		sampled_send(control);
		return true;
	case VG_WIRE_END:
		ended_send(control);
		return false;
	case VG_WIRE_HELLO: case VG_WIRE_BEGIN: case VG_WIRE_STARTED: case VG_WIRE_SAMPLED:
	case VG_WIRE_ENDED: case VG_WIRE_FAILED:
		break;
	}
	return false;
}

/* Whom the host's end of the socket belongs to: the process that made the pair. */
static pid_t host_pid(int socket)
{
	struct ucred host;
	socklen_t length = sizeof host;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &host, &length) != 0)
		return -errno;
	return host.pid > 0 ? host.pid : -ESRCH;
}

static int options_take(struct vg_session_options *options, const struct vg_wire_begin *begin)
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
	};
	if (begin->max_frames < 1 || begin->max_frames > 65536 || begin->cpu_mode > 1 ||
	    begin->perf_map > 1 || begin->thread_names > 1 || begin->stop_always > 1 ||
	    begin->events_overwrite > 1 || begin->budget_ppm > 1000000 ||
	    (begin->max_memory_bytes != 0 && begin->max_memory_bytes < VG_MEMORY_LEAST_BYTES) ||
	    (begin->max_name_bytes != 0 && begin->max_name_bytes < VG_NAME_LEAST_BYTES) ||
	    begin->max_name_bytes > VG_NAME_MAX_BYTES || begin->max_modules > VG_NONE - 1 ||
	    (begin->period_ns != 0 && begin->period_ns < 100000))
		return -EINVAL;
	return 0;
}

/* Greets, and receives what is wanted, the file to write to and perhaps the ring of events. */
static int begin_receive(int socket, struct vg_session_options *options, int fds[VG_CHANNEL_FDS])
{
	struct vg_wire_message message = { 0 };
	int rc = vg_channel_send(socket, &message, VG_WIRE_HELLO, NULL, 0);

	fds[0] = fds[1] = -1;
	if (rc == 0)
		rc = vg_channel_receive(socket, &message, fds, NULL, BEGIN_TIMEOUT_MS);
	if (rc == 0 && (message.kind != VG_WIRE_BEGIN || fds[0] < 0))
		rc = -EPROTO;
	if (rc == 0)
		rc = options_take(options, &message.begin);
	options->events_fd = fds[1];
	return rc;
}

/* The host has hung up.  When a process ends its descriptors are closed a moment before. */
static int hung_up(struct control *control, int fd)
{
	struct pollfd ended = { .fd = control->session->target.pidfd, .events = POLLIN };
	int rc = vg_session_end(control->session, control->recording, poll(&ended, 1, DEATH_TIMEOUT_MS) == 1 ? "the process ended" :
				"the program closed its end of the session");

	/* A child of the host may have a copy of the descriptor, and would keep the file locked. */
	flock(fd, LOCK_UN);
	return rc;
}

int vg_control_serve(int socket, int signals)
{
	static struct vg_session session;
	struct control control = { .socket = socket, .session = &session };
	struct vg_wire_message message = { 0 };
	struct vg_session_options options;
	struct vg_err err = { "" };
	int fds[VG_CHANNEL_FDS], rc;

	vg_priority_raise();
	rc = begin_receive(socket, &options, fds);
	if (rc != 0)
		return EXIT_FAILURE;
	rc = host_pid(socket);
	if (rc > 0)
		rc = vg_session_open(&session, &options, rc, false, &err);
	if (rc == 0)
		rc = vg_session_begin(&session, &options, fds[0], &control.recording, &err);
	if (fds[1] >= 0)
		close(fds[1]);           /* mapped, if it is of any use */
	if (rc == 0)
		rc = vg_confine(VG_CONFINE_SERVE, session.max_memory_bytes, &err);
	if (rc != 0) {
		if (err.text[0] == '\0')
			vg_err_sys(&err, rc, "the session could not begin");
		failure_send(socket, rc, err.text);
	} else {
		session.confined = true;
		message.started.events = session.events.shared != NULL;
		vg_channel_send(socket, &message, VG_WIRE_STARTED, NULL, 0);
		if (vg_loop_run(&session, signals, socket, on_message, &control) != 0) {
			rc = vg_session_end(&session, control.recording, "interrupted by a signal");
			failure_send(socket, -ECANCELED, "the helper vignetted was ended by a "
				     "signal; the profile ends there");
		} else if (!control.finished) {
			rc = hung_up(&control, fds[0]);
		}
	}
	vg_session_close(&session);
	close(fds[0]);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
