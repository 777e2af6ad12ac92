/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/status_line.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"

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
static void line_write(const char *text)
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
	line_write(whole);
	line->shown = true;
}

void vg_status_line_end(struct vg_status_line *line)
{
	if (line->shown)
		line_write("\r\033[K");
	line->shown = false;
}
