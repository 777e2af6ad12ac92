/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgctl/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/outfile.h"
#include "base/print.h"
#include "base/system_calls.h"
#include "libvgctl/channel.h"
#include "vgctl/helpers.h"

static void recording_print(const struct vg_wire_recording *recording)
{
	vg_print(stdout, "  %" PRIu32 "  %-7s  %-4s  ", recording->id, recording->remote ? "remote" : "program",
		 recording->cpu_mode ? "cpu" : "wall");
	if (recording->period_us == 0)
		vg_print(stdout, "on demand");
	else
		vg_print(stdout, "%6.0f Hz", 1e6 / recording->period_us);
	vg_print(stdout, "  %8.1f s  %10" PRIu64 " samples  %" PRIu64 " lost  ",
		 (double)recording->duration_ns / 1e9, recording->samples, recording->lost);
	if (recording->flight_s != 0)
		vg_print(stdout, "keeps %" PRIu32 " s\n", recording->flight_s);
	else
		vg_print(stdout, "%" PRIu64 " bytes\n", recording->file_bytes);
}

static void state_print(struct vg_wire_state *state)
{
	unsigned int live = 0;

	for (int i = 0; i < VG_WIRE_RECORDINGS; i++)
		live += state->recordings[i].id != 0;
	state->program[sizeof state->program - 1] = '\0';
	vg_print(stdout, "%d  %s  %u recording%s\n", state->pid, state->program, live, live == 1 ? "" : "s");
}

/* Sends a request to the process's helper and replaces the message by the answer. */
static int helper_ask(const struct vg_arguments *arguments, pid_t pid, struct vg_wire_message *message,
		      enum vg_wire_kind kind, enum vg_wire_kind answer, struct vg_err *err)
{
	int socket = vg_helpers_connect(arguments->directory, pid, VG_HELPERS_ACCEPT_MS, err), rc;

	if (socket < 0)
		return socket;
	rc = vg_helpers_ask(socket, message, kind, NULL, 0, answer, err);
	close(socket);
	return rc;
}

static int state_get(const struct vg_arguments *arguments, pid_t pid, struct vg_wire_message *message,
		     struct vg_err *err)
{
	memset(message, 0, sizeof *message);
	return helper_ask(arguments, pid, message, VG_WIRE_STATUS, VG_WIRE_STATE, err);
}

/* A helper that was asked for its state.  Any user may have made the socket in a shared directory, and never answer.  So
 * all helpers are asked before the first answer is awaited, and all answers have one deadline. */
enum { LIST_ACCEPT_MS = 10, LIST_MS = 5000, LISTED_MAX = 500 };

struct list {
	const char *directory;
	uint64_t deadline_ns;
	size_t tried, left_out;
	VG_ARRAY(struct listed { pid_t pid; int socket; }) asked;
};

static void list_error(pid_t pid, int rc, const struct vg_err *err)
{
	if (rc != -ESRCH)                /* the helper was killed and left its socket */
		vg_print(stderr, "vgctl: process %d: %s\n", pid, err->text);
}

static void state_request(pid_t pid, void *context)
{
	struct vg_wire_message message = { 0 };
	struct listed listed = { .pid = pid };
	struct list *list = context;
	struct vg_err err;
	int rc;

	if (list->tried++ >= LISTED_MAX || vg_now_ns() >= list->deadline_ns ||
	    vg_array_reserve(&list->asked, 1) != 0) {
		list->left_out++;
		return;
	}
	rc = listed.socket = vg_helpers_connect(list->directory, pid, LIST_ACCEPT_MS, &err);
	if (rc >= 0)
		rc = vg_helpers_send(listed.socket, &message, VG_WIRE_STATUS, NULL, 0, &err);
	if (rc == 0) {
		list->asked.items[list->asked.count++] = listed;
		return;
	}
	list_error(pid, rc, &err);
	if (listed.socket >= 0)
		close(listed.socket);
}

