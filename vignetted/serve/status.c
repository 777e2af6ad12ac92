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

/* ---- for the program that started vignetted ---- */

enum { PERIOD_NS = 1000 * 1000 * 1000, END_WAIT_MS = 5000 };

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

int vg_status_open(int fd, struct vg_err *err)
{
	return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? 0 :
	       vg_err_set(err, -errno, "--status-fd %d: must be an open descriptor", fd);
}

void vg_status_begin(struct vg_status *status, pid_t pid)
{
	status->begin_ns = vg_now_ns();
	status->due_ns = status->begin_ns + PERIOD_NS;
	if (status->fd >= 0)
		line_write(status, 0, "begin %d\n", (int)pid);
}

static void progress_write(const struct vg_status *status, uint64_t samples)
{
	line_write(status, 0, "progress %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", elapsed_ms(status), samples,
		   vg_own_cpu_ns() / 1000000);
}

void vg_status_progress(struct vg_status *status, uint64_t samples)
{
	uint64_t now_ns;

	if (status->fd < 0)
		return;
	now_ns = vg_now_ns();
	if (now_ns < status->due_ns)
		return;
	status->due_ns = now_ns + PERIOD_NS;
	progress_write(status, samples);
}

void vg_status_end(struct vg_status *status, const struct vg_status_end *end)
{
	if (status->fd < 0)
		return;
	progress_write(status, end->samples);
	line_write(status, END_WAIT_MS, "end %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %"
		   PRIu64 " %s\n", elapsed_ms(status), end->samples, end->threads, end->bytes, end->lost,
		   end->skipped, end->reason);
}

/* ---- on the terminal ---- */

static const uint64_t SECOND_NS = 1000000000;

void vg_status_line_begin(struct vg_status_line *line, bool quiet)
{
	*line = (struct vg_status_line){
		.enabled = !quiet && isatty(STDERR_FILENO) == 1 && tcgetpgrp(STDERR_FILENO) == getpgrp(),
		.begin_ns = vg_now_ns(),
	};
	line->next_ns = line->begin_ns + SECOND_NS;
	line->cpu_at_ns = line->begin_ns;
	line->cpu_ns = vg_own_cpu_ns();
	/* If we are moved to the background, a terminal with TOSTOP would stop us at the next line. */
	if (line->enabled)
		signal(SIGTTOU, SIG_IGN);
}

void vg_status_line_text(char *text, size_t text_bytes, uint64_t elapsed_ns, uint64_t samples, double cpu_share)
{
	snprintf(text, text_bytes, "vignetted: %" PRIu64 " s, %" PRIu64 " sample%s, %.1f %% of one CPU",
		 elapsed_ns / SECOND_NS, samples, samples == 1 ? "" : "s", 100 * cpu_share);
}

static uint64_t samples_count(const struct vg_session *session)
{
	uint64_t samples = 0;

	VG_EACH_RECORDING(i, session->live)
		samples += session->recordings[i].recorder.samples;
	return samples;
}

/* Writes with one call of write(2), and ignores a failure: the line is only for convenience. */
static void terminal_write(const char *text)
{
	ssize_t written = write(STDERR_FILENO, text, strlen(text));

	(void)written;
}

void vg_status_line_show(struct vg_status_line *line, const struct vg_session *session)
{
	uint64_t now_ns, cpu_ns;
	char text[120], whole[140];

	if (!line->enabled)
		return;
	now_ns = vg_now_ns();
	if (now_ns < line->next_ns)
		return;
	line->next_ns = now_ns + SECOND_NS;
	if (!vg_descriptor_accepts(STDERR_FILENO, 0))
		return;
	cpu_ns = vg_own_cpu_ns();
	vg_status_line_text(text, sizeof text, now_ns - line->begin_ns, samples_count(session),
			    (double)(cpu_ns - line->cpu_ns) / (double)(now_ns - line->cpu_at_ns));
	line->cpu_ns = cpu_ns;
	line->cpu_at_ns = now_ns;
	snprintf(whole, sizeof whole, "\r%s\033[K", text);
	terminal_write(whole);
	line->shown = true;
}

void vg_status_line_end(struct vg_status_line *line)
{
	if (line->shown)
		terminal_write("\r\033[K");
	line->shown = false;
}
