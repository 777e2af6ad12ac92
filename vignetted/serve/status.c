/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"

enum { PERIOD_NS = 1000 * 1000 * 1000, END_WAIT_MS = 5000 };

int vg_status_check(int fd, struct vg_err *err)
{
	return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? 0 :
	       vg_err_set(err, -errno, "--status-fd %d: must be an open descriptor", fd);
}

void vg_status_open(struct vg_status *status, int fd, bool quiet)
{
	uint64_t now_ns = vg_now_ns();

	*status = (struct vg_status){
		.fd = fd, .begin_ns = now_ns, .due_ns = now_ns + PERIOD_NS,
		.on_terminal = fd < 0 && !quiet && isatty(STDERR_FILENO) == 1 &&
			       tcgetpgrp(STDERR_FILENO) == getpgrp(),
		.cpu_ns = vg_own_cpu_ns(), .cpu_at_ns = now_ns,
	};
	/* If we are moved to the background, a terminal with TOSTOP would stop us at the next line. */
	if (status->on_terminal)
		signal(SIGTTOU, SIG_IGN);
}

/* ---- lines for the program that started vignetted ---- */

static uint64_t elapsed_ms(const struct vg_status *status)
{
	return (vg_now_ns() - status->begin_ns) / 1000000;
}

/* A pipe that is ready for writing has room for PIPE_BUF bytes, and a line is shorter. */
static void __attribute__((format(printf, 3, 4))) line_write(const struct vg_status *status, int wait_ms,
							      const char *format, ...)
{
	char line[512];
	va_list args;
	ssize_t wrote;
	int length;

	va_start(args, format);
	length = vsnprintf(line, sizeof line, format, args);
	va_end(args);
	if (length > 0 && length < (int)sizeof line && vg_descriptor_accepts(status->fd, wait_ms)) {
		wrote = write(status->fd, line, (size_t)length);
		(void)wrote;         /* a write fails if the reader has ended; the recording continues */
	}
}

static void progress_write(const struct vg_status *status)
{
	line_write(status, 0, "progress %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", elapsed_ms(status),
		   status->recording->recorder.samples, vg_own_cpu_ns() / 1000000);
}

void vg_status_begin(struct vg_status *status, const struct vg_recording *recording, pid_t pid)
{
	status->recording = recording;
	if (status->fd < 0)
		return;
	status->begin_ns = vg_now_ns();
	status->due_ns = status->begin_ns + PERIOD_NS;
	line_write(status, 0, "begin %d\n", (int)pid);
}

void vg_status_end(struct vg_status *status, uint64_t lost, uint64_t skipped)
{
	const struct vg_recorder *recorder = &status->recording->recorder;

	if (status->fd < 0)
		return;
	progress_write(status);
	line_write(status, END_WAIT_MS, "end %" PRIu64 " %" PRIu64 " %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n",
		   elapsed_ms(status), recorder->samples, recorder->threads, recorder->writer.file_bytes, lost, skipped,
		   status->recording->ended);
}

/* ---- the line on the terminal ---- */

void vg_status_line_text(char *text, size_t text_bytes, uint64_t elapsed_ns, uint64_t samples, double cpu_share)
{
	snprintf(text, text_bytes, "vignetted: %" PRIu64 " s, %" PRIu64 " sample%s, %.1f %% of one CPU",
		 elapsed_ns / 1000000000, samples, samples == 1 ? "" : "s", 100 * cpu_share);
}

/* Writes with one call of write(2), and ignores a failure: the line is only for convenience. */
static void terminal_write(const char *text)
{
	ssize_t written = write(STDERR_FILENO, text, strlen(text));

	(void)written;
}

static void terminal_show(struct vg_status *status, uint64_t now_ns)
{
	char text[120], whole[140];
	uint64_t cpu_ns;

	if (!vg_descriptor_accepts(STDERR_FILENO, 0))
		return;
	cpu_ns = vg_own_cpu_ns();
	vg_status_line_text(text, sizeof text, now_ns - status->begin_ns, status->recording->recorder.samples,
			    (double)(cpu_ns - status->cpu_ns) / (double)(now_ns - status->cpu_at_ns));
	status->cpu_ns = cpu_ns;
	status->cpu_at_ns = now_ns;
	snprintf(whole, sizeof whole, "\r%s\033[K", text);
	terminal_write(whole);
	status->is_shown = true;
}

void vg_status_hide(struct vg_status *status)
{
	if (status->is_shown)
		terminal_write("\r\033[K");
	status->is_shown = false;
}

/* ---- both ---- */

void vg_status_show(struct vg_status *status)
{
	uint64_t now_ns;

	if (status->fd < 0 && !status->on_terminal)
		return;
	now_ns = vg_now_ns();
	if (now_ns < status->due_ns)
		return;
	status->due_ns = now_ns + PERIOD_NS;
	if (status->fd >= 0)
		progress_write(status);
	else
		terminal_show(status, now_ns);
}
