/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/control.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vignetted/serve/confine.h"
#include "vignetted/serve/listener.h"
#include "vignetted/serve/loop.h"
#include "vignetted/serve/remote.h"
#include "vignetted/session/dumps.h"
#include "vignetted/session/recording.h"
#include "vignetted/session/threads.h"

/* A host that sends no first request for this long hangs or has exited. */
enum { BEGIN_TIMEOUT_MS = 20 * 1000 };

/* End reason of a recording whose host has closed the connection. */
#define CLOSED "the program closed its end of the session"

/* Connections at a time.  Places are reserved for the host, so that peers cannot take the last one. */
enum { HOSTS_MAX = 8, PEERS_MAX = 12, CLIENTS_MAX = HOSTS_MAX + PEERS_MAX };

enum client_kind {
	CLIENT_NONE,                 /* the place is free */
	CLIENT_HOST,                 /* a connection of the host, for one session */
	CLIENT_HOST_LISTEN,          /* a connection of the host; while it is open, the helper listens for peers */
	CLIENT_PEER,                 /* another process, on the socket on which the helper listens */
};

struct client {
	enum client_kind kind;
	int socket;                  /* owned, except the one that we were started with */
	int file;                    /* owned; -1: none */
	struct vg_recording *recording; /* the one that the host began on this connection; NULL: not begun, or freed */
	uint64_t message_number;     /* of its latest message */
};

struct control {
	struct vg_session *session;
	int first;                   /* the socket with which we were started */
	struct client clients[CLIENTS_MAX];
	struct vg_listener listener;
	struct vg_remote remote;
	uint64_t message_number;     /* connections and messages so far */
	struct vg_loop_sockets sockets; /* the clients' by index, then the listener's */
	int failure;                 /* negative errno of the latest recording whose end the host did not request; 0: it
					did not fail, or there is none */
};

/* Returns NULL if no place of that kind is free. */
static struct client *client_add(struct control *control, enum client_kind kind, int socket)
{
	size_t first = kind == CLIENT_PEER ? HOSTS_MAX : 0;
	size_t end = kind == CLIENT_PEER ? CLIENTS_MAX : HOSTS_MAX;

	for (size_t i = first; i < end; i++) {
		struct client *client = &control->clients[i];

		if (client->kind != CLIENT_NONE)
			continue;
		*client = (struct client){
			.kind = kind, .socket = socket, .file = -1, .message_number = ++control->message_number,
		};
		control->sockets.polled[i].fd = socket;
		return client;
	}
	return NULL;
}

static void recording_forget(struct control *control, struct client *client)
{
	if (client->recording != NULL)
		vg_recording_close(control->session, client->recording);
	client->recording = NULL;
	if (client->file >= 0) {
		/* Unlock, because a child of the host may have a copy of the descriptor, which keeps the file
		 * locked. */
		flock(client->file, LOCK_UN);
		close(client->file);
	}
	client->file = -1;
}

/* Completes the client's recording, if it is not complete, and closes the connection. */
static void client_close(struct control *control, struct client *client)
{
	if (client->recording != NULL && !client->recording->complete)
		control->failure = vg_session_end(control->session, client->recording,
						  vg_threads_end_reason(control->session, CLOSED));
	recording_forget(control, client);
	vg_dumps_peer_left(control->session, client->socket);
	if (client->kind == CLIENT_PEER)
		vg_remote_disconnected(&control->remote, client->socket);
	if (client->kind == CLIENT_HOST_LISTEN) {
		/* No process will be able to connect to end a remote recording. */
		if (control->remote.open != 0)
			vg_remote_end_all(&control->remote,
					  vg_threads_end_reason(control->session, "the program stopped listening"));
		vg_remote_events_update(&control->remote);
		vg_listener_close(&control->listener);
	}
	if (client->socket != control->first)
		close(client->socket);
	control->sockets.polled[client - control->clients].fd = -1;
	client->kind = CLIENT_NONE;
}

/* ---- requests of the host ---- */

static void started_send(const struct control *control, int socket)
{
	struct vg_wire_message message = { 0 };

	message.started.events = control->session->events.shared != NULL;
	vg_channel_send(socket, &message, VG_WIRE_STARTED, NULL, 0);
}

/* Begins a further session of a host.  Takes the file, fds[0].  An event ring in fds[1] is not used: the helper has
 * one. */
