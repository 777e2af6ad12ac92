/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_TOP_VIEW_H
#define VG_VGTOOL_TOP_VIEW_H

#include <sys/types.h>

#include "vgtool/output/screen.h"
#include "vgtool/run/vignetted_run.h"

/*
 * What vgtool top shows: two lines about the recording, and below them the table of the reader.
 *
 *	struct vg_top_view view = { .command = "vgtool top", .pid = pid };
 *	vg_top_view_begin(&view, &status);           (for each recording)
 *	vg_top_view_count(&view, &status);           (once a second)
 *	vg_top_view_draw(&view, &screen);
 */

/* Rows above the table. */
enum { VG_TOP_HEADER_ROWS = 3 };

struct vg_top_view {
	const char *command;
	pid_t pid;                   /* of the recorded process */
	bool is_everything;          /* the table is of the whole recording, not of the window only */
	char *table;                 /* owned, by the caller; the latest table; NULL: none */
	uint64_t begin_ns;           /* CLOCK_MONOTONIC when the first recording began; 0: not yet */
	uint64_t samples;            /* of all recordings */
	/* Private: */
	uint64_t earlier_samples;    /* of earlier recordings */
	struct vg_top_usage {
		uint64_t elapsed_ms, samples, helper_cpu_ms; /* since the recording began */
		uint64_t now_ns, process_cpu_ns;             /* CLOCK_MONOTONIC; of the recorded process */
	} now, before;
};

void vg_top_view_begin(struct vg_top_view *view, const struct vg_vignetted_status *status);
void vg_top_view_count(struct vg_top_view *view, const struct vg_vignetted_status *status);

/* The table is untrusted: the reader is confined because the profile may take it over.  The text is printed as lines,
 * without control characters. */
void vg_top_view_draw(const struct vg_top_view *view, struct vg_screen *screen);

#endif
