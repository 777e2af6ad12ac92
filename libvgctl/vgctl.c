/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/vgctl.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/outfile.h"
#include "libvgctl/channel.h"
#include "libvgctl/failure.h"
#include "libvgctl/helper.h"
#include "libvgctl/lanes.h"
#include "libvgctl/listen.h"
#include "libvgctl/options.h"
#include "libvgctl/outfile_wait.h"
#include "libvgctl/process.h"
#include "libvgctl/session_list.h"
#include "libvgctl/session.h"

/* Makes the watchdog's files and passes them to the helper. */
static int watch(struct vgctl_session *session, const struct vgctl_options *options)
{
	struct vg_wire_message message;
	struct vg_err err;
	int rc = vg_stalls_open(&session->stalls, options->watchdog_path, options->watchdog_files, &err);

	if (rc != 0)
		return vg_failure(rc, "%s", err.text);
	for (unsigned int i = 0; rc == 0 && i < session->stalls.count; i++) {
		memset(&message, 0, sizeof message);
		message.watch.limit_ns = options->watchdog_ms * UINT64_C(1000000);
		rc = vg_session_ask(session, VG_WIRE_WATCH, session->stalls.files[i].file.fd,
				    VG_WIRE_WATCHED, &message);
	}
	return rc;
}

/* True if another session of this process records events. */
static bool others_record_events(const struct vg_session_list *list, const struct vgctl_session *session)
{
	const struct vgctl_session *other = list->sessions;

	while (other != NULL && (other == session || !other->records_events))
		other = other->next;
	return other != NULL;
}

/* Sends the options and the file, and receives the helper's answer. */
static int session_negotiate(struct vg_session_list *list, struct vgctl_session *session,
			     const struct vgctl_options *options)
{
	struct vg_wire_message message = { 0 };
	int fds[VG_CHANNEL_FDS] = { session->file.fd, session->shares_helper ? -1 : vg_lanes_fd() }, rc;
	bool events;

	vg_options_begin(options, &message.begin);
	if (options->thread != 0) {
		message.version = VG_WIRE_THREAD;
		rc = vg_helper_thread_check(session->helper);
		if (rc != 0)
			return rc;
	}
	if (!session->shares_helper)
		session->helper->overwrite = message.begin.events_overwrite != 0;
	rc = vg_channel_send(session->socket, &message, VG_WIRE_BEGIN, fds, fds[1] >= 0 ? 2 : 1);
	if (rc == 0)
		rc = vg_channel_receive(session->socket, &message, NULL, NULL, VG_START_TIMEOUT_MS);
	if (rc == -ETIMEDOUT)
		vg_helper_kill(session->helper);
	if (rc == -ECONNRESET)
		return vg_failure(rc, "the helper vignetted died when the recording began%s",
				  vg_helper_filter_hint(rc));
	rc = rc != 0 ? vg_helper_failure(rc) : vg_answer_check(&message, VG_WIRE_STARTED);
	events = rc == 0 && message.started.events != 0;
	if (rc == 0 && options->watchdog_ms != 0)
		rc = events ? watch(session, options) :
		     vg_failure(-ENOTSUP, "watchdog_ms: the helper cannot read heartbeats, because no memory can be "
				"shared with it");
	session->records_events = rc == 0 && (fds[1] >= 0 || session->shares_helper) && events;
	/* While another session records events, do not call vg_lanes_start(): it would forget the open intervals. */
	if (session->records_events && !(session->shares_helper && others_record_events(list, session)))
		vg_lanes_start(session->helper->overwrite);
	return rc;
}

/* Connects to the helper that listens or to the helper of another session.  If there is none, starts a helper. */
static int helper_connect(struct vg_session_list *list, struct vgctl_session *session,
			  const struct vg_helper_program *program)
{
	struct vgctl_session *other;
	int rc = vg_listening_connect(&session->socket, &session->helper);

	if (rc == -ENOENT) {
		rc = vg_session_list_connect(list, &session->socket, &other);
		if (rc == 0) {
			session->helper = other->helper;
			session->helper->references++;
		}
	}
	session->shares_helper = rc == 0;
	return rc != -ENOENT ? rc :
	       vg_helper_open(program, &session->socket, &session->helper);
}

static int session_open(struct vg_session_list *list, struct vgctl_session *session, const char *path,
			const struct vgctl_options *options, const struct vg_helper_program *program)
{
	const struct vgctl_session *other;
	int rc;

	for (other = list->sessions; other != NULL; other = other->next) {
		if (options->watchdog_ms != 0 && other->stalls.count != 0)
			return vg_failure(-EALREADY, "watchdog_ms: another session of this process has a watchdog");
	}
	rc = vg_outfile_open_wait(&session->file, path);
	if (rc != 0)
		return rc;
	rc = helper_connect(list, session, program);
	if (rc != 0)
		return rc;
	session->socket_id = vg_file_id_of(session->socket);
	session->file_ids = vg_outfile_ids_of(&session->file);
	return session_negotiate(list, session, options);
}