int vg_cmd_list(const struct vg_arguments *arguments)
{
	struct list list = { .directory = arguments->directory,
			     .deadline_ns = vg_now_ns() + LIST_MS * UINT64_C(1000000) };
	struct vg_err err;
	int rc = vg_helpers_each(list.directory, state_request, &list, &err);

	for (size_t i = 0; i < list.asked.count; i++) {
		const struct listed *listed = &list.asked.items[i];
		uint64_t now_ns = vg_now_ns();
		struct vg_wire_message message;
		struct vg_err why;
		int answer_rc = vg_helpers_answer(listed->socket, &message, VG_WIRE_STATE, now_ns < list.deadline_ns ?
						  (int)((list.deadline_ns - now_ns) / 1000000) : 0, &why);

		if (answer_rc == 0)
			state_print(&message.state);
		else
			list_error(listed->pid, answer_rc, &why);
		close(listed->socket);
	}
	if (list.left_out > 0)
		vg_print(stderr, "vgctl: %s: too many sockets, or too slow ones; %zu are left out\n",
			 list.directory, list.left_out);
	vg_array_free(&list.asked);
	return rc != 0 ? vg_arguments_fail(&err) : EXIT_SUCCESS;
}

int vg_cmd_status(const struct vg_arguments *arguments)
{
	struct vg_wire_message message;
	struct vg_err err;

	if (state_get(arguments, arguments->pid, &message, &err) != 0)
		return vg_arguments_fail(&err);
	state_print(&message.state);
	for (int i = 0; i < VG_WIRE_RECORDINGS; i++) {
		if (message.state.recordings[i].id != 0)
			recording_print(&message.state.recordings[i]);
	}
	return EXIT_SUCCESS;
}

/* Waits for the end of the recording and renames the file.  The helper cannot rename the file, because it does not get
 * the descriptor of the directory: if root runs vgctl, the helper may belong to another user, who must not write to
 * this directory. */
static void file_rename_at_end(int socket, struct vg_outfile *file)
{
	struct vg_wire_message message;
	struct vg_err err = { "" };
	int rc = vg_channel_receive(socket, &message, NULL, NULL, -1);

	/* Without VG_WIRE_COMPLETE, the helper was killed: the file keeps the name PATH.part. */
	if (rc != 0 || message.kind != VG_WIRE_COMPLETE)
		return;
	message = (struct vg_wire_message){ .failure = { .code = vg_outfile_commit(file, &err) } };
	snprintf(message.failure.text, sizeof message.failure.text, "%.*s",
		 (int)sizeof message.failure.text - 1, err.text);
	vg_channel_send(socket, &message, VG_WIRE_RENAMED, NULL, 0);
}

/* Closes all descriptors except `one`, `two`, `three` and the standard descriptors. */
static void close_others(int one, int two, int three)
{
	const unsigned int kept[] = { (unsigned int)one, (unsigned int)two, (unsigned int)three };
	unsigned int from = STDERR_FILENO + 1;

	for (;;) {
		unsigned int next = UINT_MAX;

		for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
			if (kept[i] >= from && kept[i] < next)
				next = kept[i];
		}
		if (next > from)
			syscall(SYS_close_range, from, next == UINT_MAX ? next : next - 1, 0);
		if (next == UINT_MAX)
			return;
		from = next + 1;
	}
}

/* Leaves the terminal's session, so that closing the terminal does not kill this process.  Closes inherited
 * descriptors: one of them may be the write end of a pipe, and the pipe's reader waits until all write ends are
 * closed. */
static void caller_detach(int socket, const struct vg_outfile *file)
{
	int ends[2];

	setsid();
	/* Close descriptors before opening new ones: the caller may have reached the limit. */
	close_others(socket, file->fd, file->directory);
	/* The standard descriptors become an empty pipe.  Use /dev/null only if a seccomp filter forbids pipes:
	 * /dev/null may not exist, and /dev cannot be unmounted while /dev/null is open. */
	if (pipe2(ends, O_CLOEXEC) != 0)
		ends[0] = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (ends[0] < 0 || dup2(ends[0], fd) < 0)
			close(fd);
	}
	close_others(socket, file->fd, file->directory);
}

/* Begins a recording.  A child process waits in the background for the end of the recording.  If fork() fails, this
 * process waits. */
static int begin_send(const struct vg_arguments *arguments, int socket, struct vg_outfile *file,
		      struct vg_err *err)
{
	struct vg_wire_message message = { .begin = arguments->begin,
					   .version = arguments->begin.thread != 0 ? VG_WIRE_THREAD : VG_WIRE_FIRST };
	int rc = vg_helpers_ask(socket, &message, VG_WIRE_OPEN, &file->fd, 1, VG_WIRE_OPENED, err);
	pid_t child;

