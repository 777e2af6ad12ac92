/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/print.h"
#include "vgtool/commands/top_options.h"
#include "vgtool/commands/top_run.h"
#include "vgtool/commands/top_view.h"
#include "vgtool/output/text.h"

static const uint64_t PERIOD_NS = UINT64_C(1000000000);

enum top_end {
	TOP_GOES_ON,
	TOP_LEFT,                    /* by a key or Ctrl-C */
	TOP_SIGNAL,                  /* `signal` is to end this process */
	TOP_HELPER_ENDED,
	TOP_READER_ENDED,
};

struct top {
	const char *command;         /* "vgtool top" */
	struct vg_top_options options;
	struct vg_top_run run;
	struct vg_screen screen;
	int signals;                 /* of signalfd(2) */
	enum top_end end;
	int signal;
	struct vg_top_view view;
	uint64_t begin_ns;           /* CLOCK_MONOTONIC when this recording began */
	char line[512];              /* a line of --status-fd that is not complete */
	size_t line_bytes;
	bool is_waiting, is_urgent_waiting, is_urgent_wanted; /* requests to the reader */
	uint64_t due_ns;             /* of the next request */
	VG_ARRAY(char) reply;        /* a reply that is not complete */
	char messages[4096];         /* what the children printed on standard error; more is dropped */
	size_t message_bytes;
};

/* ---- the reader ---- */

static void request(struct top *top, bool is_urgent)
{
	uint64_t now_ns = vg_now_ns();
	struct vg_top_request wanted = {
		.now_ns = now_ns - top->begin_ns,
		.rows = top->screen.rows > VG_TOP_HEADER_ROWS ? (uint32_t)(top->screen.rows - VG_TOP_HEADER_ROWS) : 1,
		.columns = (uint32_t)top->screen.columns,
		.is_everything = top->view.is_everything,
		.is_urgent = is_urgent,
	};

	/* The reader answers an urgent request soon.  Without this limit, a key that is held down would fill the
	 * pipe. */
	top->is_urgent_wanted = is_urgent && top->is_waiting && top->is_urgent_waiting;
	if (top->is_urgent_wanted)
		return;
	top->is_waiting = true;
	top->is_urgent_waiting = is_urgent;
	top->due_ns = now_ns + PERIOD_NS;
	vg_top_run_request(&top->run, &wanted);
}

static void redraw(struct top *top)
{
	if (top->view.begin_ns == 0)
		return;
	vg_top_view_draw(&top->view, &top->screen);
	request(top, true);
}

static void reply_complete(struct top *top)
{
	free(top->view.table);
	top->view.table = strdup(top->reply.items);
	top->is_waiting = false;
	if (top->is_urgent_wanted)
		request(top, true);
	/* A shell that brings a running job to the foreground sends no signal. */
	if (!top->screen.is_entered)
		vg_screen_enter(&top->screen);
	vg_top_view_draw(&top->view, &top->screen);
}

static void on_reply(struct top *top)
{
	char bytes[16 * 1024];
	ssize_t got = read(top->run.reply_fd, bytes, sizeof bytes);

	if (got <= 0) {
		if (got == 0 || errno != EINTR)
			top->end = TOP_READER_ENDED;
		return;
	}
	for (ssize_t i = 0; i < got; i++) {
		if (bytes[i] == '\0' || top->reply.count < VG_TOP_TEXT_MAX_BYTES)
			vg_array_push(&top->reply, &bytes[i]);
		if (bytes[i] != '\0')
			continue;
		if (top->reply.count > 0 && top->reply.items[top->reply.count - 1] == '\0')
			reply_complete(top);
		top->reply.count = 0;
	}
}

/* ---- vignetted ---- */

static void status_line(struct top *top)
{
	struct vg_vignetted_status *status = &top->run.helper.status;

	vg_vignetted_line(status, top->line);
	if (strncmp(top->line, "begin ", 6) == 0) {
		top->begin_ns = vg_now_ns();
		if (top->view.begin_ns == 0)
			vg_screen_enter(&top->screen);
		vg_top_view_begin(&top->view, status);
		redraw(top);
	} else {
		vg_top_view_count(&top->view, status);
	}
}

