/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/output_path.h"
#include "base/process_file.h"
#include "vgtool/run/broker_places.h"
#include "vgtool/run/program_open.h"
#include "vgtool/run/server_path.h"

/* Result of reply_receive(): the broker has done what was asked, and sends no descriptor. */
enum { REPLY_WITHOUT_FILE = -65536 };

/* ---- the broker ---- */

/* The name must be a file name and not a path: it becomes a part of paths and of URLs.  The request comes from the
 * confined reader, which an attacker may control. */
static bool request_is_valid(const struct vg_broker_request *request, ssize_t bytes)
{
	return bytes == (ssize_t)sizeof *request && request->kind <= VG_BROKER_INDEX &&
	       memchr(request->name, '\0', sizeof request->name) != NULL && *request->name != '\0' &&
	       strchr(request->name, '/') == NULL && strcmp(request->name, ".") != 0 &&
	       strcmp(request->name, "..") != 0 && request->build_id_bytes >= 2 &&
	       request->build_id_bytes <= VG_BUILD_ID_MAX_BYTES && request->pid <= INT32_MAX;
}

static bool path_format(char path[PATH_MAX], const char *directory, const char *name)
{
	int length = snprintf(path, PATH_MAX, "%s/%s", directory, name);

	return length > 0 && length < PATH_MAX;
}

static int offer_open(const struct vg_broker_offer *offer, const struct vg_broker_request *request, char path[PATH_MAX])
{
	if (strcmp(vg_path_name(offer->path), request->name) != 0 ||
	    snprintf(path, PATH_MAX, "%s", offer->path) >= PATH_MAX)
		return -1;
	return fcntl(offer->fd, F_DUPFD_CLOEXEC, 0);
}

/* Reads the files that the process maps, if the latest ones are another process's. */
static void mapped_read(struct vg_broker_places *places, uint32_t pid)
{
	if (places->mapped_pid == pid)
		return;
	vg_mapped_files_free(&places->mapped);
	vg_mapped_files_read_namespaces(&places->mapped, (pid_t)pid, VG_BROKER_MAPPED_MAX);
	places->mapped_pid = pid;
}

/* Everybody can give a file the build id of a module.  Closes a file that belongs neither to this user nor to root. */
static int owner_check(int fd)
{
	if (fd < 0 || vg_output_path_file_is_trusted(fd))
		return fd;
	close(fd);
	return -1;
}

/* In a new pid namespace, another user can start a process with the recorded process's id. */
static int mapped_open(const struct vg_mapped_file *mapped, const struct vg_broker_request *request,
		       char path[PATH_MAX])
{
	int fd;

	if (strcmp(vg_path_name(mapped->path), request->name) != 0 ||
	    snprintf(path, PATH_MAX, "%s", mapped->path) >= PATH_MAX)
		return -1;
	fd = vg_mapped_file_open(mapped);
	return vg_process_is_own(mapped->pid) ? fd : owner_check(fd);
}

/* The working directory may be another user's. */
static int working_open(const struct vg_broker_places *places, const struct vg_broker_request *request,
			char path[PATH_MAX])
{
	return places->working != NULL && path_format(path, places->working, request->name) ?
	       owner_check(vg_program_open(path, NULL)) : -1;
}

/* Opens candidate number `at`.  Returns a descriptor; -1: there is no such ELF file; or -ERANGE after the last
 * candidate. */
