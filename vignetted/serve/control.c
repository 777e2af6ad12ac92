/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/control.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libvgctl/channel.h"
#include "vignetted/serve/confine.h"
#include "vignetted/serve/ending.h"
#include "vignetted/serve/listener.h"
#include "vignetted/serve/loop.h"
#include "vignetted/serve/outside.h"
#include "vignetted/session/dumps.h"

/* A host that has started us and says nothing is stuck or gone. */
enum { BEGIN_TIMEOUT_MS = 20 * 1000 };

#define CLOSED "the program closed its end of the session"

/* Connections at a time.  The host's have places of their own, so that others cannot take the last one. */
enum { HOSTS_MAX = 8, OTHERS_MAX = 12, CLIENTS_MAX = HOSTS_MAX + OTHERS_MAX };

enum client_kind {
	CLIENT_NONE,                 /* its place is free */
	CLIENT_HOST,                 /* the host's: a session of its own, or room for one */
	CLIENT_KEEPER,               /* the host's, that keeps us listening */
	CLIENT_OTHER,                /* somebody's who found our socket */
};

struct client {
	enum client_kind kind;
	int socket;                  /* owned, but for that which we were started with */
	int file;                    /* owned; -1 */
	struct vg_recording *recording; /* of a host; NULL: not begun, or ended */
	uint64_t heard;              /* control.heard at the latest message */
};

struct control {
	struct vg_session *session;
	int first;                   /* the socket that we were started with */
	struct client clients[CLIENTS_MAX];
	struct vg_listener listener;
	struct vg_outside outside;
	uint64_t heard;              /* connections and messages, in all */
	struct vg_loop_sockets sockets; /* the clients' by index, then the listener's */
	int failure;                 /* of the latest recording that the host did not ask the end of */
};

/* NULL: there are as many as can be. */
static struct client *client_add(struct control *control, enum client_kind kind, int socket)
{
	size_t first = kind == CLIENT_OTHER ? HOSTS_MAX : 0;
	size_t end = kind == CLIENT_OTHER ? CLIENTS_MAX : HOSTS_MAX;

	for (size_t i = first; i < end; i++) {
		struct client *client = &control->clients[i];

		if (client->kind != CLIENT_NONE)
			continue;
		*client = (struct client){ .kind = kind, .socket = socket, .file = -1, .heard = ++control->heard };
		control->sockets.polled[i].fd = socket;
		return client;
	}
	return NULL;
}

static void recording_forget(struct control *control, struct client *client)
{
	if (client->recording != NULL)
		vg_session_release(control->session, client->recording);
	client->recording = NULL;
	if (client->file >= 0) {
		/* A child of the host may have a copy of the descriptor, and would keep the file locked. */
		flock(client->file, LOCK_UN);
		close(client->file);
	}
	client->file = -1;
}

/* It has hung up. */
static void client_close(struct control *control, struct client *client)
{
	if (client->recording != NULL && !client->recording->complete)
		control->failure = vg_session_end(control->session, client->recording,
						  vg_ending_reason(control->session, CLOSED));
	recording_forget(control, client);
	vg_dumps_forget(control->session, client->socket);
	if (client->kind == CLIENT_OTHER)
		vg_outside_hung_up(&control->outside, client->socket);
	if (client->kind == CLIENT_KEEPER) {
		vg_listener_close(&control->listener);
		/* Nobody could end them any more. */
		if (vg_outside_any(&control->outside))
			vg_outside_end_all(&control->outside,
					   vg_ending_reason(control->session, "the program listens no more"));
	}
	if (client->socket != control->first)
		close(client->socket);
	control->sockets.polled[client - control->clients].fd = -1;
	client->kind = CLIENT_NONE;
}

/* ---- what the host asks for ---- */

static void sampled_send(struct control *control, struct client *client)
{
	struct vg_wire_message message = { 0 };
	struct vg_recording *recording = client->recording;
	struct vg_err err;

	vg_session_sample(control->session, recording);
	if (recording->ended == NULL) {
		vg_channel_send(client->socket, &message, VG_WIRE_SAMPLED, NULL, 0);
		return;
	}
	if (recording->failure != 0)
		vg_err_sys(&err, recording->failure, "the profile could not be written");
	else
		vg_err_set(&err, -EFBIG, "%s", recording->ended);
	vg_outside_refuse(client->socket, recording->failure != 0 ? recording->failure : -EFBIG,
			  err.text);
}

static int host_begin(struct control *control, struct client *client,
		      const struct vg_session_options *options, struct vg_err *err)
{
	return vg_session_begin(control->session, options, client->file, &client->recording, err);
}

static void started_send(const struct control *control, int socket)
{
	struct vg_wire_message message = { 0 };

	message.started.events = control->session->events.shared != NULL;
	vg_channel_send(socket, &message, VG_WIRE_STARTED, NULL, 0);
}

