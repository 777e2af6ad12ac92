/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/vgctl.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/counters.h"
#include "base/outfile.h"
#include "libvgctl/channel.h"
#include "libvgctl/failure.h"
#include "libvgctl/helper.h"
#include "libvgctl/lanes.h"
#include "libvgctl/part.h"
#include "libvgctl/process.h"
#include "libvgctl/roster.h"
#include "libvgctl/session.h"

/* Ending needs a write of what is buffered. */
enum { ANSWER_TIMEOUT_MS = 60 * 1000 };

static int flight_check(const struct vgctl_options *options)
{
	if (options->flight_s > VG_WIRE_FLIGHT_MAX_NS / 1000000000)
		return vg_failure(-EINVAL, "vgctl_options: flight_s is more than a day");
	if (options->flight_s != 0 && (options->flight_memory_bytes < 1u << 20 ||
				       options->flight_memory_bytes > options->max_memory_bytes / 2))
		return vg_failure(-EINVAL, "vgctl_options: flight_memory_bytes is not 1048576 to half of "
				  "max_memory_bytes");
	if (options->watchdog_ms == 0)
		return 0;
	if (options->watchdog_ms < 10 || options->flight_s == 0 || options->watchdog_path == NULL ||
	    *options->watchdog_path == '\0')
		return vg_failure(-EINVAL, "vgctl_options: watchdog_ms is less than 10, or there is no "
				  "flight_s or watchdog_path");
	if (options->watchdog_files < 1 || options->watchdog_files > VG_WIRE_WATCH_FILES)
		return vg_failure(-EINVAL, "vgctl_options: watchdog_files is %u, not 1 to %d",
				  options->watchdog_files, VG_WIRE_WATCH_FILES);
	return 0;
}

static int counters_check(const struct vgctl_options *options)
{
	uint16_t codes[VG_COUNTERS_MAX] = { 0 };
	struct vg_err err;

	if (options->counters == NULL || vg_counters_parse(options->counters, codes, &err) == 0)
		return 0;
	return vg_failure(-EINVAL, "vgctl_options: %s", err.text);
}

int vg_options_check(const struct vgctl_options *given, struct vgctl_options *options)
{
	static const struct vgctl_options initial = VGCTL_OPTIONS_INIT;

	*options = initial;
	/* A program built against a later library has options that this one does not know. */
	if (given != NULL && (given->struct_bytes < offsetof(struct vgctl_options, budget_percent) ||
			      given->struct_bytes > sizeof *options))
		return vg_failure(-EINVAL, "vgctl_options: struct_bytes is %zu, and this library's is %zu",
				  given->struct_bytes, sizeof *options);
	if (given != NULL)
		memcpy(options, given, given->struct_bytes);
	if (options->budget_percent == VGCTL_BUDGET_AUTO)
		options->budget_percent = options->rate_hz == VGCTL_RATE_AUTO ? 1 : 0;
	if (options->rate_hz == VGCTL_RATE_AUTO)
		options->rate_hz = 99;
	if (!(options->budget_percent >= 0 && options->budget_percent <= 100))
		return vg_failure(-EINVAL, "vgctl_options: budget_percent is not 0 to 100");
	if (options->rate_hz > 10000)
		return vg_failure(-EINVAL, "vgctl_options: rate_hz is %u, the most is 10000",
				  options->rate_hz);
	if (options->mode != VGCTL_WALL && options->mode != VGCTL_CPU)
		return vg_failure(-EINVAL, "vgctl_options: mode is neither VGCTL_WALL nor VGCTL_CPU");
	if (options->max_frames < 1 || options->max_frames > 65536)
		return vg_failure(-EINVAL, "vgctl_options: max_frames is %u, not 1 to 65536",
				  options->max_frames);
	if (options->max_file_bytes != 0 && options->max_file_bytes < 65536)
		return vg_failure(-EINVAL, "vgctl_options: max_file_bytes is less than 65536");
	if (options->max_memory_bytes < 32u << 20)
		return vg_failure(-EINVAL, "vgctl_options: max_memory_bytes is less than 33554432");
	if (options->max_threads < 1 || options->max_modules < 1 || options->max_modules > INT32_MAX)
		return vg_failure(-EINVAL, "vgctl_options: max_threads or max_modules is out of range");
	if (options->max_name_bytes < 16 || options->max_name_bytes > 16384)
		return vg_failure(-EINVAL, "vgctl_options: max_name_bytes is %u, not 16 to 16384",
				  options->max_name_bytes);
	if (counters_check(options) != 0)
		return -EINVAL;
	return flight_check(options);
}