static int candidate_open(const struct vg_broker *broker, struct vg_broker_places *places,
			  const struct vg_broker_request *request, size_t at, char path[PATH_MAX])
{
	const char *directory;

	if (at < broker->offer_count)
		return offer_open(&broker->offers[at], request, path);
	at -= broker->offer_count;
	if (at == 0)
		return places->working_is_private ? working_open(places, request, path) : -1;
	at--;
	if (at < places->directories.count)
		return path_format(path, places->directories.items[at], request->name) ?
		       vg_program_open(path, NULL) : -1;
	at -= places->directories.count;
	if (at < places->debug_directories.count) {
		directory = places->debug_directories.items[at];
		return vg_server_file_path(VG_SERVER_DEBUG_FILE, directory, request->build_id, request->build_id_bytes,
					   path) == 0 ? vg_program_open(path, NULL) : -1;
	}
	at -= places->debug_directories.count;
	/* A name in brackets is no file: [vdso]. */
	if (*request->name == '[')
		return -ERANGE;
	mapped_read(places, request->pid);
	if (at < places->mapped.items.count)
		return mapped_open(&places->mapped.items.items[at], request, path);
	if (at > places->mapped.items.count)
		return -ERANGE;
	return places->working_is_private ? -1 : working_open(places, request, path);
}

static int module_open(const struct vg_broker *broker, struct vg_broker_places *places,
			const struct vg_broker_request *request, struct vg_broker_reply *reply)
{
	for (size_t at = request->next; at < UINT32_MAX; at++) {
		int fd = candidate_open(broker, places, request, at, reply->path);

		if (fd >= 0) {
			reply->rc = 0;
			reply->next = (uint32_t)at + 1;
			return fd;
		}
		if (fd == -ERANGE)
			break;
	}
	return -ENOENT;
}

/* Sets reply->rc.  `sent`: the descriptor that came with the request, or -1.  Returns the descriptor to send, or a
 * negative number: none. */
static int request_serve(struct vg_broker *broker, struct vg_broker_places *places,
			 const struct vg_broker_request *request, int socket_fd, int sent,
			 struct vg_broker_reply *reply)
{
	int file = -ENOENT;

	switch (request->kind) {
	case VG_BROKER_MODULE:
		if (broker->stores_only)
			return -ENOENT;
		if (request->next == 0 && broker->refresh != NULL)
			broker->refresh(broker->context, broker);
		return module_open(broker, places, request, reply);
	case VG_BROKER_SYMBOLS:
		if (broker->servers != NULL)
			reply->rc = vg_servers_symbols(broker->servers, request->name, request->build_id,
						       request->build_id_bytes, socket_fd);
		return -ENOENT;
	case VG_BROKER_DEBUG_FILE:
	case VG_BROKER_BINARY:
		if (broker->servers != NULL)
			file = vg_servers_file_open(broker->servers, request->kind == VG_BROKER_BINARY ?
						    VG_SERVER_BINARY : VG_SERVER_DEBUG_FILE, request->build_id,
						    request->build_id_bytes, socket_fd, reply->path);
		reply->rc = file >= 0 ? 0 : file;
		return file;
	case VG_BROKER_DISASSEMBLY:
		if (broker->objdump != NULL)
			file = vg_objdump_start(broker->objdump, sent, request->begin, request->end);
		reply->rc = file >= 0 ? 0 : file;
		return file;
	case VG_BROKER_INDEX:
		if (broker->indexer != NULL)
			file = vg_indexer_open(broker->indexer, request->next);
		reply->rc = file >= 0 ? 0 : file;
		return file;
	}
	return -ENOENT;
}

/* file: the descriptor that comes with the message, or a negative number. */
static int message_send(int socket_fd, void *bytes, size_t length, int file)
{
	union { struct cmsghdr align; char bytes[CMSG_SPACE(sizeof(int))]; } control = { 0 };
	struct iovec vector = { bytes, length };
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };

	if (file >= 0) {
		struct cmsghdr *header;

		message.msg_control = control.bytes;
		message.msg_controllen = sizeof control.bytes;
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof file);
		memcpy(CMSG_DATA(header), &file, sizeof file);
	}
	return sendmsg(socket_fd, &message, MSG_NOSIGNAL) >= 0 ? 0 : -errno;
}

/* Returns what recv(2) returns.  Sets *file to the descriptor that came with the request, or to -1.  There is room for
 * the control data of one descriptor, or for none without objdump.  The kernel discards any more. */
