/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_STATUS_LINE_H
#define VG_VIGNETTED_STATUS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vignetted/session/session.h"

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
