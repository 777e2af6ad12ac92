/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_STATUS_H
#define VG_VIGNETTED_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "vignetted/session/session.h"

/*
 * Lines about a recording for the program that started vignetted (--status-fd of vignetted(8)):
 *
 *     begin PID
 *     progress MILLISECONDS SAMPLES CPU_MILLISECONDS            (once a second, and before the last line)
 *     end MILLISECONDS SAMPLES THREADS BYTES LOST SKIPPED REASON
 *
 * A line is left out if the reader is so late that a write would wait: sampling must not wait for the reader.  The last
 * line waits for the reader for at most five seconds.
 */
struct vg_status {
	int fd;                      /* the caller's; a pipe or socket; -1: writes nothing */
	uint64_t begin_ns, due_ns;   /* CLOCK_MONOTONIC */
};

/* Checks the descriptor, and keeps the recorded command from inheriting it.  Returns 0, or a negative errno with a
 * message in err. */
int vg_status_open(int fd, struct vg_err *err);

void vg_status_begin(struct vg_status *status, pid_t pid);
void vg_status_progress(struct vg_status *status, uint64_t samples);

struct vg_status_end {
	uint64_t samples, threads, bytes, lost, skipped;
	const char *reason;
};
void vg_status_end(struct vg_status *status, const struct vg_status_end *end);

/*
 * One line on the terminal while a recording runs: the elapsed time, the samples, and the helper's CPU time.
 *
 * The line is written between two ticks, at most once a second.  It is not written while the terminal does not accept
 * output, because the helper must not wait for the terminal.
 *
 *     vg_status_line_begin(&line, quiet);      before the helper is confined
 *     vg_status_line_show(&line, &session);    at each turn of the loop
 *     vg_status_line_end(&line);               removes the line
 */
struct vg_status_line {
	bool enabled;                /* standard error is a terminal, and we are in its foreground */
	bool shown;
	uint64_t begin_ns, next_ns;  /* CLOCK_MONOTONIC */
	uint64_t cpu_ns, cpu_at_ns;  /* the helper's CPU time at the latest line, and CLOCK_MONOTONIC then */
};

void vg_status_line_begin(struct vg_status_line *line, bool quiet);
void vg_status_line_show(struct vg_status_line *line, const struct vg_session *session);
void vg_status_line_end(struct vg_status_line *line);

/* Writes the text of the line: "vignetted: 12 s, 1188 samples, 0.3 % of one CPU". */
void vg_status_line_text(char *text, size_t text_bytes, uint64_t elapsed_ns, uint64_t samples, double cpu_share);

#endif