static void on_status(struct top *top)
{
	char bytes[512];
	ssize_t got = read(top->run.helper.status_fd, bytes, sizeof bytes);

	if (got <= 0) {
		if (got == 0 || errno != EINTR)
			top->end = TOP_HELPER_ENDED;
		return;
	}
	for (ssize_t i = 0; i < got; i++) {
		if (bytes[i] != '\n' && top->line_bytes < sizeof top->line - 1) {
			top->line[top->line_bytes++] = bytes[i];
		} else if (bytes[i] == '\n') {
			top->line[top->line_bytes] = '\0';
			top->line_bytes = 0;
			status_line(top);
		}
	}
}

/* Returns false at the end of the messages. */
static bool on_message(struct top *top)
{
	char bytes[1024];
	ssize_t got = read(top->run.message_fd, bytes, sizeof bytes);
	size_t room = sizeof top->messages - top->message_bytes;

	if (got <= 0)
		return got < 0 && errno == EINTR;
	if ((size_t)got < room)
		room = (size_t)got;
	memcpy(top->messages + top->message_bytes, bytes, room);
	top->message_bytes += room;
	return true;
}

/* ---- the person ---- */

/* Returns the length of the key.  Arrows and function keys are sequences: ESC [ 1 5 ~, ESC [ A, ESC O P. */
static size_t key_bytes(const char *keys, size_t count)
{
	size_t at = 2;

	if (*keys != '\033' || count < 2)
		return 1;
	while (keys[1] == '[' && at < count && (keys[at] < '@' || keys[at] > '~'))
		at++;
	return keys[1] == '[' || keys[1] == 'O' ? at + 1 : at;
}

static void on_keys(struct top *top)
{
	char keys[64];
	ssize_t got = read(STDIN_FILENO, keys, sizeof keys);

	if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
		top->end = TOP_LEFT;
	for (ssize_t i = 0; i < got; i += (ssize_t)key_bytes(keys + i, (size_t)(got - i))) {
		if (keys[i] == 'q')
			top->end = TOP_LEFT;
		if (keys[i] == 'a') {
			top->view.is_everything = !top->view.is_everything;
			redraw(top);
		}
	}
}

static const int caught[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH };

static void on_signal(struct top *top)
{
	struct signalfd_siginfo info;

	if (read(top->signals, &info, sizeof info) != (ssize_t)sizeof info)
		return;
	top->signal = (int)info.ssi_signo;
	switch (top->signal) {
	case SIGTSTP:
		/* When the process continues, SIGCONT is next. */
		vg_screen_leave(&top->screen);
		raise(SIGSTOP);
		break;
	case SIGCONT:
		if (top->view.begin_ns > 0)
			vg_screen_enter(&top->screen);
		redraw(top);
		break;
	case SIGWINCH:
		redraw(top);
		break;
	case SIGINT:
	case SIGQUIT:
		top->end = TOP_LEFT;
		break;
	default:
		top->end = TOP_SIGNAL;
	}
}

static int signals_open(struct top *top, struct vg_err *err)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
		sigaddset(&set, caught[i]);
	sigprocmask(SIG_BLOCK, &set, &top->run.mask);
	/* The reader may end while a request is written. */
	signal(SIGPIPE, SIG_IGN);
	top->signals = vg_descriptor_raise(signalfd(-1, &set, SFD_CLOEXEC));
	top->run.caller_fds[0] = top->signals;
	top->run.caller_fds[1] = top->screen.output;
	return top->signals >= 0 ? 0 : vg_err_sys(err, -errno, "cannot wait for signals");
}

/* ---- the recordings ---- */

static void events_wait(struct top *top)
{
	uint64_t now_ns = vg_now_ns();
	int wait_ms = top->begin_ns == 0 || top->is_waiting ? -1 :
		      now_ns < top->due_ns ? (int)((top->due_ns - now_ns) / 1000000) + 1 : 0;
	struct pollfd files[] = {
		{ top->signals, POLLIN, 0 },
		{ top->screen.is_entered ? STDIN_FILENO : -1, POLLIN, 0 },
		{ top->run.message_fd, POLLIN, 0 },
		{ top->run.reply_fd, POLLIN, 0 },
		{ top->run.helper.status_fd, POLLIN, 0 },
	};

	if (poll(files, sizeof files / sizeof *files, wait_ms) < 0)
		return;
	if (files[0].revents != 0)
		on_signal(top);
	if (files[1].revents != 0 && top->end == TOP_GOES_ON)
		on_keys(top);
	if ((files[2].revents & POLLIN) != 0)
		on_message(top);
	if (files[3].revents != 0 && top->end == TOP_GOES_ON)
		on_reply(top);
	if (files[4].revents != 0 && top->end == TOP_GOES_ON)
		on_status(top);
	if (top->begin_ns > 0 && !top->is_waiting && vg_now_ns() >= top->due_ns)
		request(top, false);
}