/* A session of a host that has joined.  Takes the file, fds[0]; another ring than ours is of no use. */
static bool on_begin(struct control *control, struct client *client,
		     const struct vg_wire_begin *begin, int fds[VG_CHANNEL_FDS])
{
	struct vg_session_options options;
	struct vg_err err = { "" };
	int rc = vg_outside_options(&options, begin);

	if (client->recording != NULL || fds[0] < 0)
		return false;
	client->file = fds[0];
	fds[0] = -1;
	if (rc == 0)
		rc = host_begin(control, client, &options, &err);
	if (rc != 0) {
		vg_outside_refuse(client->socket, rc, err.text[0] != '\0' ? err.text :
				  "the session could not begin");
		return false;
	}
	started_send(control, client->socket);
	return true;
}

/* Another socket of the host's, fds[0]. */
static void on_join(struct control *control, struct client *client, int fds[VG_CHANNEL_FDS])
{
	struct vg_wire_message message = { 0 };

	if (fds[0] < 0 || client_add(control, CLIENT_HOST, fds[0]) == NULL) {
		vg_outside_refuse(client->socket, -EUSERS, "the helper has too many connections");
		return;
	}
	fds[0] = -1;
	vg_channel_send(client->socket, &message, VG_WIRE_JOINED, NULL, 0);
}

/* Takes the file, fds[0], if there is a flight recorder. */
static bool on_dump(struct control *control, struct client *client, int fds[VG_CHANNEL_FDS])
{
	int rc;

	if (client->recording == NULL || fds[0] < 0)
		return false;
	rc = vg_dumps_ask(control->session, client->recording, fds[0], "the program asked for it",
			    vg_outside_dumped, client->socket);
	if (rc == 0)
		fds[0] = -1;
	else
		vg_outside_dumped(client->socket, NULL, rc);
	return true;
}

/* Takes a file for the watchdog, fds[0]. */
static bool on_watch(struct control *control, struct client *client, uint64_t limit_ns,
		     int fds[VG_CHANNEL_FDS])
{
	struct vg_wire_message message = { 0 };
	struct vg_recording *recording = client->recording;

	if (recording == NULL || fds[0] < 0)
		return false;
	if (control->session->events.shared == NULL || recording->options.flight_ns == 0 ||
	    !vg_watchdog_add(&recording->dumping.watchdog, limit_ns, fds[0])) {
		vg_outside_refuse(client->socket, -EINVAL, "the session cannot have a watchdog");
		return true;
	}
	fds[0] = -1;
	vg_channel_send(client->socket, &message, VG_WIRE_WATCHED, NULL, 0);
	return true;
}

/* Whether the connection stays. */
static bool host_answer(struct control *control, struct client *client,
			const struct vg_wire_message *message, int fds[VG_CHANNEL_FDS])
{
	switch ((enum vg_wire_kind)message->kind) {
	case VG_WIRE_BEGIN:
		return on_begin(control, client, &message->begin, fds);
	case VG_WIRE_SAMPLE:
		if (client->recording == NULL)
			return false;
		sampled_send(control, client);
		return true;
	case VG_WIRE_END:
		if (client->recording != NULL)
			vg_outside_end(control->session, client->recording, client->socket,
				       "the program ended it");
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
	case VG_WIRE_MARK: case VG_WIRE_MARKED: case VG_WIRE_COMPLETE: case VG_WIRE_NAMED:
		break;
	}
	return false;
}

static bool host_serve(struct control *control, struct client *client)
{
	struct vg_wire_message message;
	int fds[VG_CHANNEL_FDS];
	bool stays;

	if (vg_channel_receive(client->socket, &message, fds, NULL, 0) != 0)
		return false;            /* gone, or not speaking our language */
	stays = host_answer(control, client, &message, fds);
	for (int i = 0; i < VG_CHANNEL_FDS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	return stays;
}

/* ---- the loop's turn ---- */

/* The connection that waits for nothing and has been silent longest gives its place to a new one.  NULL: all
 * wait for something. */
static struct client *idle_find(struct control *control)
{
	struct client *idle = NULL;

	for (size_t i = HOSTS_MAX; i < CLIENTS_MAX; i++) {
		struct client *client = &control->clients[i];

		if (!vg_outside_needs(&control->outside, client->socket) &&
		    (idle == NULL || client->heard < idle->heard))
			idle = client;
	}
	return idle;
}

static void other_accept(struct control *control)
{
	int fd = vg_listener_accept(&control->listener);
	struct client *idle;

	if (fd < 0 || client_add(control, CLIENT_OTHER, fd) != NULL)
		return;
	idle = idle_find(control);
	if (idle != NULL)
		client_close(control, idle);
	if (idle == NULL || client_add(control, CLIENT_OTHER, fd) == NULL)
		close(fd);
}

/* Whether a host is left: without one there is nothing to listen for. */
static bool on_turn(void *context)
{
	struct control *control = context;
	bool host_left = false;

	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = &control->clients[i];
		bool stays = true;

		if (control->sockets.polled[i].revents != 0 && client->kind != CLIENT_NONE) {
			client->heard = ++control->heard;
			stays = client->kind == CLIENT_OTHER ?
				vg_outside_serve(&control->outside, client->socket) :
				host_serve(control, client);
		}
		if (!stays)
			client_close(control, client);
		host_left = host_left || client->kind == CLIENT_HOST || client->kind == CLIENT_KEEPER;
	}
	if (control->listener.socket >= 0 && control->sockets.polled[CLIENTS_MAX].revents != 0)
		other_accept(control);
	control->sockets.polled[CLIENTS_MAX].fd = control->listener.socket;
	vg_outside_settle(&control->outside);
	return host_left;
}

