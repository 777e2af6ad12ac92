/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_FIREFOX_MARKERS_H
#define VG_VGTOOL_FIREFOX_MARKERS_H

#include "vgtool/analysis/intervals.h"
#include "vgtool/views/firefox_tables.h"

/* Intervals and instants, as markers of their threads. */
struct vg_firefox_markers {
	struct vg_firefox *firefox;  /* the caller's */
	struct vg_intervals intervals;
	uint64_t *first;             /* track t has items[first[t]] to items[first[t + 1] - 1] */
	struct vg_firefox_marker {
		uint64_t time_ns;
		uint32_t index;      /* of an interval or of an event */
		bool is_instant;
	} *items;                    /* for each track in order of time */
};

/* Returns 0 or -ENOMEM; call vg_firefox_markers_close() in either case. */
int vg_firefox_markers_open(struct vg_firefox_markers *markers, struct vg_firefox *firefox);
void vg_firefox_markers_close(struct vg_firefox_markers *markers);

/* Writes the key "markers" of the track's thread.  Names go into `tables`.  A track number of tracks.count, for the
 * difference, has no markers.  Returns 0 or -ENOMEM. */
int vg_firefox_markers_write(const struct vg_firefox_markers *markers, uint32_t track,
			     struct vg_firefox_tables *tables);

/* Writes the description of the markers' fields, as the value of a key. */
void vg_firefox_markers_schema_write(struct vg_json *json);

#endif
