/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_PROGRESS_H
#define VG_VGTOOL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How far a long piece of work has come: one line on standard error, if that is a terminal, and
 * only once the work has taken a second.  Elsewhere nothing is printed.
 */
struct vg_progress {
	const char *what;            /* the caller's: "reading symbols" */
	uint64_t total;
	uint64_t next_ns;            /* no look at the clock says anything before this */
	bool terminal, shown;
};

void vg_progress_begin(struct vg_progress *progress, const char *what, uint64_t total);

/* Cheap enough for every item that takes a microsecond. */
void vg_progress_step(struct vg_progress *progress, uint64_t done);

/* Takes the line away. */
void vg_progress_end(struct vg_progress *progress);

#endif