	if (rc != 0)
		return rc;
	vg_print(stdout, "%" PRIu32 "\n", message.recording.id);
	fflush(stdout);
	/* The caller may unmount its working directory as soon as we return.  The output file is already open, so its
	 * relative path is no longer needed. */
	if (chdir("/") != 0)
		vg_print(stderr, "vgctl: cannot change to the directory /: %s\n", vg_errno_text(-errno));
	child = fork();
	if (child == 0)
		caller_detach(socket, file);
	if (child <= 0)
		file_rename_at_end(socket, file);
	if (child == 0)
		_exit(EXIT_SUCCESS);
	vg_outfile_close_copy(file);
	return 0;
}

/* Creates the output file and calls `ask`.  `ask` sends the request.  It then commits the file.  Or it lets a child
 * process commit the file, and closes this process's descriptors of the file.  After a failure this function removes
 * the file. */
static int file_request(const struct vg_arguments *arguments,
		    int (*ask)(const struct vg_arguments *arguments, int socket,
			       struct vg_outfile *file, struct vg_err *err))
{
	struct vg_outfile file;
	struct vg_err err;
	int socket = vg_helpers_connect(arguments->directory, arguments->pid, VG_HELPERS_ACCEPT_MS, &err), rc;

	if (socket < 0)
		return vg_arguments_fail(&err);
	rc = vg_outfile_open(&file, arguments->output, &err);
	if (rc == 0) {
		rc = file.in_place ?
		     vg_err_set(&err, -EINVAL, "%s is not a regular file; use the path of a regular file",
				arguments->output) :
		     ask(arguments, socket, &file, &err);
		if (rc != 0)
			vg_outfile_abandon(&file);
	}
	close(socket);
	return rc != 0 ? vg_arguments_fail(&err) : EXIT_SUCCESS;
}

int vg_cmd_begin(const struct vg_arguments *arguments)
{
	return file_request(arguments, begin_send);
}

static int helper_request(const struct vg_arguments *arguments, struct vg_wire_message *message,
		    enum vg_wire_kind kind, enum vg_wire_kind answer)
{
	struct vg_err err;

	return helper_ask(arguments, arguments->pid, message, kind, answer, &err) != 0 ?
	       vg_arguments_fail(&err) : EXIT_SUCCESS;
}

int vg_cmd_end(const struct vg_arguments *arguments)
{
	struct vg_wire_message message = { .recording = { .id = arguments->id } };
	int status = helper_request(arguments, &message, VG_WIRE_CLOSE, VG_WIRE_ENDED);

	if (status == EXIT_SUCCESS)
		vg_print(stdout, "%" PRIu64 " samples of %" PRIu32 " thread%s, %" PRIu64 " bytes, %" PRIu64 " lost\n",
			 message.summary.samples, message.summary.threads,
			 message.summary.threads == 1 ? "" : "s", message.summary.file_bytes,
			 message.summary.lost);
	return status;
}

static int dump_receive(const struct vg_arguments *arguments, int socket, struct vg_outfile *file,
		     struct vg_err *err)
{
	struct vg_wire_message message = { .recording = { .id = arguments->id } };
	int rc;

	rc = vg_helpers_ask(socket, &message, VG_WIRE_DUMP, &file->fd, 1, VG_WIRE_DUMPED, err);
	if (rc == 0)
		rc = vg_outfile_commit(file, err);
	if (rc == 0)
		vg_print(stdout, "the last %.1f s: %" PRIu64 " samples of %" PRIu32 " thread%s, %" PRIu64 " bytes\n",
			 (double)message.summary.duration_ns / 1e9, message.summary.samples,
			 message.summary.threads, message.summary.threads == 1 ? "" : "s",
			 message.summary.file_bytes);
	return rc;
}

int vg_cmd_dump(const struct vg_arguments *arguments)
{
	return file_request(arguments, dump_receive);
}

int vg_cmd_mark(const struct vg_arguments *arguments)
{
	struct vg_wire_message message = { 0 };
	int status;

	snprintf(message.text, sizeof message.text, "%s", arguments->label);
	status = helper_request(arguments, &message, VG_WIRE_MARK, VG_WIRE_MARKED);
	if (status == EXIT_SUCCESS && message.recording.id == 0) {
		vg_print(stderr, "vgctl: process %d has no recording to mark; begin one first\n", arguments->pid);
		return EXIT_FAILURE;
	}
	return status;
}