static ssize_t request_receive(const struct vg_broker *broker, int fd, struct vg_broker_request *request, int *file)
{
	union { struct cmsghdr align; char bytes[CMSG_SPACE(sizeof(int))]; } control;
	struct iovec vector = { request, sizeof *request };
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.bytes,
				  .msg_controllen = broker->objdump != NULL ? CMSG_LEN(sizeof(int)) : 0 };
	ssize_t bytes = recvmsg(fd, &message, MSG_TRUNC | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *header = bytes >= 0 ? CMSG_FIRSTHDR(&message) : NULL;

	*file = -1;
	if (header == NULL || header->cmsg_type != SCM_RIGHTS)
		return bytes;
	memcpy(file, CMSG_DATA(header), sizeof *file);
	*file = vg_descriptor_raise(*file);
	return bytes;
}

void vg_broker_serve(const struct vg_broker *broker, int fd)
{
	struct vg_broker_places places = { 0 };
	struct vg_broker current = *broker;
	struct vg_broker_request request;
	size_t served = 0;
	int rc = 0;

	vg_broker_places_read(&places);
	while (rc == 0) {
		struct vg_broker_reply reply = { .rc = -ENOENT };
		int file = -1, sent;
		ssize_t bytes = request_receive(broker, fd, &request, &sent);

		if (bytes < 0 && errno == EINTR)
			continue;
		if (bytes <= 0)
			break;
		if (!request_is_valid(&request, bytes))
			reply.rc = -EINVAL;
		else if (served++ < VG_BROKER_REQUESTS_MAX)
			file = request_serve(&current, &places, &request, fd, sent, &reply);
		rc = message_send(fd, &reply, sizeof reply, file);
		if (file >= 0)
			close(file);
		if (sent >= 0)
			close(sent);
	}
	vg_broker_places_free(&places);
	if (broker->servers != NULL)
		vg_servers_end(broker->servers);
	if (broker->objdump != NULL)
		vg_objdump_end(broker->objdump);
}

/* Exits with the child's exit status, or by the child's signal.  The caller of vgtool knows this process only. */
static void __attribute__((noreturn)) exit_as(pid_t child)
{
	const struct rlimit no_core = { 0, 0 };
	int status;

	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			_exit(EXIT_FAILURE);
	}
	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	setrlimit(RLIMIT_CORE, &no_core);
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	_exit(128 + WTERMSIG(status));
}

int vg_broker_start(const struct vg_broker *broker, int *fd, struct vg_err *err)
{
	pid_t parent = getpid(), child;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return vg_err_sys(err, -errno, "cannot create a socket");
	ends[0] = vg_descriptor_raise(ends[0]);
	ends[1] = vg_descriptor_raise(ends[1]);
	/* Otherwise both processes would print what is in the buffers. */
	fflush(stdout);
	fflush(stderr);
	child = ends[0] >= 0 && ends[1] >= 0 ? fork() : -1;
	if (child < 0) {
		int rc = vg_err_sys(err, -errno, "cannot create a process");

		close(ends[0]);
		close(ends[1]);
		return rc;
	}
	if (child > 0) {
		close(ends[1]);
		vg_broker_serve(broker, ends[0]);
		close(ends[0]);
		exit_as(child);
	}
	close(ends[0]);
	/* The reader gets the files of the offers only by a request. */
	for (size_t i = 0; i < broker->offer_count; i++)
		close(broker->offers[i].fd);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	*fd = ends[1];
	return 0;
}

/* ---- the reader ---- */

static int reply_receive(int socket_fd, struct vg_broker_reply *reply)
{
	union { struct cmsghdr align; char bytes[CMSG_SPACE(sizeof(int))]; } control;
	struct iovec vector = { reply, sizeof *reply };
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1,
				  .msg_control = control.bytes, .msg_controllen = sizeof control.bytes };
	struct cmsghdr *header;
	ssize_t bytes;
	int file;

	do {
		bytes = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
	} while (bytes < 0 && errno == EINTR);
	if (bytes != (ssize_t)sizeof *reply)
		return bytes < 0 ? -errno : -EBADMSG;
	header = CMSG_FIRSTHDR(&message);
	if (reply->rc != 0)
		return reply->rc < 0 ? reply->rc : -EBADMSG;
	if (header == NULL || header->cmsg_type != SCM_RIGHTS)
		return REPLY_WITHOUT_FILE;
	memcpy(&file, CMSG_DATA(header), sizeof file);
	reply->path[sizeof reply->path - 1] = '\0';
	return vg_descriptor_raise(file);
}