/* Forgets the descriptors that the program has closed; whether there were any. */
static bool descriptors_lost(struct vgctl_session *session)
{
	int socket = vg_mark_check(session->socket, session->socket_mark);
	bool lost = socket != session->socket;

	session->socket = socket;
	return !vg_file_marks_check(&session->file, &session->file_marks) || lost;
}

void vg_options_begin(const struct vgctl_options *options, struct vg_wire_begin *begin)
{
	*begin = (struct vg_wire_begin){
		.period_ns = options->rate_hz == 0 ? 0 : UINT64_C(1000000000) / options->rate_hz,
		.max_file_bytes = options->max_file_bytes,
		.max_duration_ns = options->max_duration_s * UINT64_C(1000000000),
		.max_frames = options->max_frames,
		.cpu_mode = options->mode == VGCTL_CPU,
		.perf_map = options->perf_map != 0,
		.thread_names = options->thread_names != 0,
		.stop_always = options->stop_always != 0,
		.max_memory_bytes = options->max_memory_bytes,
		.max_threads = options->max_threads,
		.max_modules = options->max_modules,
		.max_name_bytes = options->max_name_bytes,
		.budget_ppm = (uint32_t)(options->budget_percent * 10000),
		.events_overwrite = options->events_overwrite != 0,
		.flight_ns = options->flight_s * UINT64_C(1000000000),
		.flight_memory_bytes = options->flight_memory_bytes,
	};
	/* They were checked. */
	if (options->counters != NULL)
		vg_counters_parse(options->counters, begin->counters, NULL);
}

int vg_session_ask(struct vgctl_session *session, enum vg_wire_kind question, int fd,
		   enum vg_wire_kind answer_kind, struct vg_wire_message *message)
{
	int cancel_state, rc;

	/* A thread that is cancelled must not leave the mutex locked, or half an answer. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	pthread_mutex_lock(&session->mutex);
	if (descriptors_lost(session))
		session->lost = -EBADF;
	if (session->lost == 0) {
		rc = vg_channel_send(session->socket, message, question, &fd, fd >= 0);
		/* After a failure to send there may still be something to read: a helper says
		 * why before it hangs up. */
		if (rc == 0 || rc == -ECONNRESET)
			rc = vg_channel_receive(session->socket, message, NULL, NULL,
						ANSWER_TIMEOUT_MS);
		if (rc == -ETIMEDOUT)
			vg_helper_kill(session->helper);
		session->lost = rc;
	}
	rc = session->lost;
	pthread_mutex_unlock(&session->mutex);
	pthread_setcancelstate(cancel_state, NULL);
	return rc != 0 ? vg_helper_lost(rc) : vg_answer_check(message, answer_kind);
}

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

static void session_free(struct vgctl_session *session)
{
	if (session->socket >= 0)
		close(session->socket);
	vg_helper_leave(session->helper);
	vg_stalls_close(&session->stalls);
	vg_outfile_abandon(&session->file);
	pthread_mutex_destroy(&session->mutex);
	free(session);
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
		session_free(session);
	}
	vg_roster_release(roster, cancel_state);
	free(program.path);
	return rc;
}

int vg_session_check(struct vgctl_session *session)
{
	if (session == NULL)
		return vg_failure(-EINVAL, "there is no session");
	if (session->owner != vg_process_token())
		return vg_failure(-ECHILD, NULL);
	return 0;
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

/* The child's copies; the parent's session goes on. */
static void session_forget(struct vgctl_session *session)
{
	descriptors_lost(session);
	if (session->socket >= 0)
		close(session->socket);
	vg_outfile_forget(&session->file);
	vg_stalls_forget(&session->stalls);
	free(session);
}

int vgctl_end(struct vgctl_session *session, struct vgctl_summary *summary)
{
	struct vg_wire_summary wire;
	struct vg_roster *roster;
	int cancel_state, rc = vg_session_check(session);

	if (rc == -ECHILD)
		session_forget(session);
	if (rc != 0)
		return rc;
	/* Ours, which is there since the session began. */
	roster = vg_roster_hold(&cancel_state);
	rc = session_end(roster, session, &wire);
	vg_roster_remove(roster, session);
	if (summary != NULL)
		summary_fill(summary, &wire);
	session_free(session);
	vg_roster_release(roster, cancel_state);
	return rc;
}