/* Records until an event ends it.  Returns 0, or a negative errno with a message in err. */
static int recording_run(struct top *top, struct vg_err *err)
{
	int rc = vg_top_run_start(&top->run, err);

	if (rc != 0)
		return rc;
	top->end = TOP_GOES_ON;
	top->is_waiting = top->is_urgent_waiting = top->is_urgent_wanted = false;
	top->begin_ns = 0;
	top->reply.count = top->line_bytes = 0;
	while (top->end == TOP_GOES_ON)
		events_wait(top);
	/* Ending can take a moment, during which the terminal is whole already. */
	if (top->end != TOP_HELPER_ENDED)
		vg_screen_leave(&top->screen);
	rc = vg_top_run_stop(&top->run, err);
	while (on_message(top))
		;
	close(top->run.message_fd);
	return rc;
}

/* vignetted ends the recording when the profile has its greatest size. */
static bool is_full(const struct top *top)
{
	return top->end == TOP_HELPER_ENDED && top->run.helper.status.ended &&
	       strcmp(top->run.helper.status.reason, "the file size limit was reached") == 0;
}

static int end_report(struct top *top)
{
	const struct vg_vignetted_status *status = &top->run.helper.status;
	struct vg_text elapsed;

	if (top->message_bytes > 0)
		vg_print_lines(stderr, top->messages, top->message_bytes);
	if (top->end == TOP_READER_ENDED && top->run.reader_status > 128)
		vg_command_warn(top->command, "the process that read the profile crashed: %s",
				strsignal(top->run.reader_status - 128));
	if (top->end == TOP_READER_ENDED)
		return top->run.reader_status != 0 ? top->run.reader_status : VG_EXIT_FAILED;
	if (!status->ended)
		return top->run.helper.exit_status != 0 ? top->run.helper.exit_status : VG_EXIT_FAILED;
	vg_print(stderr, "%s: %s; %" PRIu64 " sample%s in %s\n", top->command, status->reason, top->view.samples,
		 vg_text_plural(top->view.samples), vg_text_ns(&elapsed, vg_now_ns() - top->view.begin_ns));
	return VG_EXIT_DONE;
}

static int top_run(struct top *top)
{
	struct vg_err err;
	int rc = vg_symbolize_check(&top->options.symbolize, &err);

	if (rc == 0)
		rc = vg_screen_open(&top->screen, &err);
	if (rc == 0)
		rc = signals_open(top, &err);
	if (rc != 0)
		return vg_command_fail(top->command, &err);
	do {
		rc = recording_run(top, &err);
	} while (rc == 0 && is_full(top));
	vg_screen_leave(&top->screen);
	if (top->end == TOP_LEFT)
		return VG_EXIT_DONE;
	if (top->end == TOP_SIGNAL) {
		signal(top->signal, SIG_DFL);
		sigprocmask(SIG_SETMASK, &top->run.mask, NULL);
		raise(top->signal);
	}
	if (rc != 0 && top->end != TOP_READER_ENDED)
		return vg_command_fail(top->command, &err);
	return end_report(top);
}

int cmd_top(int argc, char **argv)
{
	struct top top = { .command = argv[0], .view = { .command = argv[0] } };
	char *helper = NULL;
	struct vg_err err;
	int status = vg_top_options_read(&top.options, argc, argv);

	if (status == VG_COMMAND_LINE_READ && vg_vignetted_find(&helper, &err) != 0)
		status = vg_command_fail(argv[0], &err);
	if (status == VG_COMMAND_LINE_READ) {
		top.options.arguments.items[0] = helper;
		top.run.pid = top.view.pid = top.options.pid;
		top.run.arguments = (char **)top.options.arguments.items;
		top.run.reader = (struct vg_top_reader){ .command = argv[0], .window_ns = top.options.window_ns,
							 .symbolize = &top.options.symbolize };
		status = top_run(&top);
	}
	free(helper);
	free(top.view.table);
	vg_array_free(&top.reply);
	vg_top_options_free(&top.options);
	return status;
}
