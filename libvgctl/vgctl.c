/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/vgctl.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/outfile.h"
#include "libvgctl/channel.h"
#include "libvgctl/failure.h"
#include "libvgctl/helper.h"
#include "libvgctl/lanes.h"
#include "libvgctl/listen.h"
#include "libvgctl/options.h"
#include "libvgctl/part.h"
#include "libvgctl/process.h"
#include "libvgctl/roster.h"
#include "libvgctl/session.h"

/* Gives the watchdog its files. */
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

/* Whether events go to another of the process's sessions. */
static bool others_tell(const struct vg_roster *roster, const struct vgctl_session *session)
{
	const struct vgctl_session *other = roster->sessions;

	while (other != NULL && (other == session || !other->tells))
		other = other->next;
	return other != NULL;
}

/* What is wanted. */
static int session_negotiate(struct vg_roster *roster, struct vgctl_session *session,
			     const struct vgctl_options *options)
{
	struct vg_wire_message message = { 0 };
	int fds[VG_CHANNEL_FDS] = { session->file.fd, session->joined ? -1 : vg_lanes_fd() }, rc;
	bool events;

	vg_options_begin(options, &message.begin);
	if (!session->joined)
		session->helper->overwrite = message.begin.events_overwrite != 0;
	rc = vg_channel_send(session->socket, &message, VG_WIRE_BEGIN, fds, fds[1] >= 0 ? 2 : 1);
	if (rc == 0)
		rc = vg_channel_receive(session->socket, &message, NULL, NULL, VG_START_TIMEOUT_MS);
	if (rc == -ETIMEDOUT)
		vg_helper_kill(session->helper);
	if (rc == -ECONNRESET)
		return vg_failure(rc, "the helper vignetted died as it began");
	rc = rc != 0 ? vg_helper_lost(rc) : vg_answer_check(&message, VG_WIRE_STARTED);
	events = rc == 0 && message.started.events != 0;
	if (rc == 0 && options->watchdog_ms != 0)
		rc = events ? watch(session, options) :
		     vg_failure(-ENOTSUP, "the helper cannot see heartbeats: no memory can be shared with it");
	session->tells = rc == 0 && (fds[1] >= 0 || session->joined) && events;
	/* Where they do already, intervals that are open stay so. */
	if (session->tells && !(session->joined && others_tell(roster, session)))
		vg_lanes_start(session->helper->overwrite);
	return rc;
}

/* A connection to the helper that is there already, or to one that is started for it. */
static int helper_connect(struct vg_roster *roster, struct vgctl_session *session,
			  const struct vg_helper_program *program)
{
	struct vgctl_session *beside;
	int rc = vg_listening_join(&session->socket, &session->helper);

	if (rc == -ENOENT) {
		rc = vg_roster_join(roster, &session->socket, &beside);
		if (rc == 0) {
			session->helper = beside->helper;
			session->helper->shares++;
		}
	}
	session->joined = rc == 0;
	return rc != -ENOENT ? rc :
	       vg_helper_open(program, &session->socket, &session->helper);
}

static int session_open(struct vg_roster *roster, struct vgctl_session *session, const char *path,
			const struct vgctl_options *options, const struct vg_helper_program *program)
{
	const struct vgctl_session *other;
	int rc;

	for (other = roster->sessions; other != NULL; other = other->next) {
		if (options->watchdog_ms != 0 && other->stalls.count != 0)
			return vg_failure(-EALREADY, "another session of this process has a watchdog");
	}
	rc = vg_part_open(&session->file, path);
	if (rc != 0)
		return rc;
	rc = helper_connect(roster, session, program);
	if (rc != 0)
		return rc;
	session->socket_mark = vg_mark_of(session->socket);
	session->file_marks = vg_file_marks_of(&session->file);
	return session_negotiate(roster, session, options);
}

int vgctl_begin(const char *path, const struct vgctl_options *given,
		struct vgctl_session **session_out)
{
	struct vgctl_options options;
	struct vg_helper_program program;
	struct vgctl_session *session;
	struct vg_roster *roster;
	int cancel_state, rc;

	if (path == NULL || *path == '\0' || session_out == NULL)
		return vg_failure(-EINVAL, "vgctl_begin: a path and a place for the session are needed");
	rc = vg_options_check(given, &options);
	if (rc != 0)
		return rc;
	program = vg_helper_find(options.helper_path);
	session = calloc(1, sizeof *session);
	roster = session != NULL ? vg_roster_hold(&cancel_state) : NULL;
	if (roster == NULL) {
		free(session);
		free(program.path);
		return vg_failure(-ENOMEM, NULL);
	}
	session->owner = vg_process_token();
	session->socket = -1;
	session->file = (struct vg_outfile)VG_OUTFILE_CLOSED;
	pthread_mutex_init(&session->mutex, NULL);
	rc = session_open(roster, session, path, &options, &program);
	if (rc == 0) {
		vg_roster_add(roster, session);
		*session_out = session;
	} else {
		vg_session_free(session);
	}
	vg_roster_release(roster, cancel_state);
	free(program.path);
	return rc;
}

int vgctl_sample(struct vgctl_session *session)
{
	struct vg_wire_message message = { 0 };
	int rc = vg_session_check(session);

	return rc != 0 ? rc : vg_session_ask(session, VG_WIRE_SAMPLE, -1, VG_WIRE_SAMPLED, &message);
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

static int session_end(struct vg_roster *roster, struct vgctl_session *session,
		       struct vg_wire_summary *summary)
{
	struct vg_wire_message answer = { 0 };
	bool last = !others_tell(roster, session);
	struct vg_err err;
	int rc, committed;

	if (last)
		vg_lanes_stop();
	rc = vg_session_ask(session, VG_WIRE_END, -1, VG_WIRE_ENDED, &answer);
	/* A helper that does not answer is killed, and may have a moment yet. */
	if (last)
		vg_lanes_rest(session->lost == 0 || session->lost == -ECONNRESET);
	/* Whatever happened, what is written is the user's: it appears under its name. */
	committed = vg_outfile_commit(&session->file, &err);
	if (rc == 0 && committed != 0)
		rc = vg_failure(committed, "%s", err.text);
	*summary = rc == 0 ? answer.summary : (struct vg_wire_summary){ 0 };
	return rc;
}

int vgctl_end(struct vgctl_session *session, struct vgctl_summary *summary)
{
	struct vg_wire_summary wire;
	struct vg_roster *roster;
	int cancel_state, rc = vg_session_check(session);

	if (rc == -ECHILD)
		vg_session_forget(session);
	if (rc != 0)
		return rc;
	/* Ours, which is there since the session began. */
	roster = vg_roster_hold(&cancel_state);
	rc = session_end(roster, session, &wire);
	vg_roster_remove(roster, session);
	if (summary != NULL)
		summary_fill(summary, &wire);
	vg_session_free(session);
	vg_roster_release(roster, cancel_state);
	return rc;
}