static bool on_begin(struct control *control, struct client *client,
		     const struct vg_wire_begin *begin, int fds[VG_CHANNEL_FDS])
{
	struct vg_session_options options;
	struct vg_err err = { "" };
	int rc = vg_options_from_wire(&options, begin);

	if (client->recording != NULL || fds[0] < 0)
		return false;
	client->file = fds[0];
	fds[0] = -1;
	if (rc == 0)
		rc = vg_session_begin(control->session, &options, client->file, &client->recording, &err);
	if (rc != 0) {
		vg_reply_failed(client->socket, rc, err.text[0] != '\0' ? err.text :
				"the session could not begin");
		return false;
	}
	started_send(control, client->socket);
	return true;
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

/* Takes one sample of the thread with this id, or of every thread if it is 0. */
static bool on_sample(struct control *control, struct client *client, uint32_t thread)
{
	struct vg_recording *recording = client->recording;
	struct vg_wire_message message = { 0 };
	struct vg_err err;
	int rc;

	if (recording == NULL)
		return false;
	rc = thread > INT32_MAX ? -ESRCH : vg_session_sample(control->session, recording, (pid_t)thread);
	if (recording->ended != NULL)
		rc = ended_error(control->session, recording, &err);
	else if (rc != 0)
		rc = thread_error(control->session, recording, thread, rc, &err);
	if (rc == 0)
		vg_channel_send(client->socket, &message, VG_WIRE_SAMPLED, NULL, 0);
	else
		vg_reply_failed(client->socket, rc, err.text);
	return true;
}

/* Takes a further socket of the host, fds[0]. */
static void on_join(struct control *control, struct client *client, int fds[VG_CHANNEL_FDS])
{
	struct vg_wire_message message = { 0 };

	if (fds[0] < 0 || client_add(control, CLIENT_HOST, fds[0]) == NULL) {
		vg_reply_failed(client->socket, -EUSERS, "the helper has too many connections");
		return;
	}
	fds[0] = -1;
	vg_channel_send(client->socket, &message, VG_WIRE_JOINED, NULL, 0);
}

/* Begins a dump into fds[0]. */
static bool on_dump(struct control *control, struct client *client, int fds[VG_CHANNEL_FDS])
{
	int rc;

	if (client->recording == NULL || fds[0] < 0)
		return false;
	rc = vg_dumps_request(control->session, client->recording, fds[0], "requested by the program",
			      vg_reply_dumped, client->socket);
	if (rc == 0)
		fds[0] = -1;
	else
		vg_reply_dumped(client->socket, NULL, rc);
	return true;
}

/* Adds fds[0] to the watchdog's files. */
static bool on_watch(struct control *control, struct client *client, uint64_t limit_ns,
		     int fds[VG_CHANNEL_FDS])
{
	struct vg_wire_message message = { 0 };
	struct vg_recording *recording = client->recording;

	if (recording == NULL || fds[0] < 0)
		return false;
	if (control->session->events.shared == NULL || recording->options.flight_ns == 0 ||
	    !vg_watchdog_add(&recording->flight.watchdog, limit_ns, fds[0])) {
		vg_reply_failed(client->socket, -EINVAL,
				"a watchdog needs a session with events, a flight recorder and a limit");
		return true;
	}
	fds[0] = -1;
	vg_channel_send(client->socket, &message, VG_WIRE_WATCHED, NULL, 0);
	return true;
}

/* Returns whether the connection stays open. */
static bool host_answer(struct control *control, struct client *client,
			const struct vg_wire_message *message, int fds[VG_CHANNEL_FDS])
{
	switch ((enum vg_wire_kind)message->kind) {
	case VG_WIRE_BEGIN:
		return on_begin(control, client, &message->begin, fds);
	case VG_WIRE_SAMPLE:
		return on_sample(control, client, message->sample.thread);
	case VG_WIRE_END:
		if (client->recording != NULL)
			vg_reply_ended(control->session, client->recording, client->socket,
				       "ended by the program");
		return false;
	case VG_WIRE_JOIN:
		on_join(control, client, fds);
		return true;
	case VG_WIRE_DUMP:
		return on_dump(control, client, fds);
	case VG_WIRE_WATCH:
		return on_watch(control, client, message->watch.limit_ns, fds);
	case VG_WIRE_DUMPED: case VG_WIRE_WATCHED:
	case VG_WIRE_HELLO: case VG_WIRE_STARTED: case VG_WIRE_SAMPLED: case VG_WIRE_ENDED:
	case VG_WIRE_FAILED: case VG_WIRE_JOINED: case VG_WIRE_LISTEN: case VG_WIRE_STATUS:
	case VG_WIRE_STATE: case VG_WIRE_OPEN: case VG_WIRE_OPENED: case VG_WIRE_CLOSE:
	case VG_WIRE_MARK: case VG_WIRE_MARKED: case VG_WIRE_COMPLETE: case VG_WIRE_RENAMED:
		break;
	}
	return false;
}

/* ---- the loop's turn ---- */

/* Returns the peer whose place a new connection may take: of the peers that wait for nothing, the one whose latest
 * message is the oldest.  NULL: all wait for something. */
static struct client *idle_find(struct control *control)
{
	struct client *idle = NULL;

	for (size_t i = HOSTS_MAX; i < CLIENTS_MAX; i++) {
		struct client *client = &control->clients[i];

		if (!vg_remote_is_waiting(&control->remote, client->socket) &&
		    (idle == NULL || client->message_number < idle->message_number))
			idle = client;
	}
	return idle;
}

static void peer_accept(struct control *control)
{
	int fd = vg_listener_accept(&control->listener);
	struct client *idle;

	if (fd < 0 || client_add(control, CLIENT_PEER, fd) != NULL)
		return;
	idle = idle_find(control);
	if (idle != NULL)
		client_close(control, idle);
	if (idle == NULL || client_add(control, CLIENT_PEER, fd) == NULL)
		close(fd);
}

/* Receives a message and answers it.  Returns whether the connection stays open. */
static bool client_serve(struct control *control, struct client *client)
{
	struct vg_wire_message message;
	int fds[VG_CHANNEL_FDS];
	bool stays;

	client->message_number = ++control->message_number;
	if (vg_request_receive(client->socket, &message, fds, 0) != 0)
		return false;            /* closed, or an invalid message */
	stays = client->kind == CLIENT_PEER ? vg_remote_answer(&control->remote, client->socket, &message, fds) :
					      host_answer(control, client, &message, fds);
	for (int i = 0; i < VG_CHANNEL_FDS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	return stays;
}

/* Returns whether a connection of the host is left; without one the helper ends. */
static bool on_turn(void *context)
{
	struct control *control = context;
	bool host_left = false;

	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = &control->clients[i];

		if (control->sockets.polled[i].revents != 0 && client->kind != CLIENT_NONE &&
		    !client_serve(control, client))
			client_close(control, client);
		host_left = host_left || client->kind == CLIENT_HOST || client->kind == CLIENT_HOST_LISTEN;
	}
	if (control->listener.socket >= 0 && control->sockets.polled[CLIENTS_MAX].revents != 0)
		peer_accept(control);
	control->sockets.polled[CLIENTS_MAX].fd = control->listener.socket;
	vg_remote_events_update(&control->remote);
	vg_remote_complete_send(&control->remote);
	return host_left;
}

static void all_end(struct control *control, int ended_by)
{
	/* If the program has ended its sessions, the reason is not used, and vg_threads_end_reason() would take
	 * time. */
	vg_session_end_all(control->session, ended_by != 0 ? "interrupted by a signal" :
			   control->session->live == 0 ? CLOSED : vg_threads_end_reason(control->session, CLOSED));
	vg_remote_events_update(&control->remote);
	vg_remote_finish(&control->remote);
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = &control->clients[i];

		if (client->kind == CLIENT_NONE)
			continue;
		if (ended_by != 0 && client->recording != NULL)
			vg_reply_failed(client->socket, -ECANCELED, "a signal ended the helper vignetted: "
					  "the profile ends there");
		if (client->recording != NULL)
			control->failure = client->recording->failure;
		client_close(control, client);
	}
	vg_listener_close(&control->listener);
}

