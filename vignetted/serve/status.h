/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_STATUS_H
#define VG_VIGNETTED_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "vignetted/session/recording.h"

/*
 * The progress of a recording.  The program that started vignetted gets lines (--status-fd of vignetted(8)):
 *
 *     begin PID
 *     progress MILLISECONDS SAMPLES CPU_MILLISECONDS            (once a second, and before the last line)
 *     end MILLISECONDS SAMPLES THREADS BYTES LOST SKIPPED REASON
 *
 * A line is left out if the reader is so late that a write would wait: sampling must not wait for the reader.  The last
 * line waits for the reader for at most five seconds.
 *
 * Otherwise one line on the terminal shows the elapsed time, the samples, and the helper's CPU time.  It is written
 * between two ticks, at most once a second.  It is not written while the terminal does not accept output, because the
 * helper must not wait for the terminal.
 *
 *     vg_status_open(&status, fd, quiet);      before the helper is confined
 *     vg_status_begin(&status, recording, pid); when the recording begins
 *     vg_status_show(&status);                 at each turn of the loop
 *     vg_status_hide(&status);                 removes the line from the terminal
 *     vg_status_end(&status, lost, skipped);
 */
struct vg_status {
	int fd;                      /* the caller's; a pipe or socket; -1: writes no lines */
	const struct vg_recording *recording; /* the caller's */
	bool on_terminal;            /* fd is -1, standard error is a terminal, and we are in its foreground */
	bool is_shown;               /* the terminal has the line */
	uint64_t begin_ns, due_ns;   /* CLOCK_MONOTONIC; the next line is due */
	uint64_t cpu_ns, cpu_at_ns;  /* the helper's CPU time at the terminal's latest line, and CLOCK_MONOTONIC then */
};

/* Checks the descriptor, and keeps the recorded command from inheriting it.  Returns 0, or a negative errno with a
 * message in err. */
int vg_status_check(int fd, struct vg_err *err);

void vg_status_open(struct vg_status *status, int fd, bool quiet);
void vg_status_begin(struct vg_status *status, const struct vg_recording *recording, pid_t pid);
void vg_status_show(struct vg_status *status);
void vg_status_hide(struct vg_status *status);
void vg_status_end(struct vg_status *status, uint64_t lost, uint64_t skipped);

/* Writes the text of the terminal's line: "vignetted: 12 s, 1188 samples, 0.3 % of one CPU". */
void vg_status_line_text(char *text, size_t text_bytes, uint64_t elapsed_ns, uint64_t samples, double cpu_share);

#endif