/* Returns the result of reply_receive(). */
static int ask(int fd, struct vg_broker_request *request, const char *name, const unsigned char *build_id,
	       size_t build_id_bytes, struct vg_broker_reply *reply)
{
	int rc;

	if (build_id_bytes > sizeof request->build_id || strlen(name) >= sizeof request->name)
		return -ENOENT;
	request->build_id_bytes = (uint32_t)build_id_bytes;
	memcpy(request->build_id, build_id, build_id_bytes);
	strcpy(request->name, name);
	/* write(2), because the filter of a confined reader allows write(2) anyway. */
	rc = vg_write_all(fd, request, sizeof *request);
	return rc != 0 ? rc : reply_receive(fd, reply);
}

static int file_ask(int fd, struct vg_broker_request *request, const char *name, const unsigned char *build_id,
		    size_t build_id_bytes, uint32_t *next, char **path)
{
	struct vg_broker_reply reply;
	int file = ask(fd, request, name, build_id, build_id_bytes, &reply);

	if (file < 0)
		return file == REPLY_WITHOUT_FILE ? -EBADMSG : file;
	*next = reply.next;
	*path = strdup(reply.path);
	if (*path == NULL) {
		close(file);
		return -ENOMEM;
	}
	return file;
}

int vg_broker_ask(int fd, uint32_t pid, const char *name, const unsigned char *build_id, size_t build_id_bytes,
		  uint32_t *next, char **path)
{
	struct vg_broker_request request = { .kind = VG_BROKER_MODULE, .next = *next, .pid = pid };

	return file_ask(fd, &request, name, build_id, build_id_bytes, next, path);
}

int vg_broker_ask_debug_file(int fd, const unsigned char *build_id, size_t build_id_bytes, char **path)
{
	struct vg_broker_request request = { .kind = VG_BROKER_DEBUG_FILE };
	uint32_t next;

	return file_ask(fd, &request, "debug", build_id, build_id_bytes, &next, path);
}

int vg_broker_ask_binary(int fd, const unsigned char *build_id, size_t build_id_bytes, char **path)
{
	struct vg_broker_request request = { .kind = VG_BROKER_BINARY };
	uint32_t next;

	return file_ask(fd, &request, "binary", build_id, build_id_bytes, &next, path);
}

int vg_broker_ask_index(int fd, uint32_t store)
{
	struct vg_broker_request request = { .kind = VG_BROKER_INDEX, .next = store };
	static const unsigned char no_id[2];
	struct vg_broker_reply reply;

	return ask(fd, &request, "index", no_id, sizeof no_id, &reply);
}

int vg_broker_ask_symbols(int fd, const char *name, const unsigned char *build_id, size_t build_id_bytes)
{
	struct vg_broker_request request = { .kind = VG_BROKER_SYMBOLS };
	struct vg_broker_reply reply;
	int file = ask(fd, &request, name, build_id, build_id_bytes, &reply);

	if (file >= 0)
		close(file);
	return file >= 0 || file == REPLY_WITHOUT_FILE ? 0 : file;
}

int vg_broker_ask_disassembly(int fd, int file, uint64_t begin, uint64_t end)
{
	/* The name and the build id only make the request valid: the file itself is sent. */
	struct vg_broker_request request = { .kind = VG_BROKER_DISASSEMBLY, .begin = begin, .end = end,
					     .build_id_bytes = 2, .name = "code" };
	struct vg_broker_reply reply;
	int rc = message_send(fd, &request, sizeof request, file);

	if (rc == 0)
		rc = reply_receive(fd, &reply);
	return rc == REPLY_WITHOUT_FILE ? -EBADMSG : rc;
}