/* ---- beginning ---- */

/* Returns the host's pid: the process that created the socket pair. */
static pid_t host_pid(int socket)
{
	struct ucred host;
	socklen_t length = sizeof host;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &host, &length) != 0)
		return -errno;
	return host.pid > 0 ? host.pid : -ESRCH;
}

/* Sends HELLO and receives the host's first request: BEGIN with a file and perhaps the event ring, or LISTEN with
 * perhaps the event ring. */
static int first_receive(int socket, struct vg_wire_message *message, struct vg_session_options *options,
			 int fds[VG_CHANNEL_FDS])
{
	int rc = vg_channel_send(socket, message, VG_WIRE_HELLO, NULL, 0);
	struct vg_wire_begin begin = { 0 };
	bool listens;

	fds[0] = fds[1] = -1;
	if (rc == 0)
		rc = vg_request_receive(socket, message, fds, BEGIN_TIMEOUT_MS);
	if (rc != 0)
		return rc;
	listens = message->kind == VG_WIRE_LISTEN;
	if (!listens && (message->kind != VG_WIRE_BEGIN || fds[0] < 0))
		return -EPROTO;
	if (listens && memchr(message->listen.directory, '\0', VG_WIRE_NAME_BYTES) == NULL)
		return -EPROTO;
	if (listens)
		memcpy(&begin, message->listen.begin, sizeof message->listen.begin);
	rc = vg_options_from_wire(options, listens ? &begin : &message->begin);
	options->events_fd = listens ? fds[0] : fds[1];
	return rc;
}