int vgctl_begin(const char *path, const struct vgctl_options *given,
		struct vgctl_session **session_out)
{
	struct vgctl_options options;
	struct vg_helper_program program;
	struct vgctl_session *session;
	struct vg_session_list *list;
	int cancel_state, rc;

	if (path == NULL || *path == '\0' || session_out == NULL)
		return vg_failure(-EINVAL, "vgctl_begin: path is NULL or empty, or session is NULL");
	rc = vg_options_check(given, &options);
	if (rc != 0)
		return rc;
	program = vg_helper_find(options.helper_path);
	session = calloc(1, sizeof *session);
	list = session != NULL ? vg_session_list_lock(&cancel_state) : NULL;
	if (list == NULL) {
		free(session);
		free(program.path);
		return vg_failure(-ENOMEM, NULL);
	}
	session->owner = vg_process_token();
	session->socket = -1;
	session->file = (struct vg_outfile)VG_OUTFILE_CLOSED;
	pthread_mutex_init(&session->mutex, NULL);
	rc = session_open(list, session, path, &options, &program);
	if (rc == 0) {
		vg_session_list_add(list, session);
		*session_out = session;
	} else {
		vg_session_free(session);
	}
	vg_session_list_unlock(list, cancel_state);
	free(program.path);
	return rc;
}

int vgctl_sample(struct vgctl_session *session)
{
	struct vg_wire_message message = { 0 };
	int rc = vg_session_check(session);

	return rc != 0 ? rc : vg_session_ask(session, VG_WIRE_SAMPLE, -1, VG_WIRE_SAMPLED, &message);
}

int vgctl_sample_thread(struct vgctl_session *session, int tid)
{
	struct vg_wire_message message = { .version = VG_WIRE_THREAD };
	int rc = vg_session_check(session);

	if (rc == 0 && tid < 0)
		rc = vg_failure(-EINVAL, "vgctl_sample_thread: tid is %d, not 0 or the id of a thread", tid);
	if (rc == 0)
		rc = vg_helper_thread_check(session->helper);
	if (rc != 0)
		return rc;
	message.sample.thread = tid != 0 ? (uint32_t)tid : (uint32_t)syscall(SYS_gettid);
	return vg_session_ask(session, VG_WIRE_SAMPLE, -1, VG_WIRE_SAMPLED, &message);
}

static void summary_fill(struct vgctl_summary *summary, const struct vg_wire_summary *wire)
{
	size_t bytes = summary->struct_bytes;
	struct vgctl_summary full = {
		.struct_bytes = bytes, .samples = wire->samples, .lost = wire->lost,
		.duration_ns = wire->duration_ns, .file_bytes = wire->file_bytes,
		.threads = wire->threads, .limited = wire->limited,
		.events = wire->events, .events_dropped = wire->events_dropped,
	};

	memcpy(summary, &full, bytes < sizeof full ? bytes : sizeof full);
}

static int session_end(struct vg_session_list *list, struct vgctl_session *session,
		       struct vg_wire_summary *summary)
{
	struct vg_wire_message answer = { 0 };
	bool last = !others_record_events(list, session);
	struct vg_err err;
	int rc, committed;

	if (last)
		vg_lanes_stop();
	rc = vg_session_ask(session, VG_WIRE_END, -1, VG_WIRE_ENDED, &answer);
	/* A helper that has exited or was killed has no remote recordings any more.  After another failure, for
	 * instance if the program has closed the session's descriptors, the helper may still listen. */
	if (session->channel_error == -ECONNRESET || session->channel_error == -ETIMEDOUT)
		vg_lanes_unlisten();
	/* A helper that did not answer was killed, but it may run for another moment.  So its ring is not reused. */
	if (last)
		vg_lanes_release(session->channel_error == 0 || session->channel_error == -ECONNRESET);
	/* Rename the file even after a failure: it contains the data from before the failure. */
	committed = vg_outfile_commit(&session->file, &err);
	if (rc == 0 && committed != 0)
		rc = vg_failure(committed, "%s", err.text);
	*summary = rc == 0 ? answer.summary : (struct vg_wire_summary){ 0 };
	return rc;
}

int vgctl_end(struct vgctl_session *session, struct vgctl_summary *summary)
{
	struct vg_wire_summary wire;
	struct vg_session_list *list;
	int cancel_state, rc = vg_session_check(session);

	if (rc == -ECHILD)
		vg_session_forget(session);
	if (rc != 0)
		return rc;
	/* Not NULL, because the list has existed since the session began. */
	list = vg_session_list_lock(&cancel_state);
	rc = session_end(list, session, &wire);
	vg_session_list_remove(list, session);
	if (summary != NULL)
		summary_fill(summary, &wire);
	vg_session_free(session);
	vg_session_list_unlock(list, cancel_state);
	return rc;
}