static void all_end(struct control *control, int ended_by)
{
	/* Where the program has ended its sessions, nothing is to be found out. */
	vg_session_end_all(control->session, ended_by != 0 ? "interrupted by a signal" :
			   control->session->live == 0 ? CLOSED : vg_ending_reason(control->session, CLOSED));
	vg_outside_finish(&control->outside);
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = &control->clients[i];

		if (client->kind == CLIENT_NONE)
			continue;
		if (ended_by != 0 && client->recording != NULL)
			vg_outside_refuse(client->socket, -ECANCELED, "the helper vignetted was ended by a "
					  "signal; the profile ends there");
		if (client->recording != NULL)
			control->failure = client->recording->failure;
		client_close(control, client);
	}
	vg_listener_close(&control->listener);
}

/* ---- its beginning ---- */

/* Whom the host's end of the socket belongs to: the process that made the pair. */
static pid_t host_pid(int socket)
{
	struct ucred host;
	socklen_t length = sizeof host;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &host, &length) != 0)
		return -errno;
	return host.pid > 0 ? host.pid : -ESRCH;
}

/* Greets, and receives what is wanted: a recording, its file and perhaps the ring of events; or to
 * listen, and perhaps the ring. */
static int first_receive(int socket, struct vg_wire_message *message, struct vg_session_options *options,
			 int fds[VG_CHANNEL_FDS])
{
	int rc = vg_channel_send(socket, message, VG_WIRE_HELLO, NULL, 0);
	bool listens;

	fds[0] = fds[1] = -1;
	if (rc == 0)
		rc = vg_channel_receive(socket, message, fds, NULL, BEGIN_TIMEOUT_MS);
	if (rc != 0)
		return rc;
	listens = message->kind == VG_WIRE_LISTEN;
	if (!listens && (message->kind != VG_WIRE_BEGIN || fds[0] < 0))
		return -EPROTO;
	if (listens && memchr(message->listen.directory, '\0', VG_WIRE_NAME_BYTES) == NULL)
		return -EPROTO;
	rc = vg_outside_options(options, listens ? &message->listen.begin : &message->begin);
	options->events_fd = listens ? fds[0] : fds[1];
	return rc;
}

/* Listens before the helper is confined, and reads the host's memory, files and ring after. */
static int control_open(struct control *control, int socket, const struct vg_wire_message *first,
			const struct vg_session_options *options, int file, struct vg_err *err)
{
	bool listens = first->kind == VG_WIRE_LISTEN;
	struct client *client = client_add(control, listens ? CLIENT_KEEPER : CLIENT_HOST, socket);
	pid_t pid = host_pid(socket);
	int rc = pid > 0 ? vg_session_open(control->session, options, pid, false, err) : pid;

	client->file = file;
	if (rc == 0 && listens)
		rc = vg_listener_open(&control->listener, first->listen.directory, pid, err);
	if (rc != 0)
		return rc;
	/* The host may unmount the directory that it began in. */
	if (chdir("/") != 0)
		return vg_err_sys(err, -errno, "cannot change to the directory /");
	control->sockets.polled[CLIENTS_MAX].fd = control->listener.socket;
	control->session->unconfined = vg_confine(listens, control->session->max_memory_bytes, NULL) != 0;
	rc = vg_session_start(control->session, options, err);
	return rc != 0 || listens ? rc : host_begin(control, client, options, err);
}

int vg_control_serve(int socket, int signals)
{
	static struct vg_session session;
	static struct control control;
	struct vg_wire_message first = { 0 };
	struct vg_session_options options;
	struct vg_err err = { "" };
	int fds[VG_CHANNEL_FDS], rc;

	control = (struct control){ .session = &session, .first = socket, .listener = VG_LISTENER_CLOSED };
	control.outside.session = &session;
	control.sockets.count = CLIENTS_MAX + 1;
	control.sockets.on_turn = on_turn;
	control.sockets.context = &control;
	for (size_t i = 0; i < VG_LOOP_SOCKETS; i++)
		control.sockets.polled[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	rc = first_receive(socket, &first, &options, fds);
	if (rc == 0)
		rc = control_open(&control, socket, &first, &options,
				  first.kind == VG_WIRE_BEGIN ? fds[0] : -1, &err);
	/* The ring is mapped, if it is of any use; the file has a client now. */
	for (int i = 0; i < VG_CHANNEL_FDS; i++) {
		if (fds[i] >= 0 && fds[i] != control.clients[0].file)
			close(fds[i]);
	}
	if (control.clients[0].kind == CLIENT_NONE)
		return EXIT_FAILURE;
	if (rc != 0) {
		if (err.text[0] == '\0')
			vg_err_sys(&err, rc, "the session could not begin");
		vg_outside_refuse(socket, rc, err.text);
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