/* Listens before the helper is confined, and reads the host's memory, files and event ring afterwards. */
static int control_open(struct control *control, int socket, const struct vg_wire_message *first,
			const struct vg_session_options *options, int file, struct vg_err *err)
{
	bool listens = first->kind == VG_WIRE_LISTEN;
	struct client *client = client_add(control, listens ? CLIENT_HOST_LISTEN : CLIENT_HOST, socket);
	pid_t pid = host_pid(socket);
	int rc = pid > 0 ? vg_session_open(control->session, options, pid, false, err) :
			   vg_err_sys(err, pid, "getsockopt(SO_PEERCRED)");

	client->file = file;
	if (rc == 0 && listens)
		rc = vg_listener_open(&control->listener, first->listen.directory, pid, err);
	if (rc != 0)
		return rc;
	/* Leave the working directory, so that its file system can be unmounted. */
	if (chdir("/") != 0)
		return vg_err_sys(err, -errno, "/: cannot change to this directory");
	control->sockets.polled[CLIENTS_MAX].fd = control->listener.socket;
	control->session->unconfined = vg_confine(listens, control->session->max_memory_bytes, NULL) != 0;
	rc = vg_session_start(control->session, options, err);
	return rc != 0 || listens ? rc : vg_session_begin(control->session, options, file, &client->recording, err);
}

int vg_control_serve(int socket, int signals)
{
	static struct vg_session session;
	static struct control control;
	struct vg_wire_message first = { .hello = { .oldest = VG_WIRE_OLDEST, .newest = VG_WIRE_NEWEST } };
	struct vg_session_options options;
	struct vg_err err = { "" };
	int fds[VG_CHANNEL_FDS], rc;

	control = (struct control){ .session = &session, .first = socket, .listener = VG_LISTENER_CLOSED };
	control.remote.session = &session;
	control.sockets.count = CLIENTS_MAX + 1;
	control.sockets.on_turn = on_turn;
	control.sockets.context = &control;
	for (size_t i = 0; i < VG_LOOP_SOCKETS; i++)
		control.sockets.polled[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	rc = first_receive(socket, &first, &options, fds);
	if (rc == 0)
		rc = control_open(&control, socket, &first, &options,
				  first.kind == VG_WIRE_BEGIN ? fds[0] : -1, &err);
	/* The event ring is mapped by now, and the file belongs to the first client. */
	for (int i = 0; i < VG_CHANNEL_FDS; i++) {
		if (fds[i] >= 0 && fds[i] != control.clients[0].file)
			close(fds[i]);
	}
	if (control.clients[0].kind == CLIENT_NONE)
		return EXIT_FAILURE;
	if (rc != 0) {
		if (err.text[0] == '\0')
			vg_err_sys(&err, rc, "the session could not begin");
		vg_reply_failed(socket, rc, err.text);
		recording_forget(&control, control.clients);
		vg_listener_close(&control.listener);
	} else {
		started_send(&control, socket);
		all_end(&control, vg_loop_run(&session, signals, &control.sockets));
		rc = control.failure;
	}
	vg_session_close(&session);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
