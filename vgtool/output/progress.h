/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_PROGRESS_H
#define VG_VGTOOL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Shows the progress of long work as one line on standard error: "reading symbols: 40%".  The line
 * appears after one second of work, and only if standard error is a terminal.
 *
 *	vg_progress_begin(&progress, "reading symbols", count);
 *	vg_progress_step(&progress, i);                            (for each item)
 *	vg_progress_end(&progress);
 */
struct vg_progress {
	const char *title;           /* the caller's */
	uint64_t total;              /* number of items; 0: nothing is shown */
	uint64_t next_ns;            /* CLOCK_MONOTONIC time of the next update */
	bool on_terminal, shown;
};

void vg_progress_begin(struct vg_progress *progress, const char *title, uint64_t total);

/* Shows that `done` items are done.  Most calls only read the clock.  Even this is too slow for items that take
 * less than 1 us. */
void vg_progress_step(struct vg_progress *progress, uint64_t done);

/* Removes the line. */
void vg_progress_end(struct vg_progress *progress);

#endif
