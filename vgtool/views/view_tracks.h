/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_VIEW_TRACKS_H
#define VG_VGTOOL_VIEW_TRACKS_H

#include "vgtool/analysis/tracks.h"
#include "vgtool/views/view_intervals.h"
#include "vgtool/views/view_nodes.h"

/*
 * The samples of each track, in order of time.  Neighbouring samples with the same node and path are one piece, if no
 * time lies between them.
 *
 *	vg_view_tracks_build(&tracks, &nodes, &intervals, 0);
 *	struct vg_view_reader reader = vg_view_first(&tracks, track);
 *	while (vg_view_next(&tracks, &reader))
 *		sum += reader.piece.wall;
 *	vg_view_tracks_free(&tracks);
 */
struct vg_view_tracks {
	const struct vg_view_nodes *nodes; /* the caller's; must outlive this */
	const struct vg_view_intervals *intervals; /* the caller's; must outlive this */
	struct vg_tracks of;
	struct vg_track_samples samples;
};

/* Times and weights are in microseconds. */
struct vg_view_piece {
	uint32_t node;               /* vg_view_node() */
	uint32_t path;               /* of intervals (view_intervals.h), or VG_NONE */
	uint64_t end;                /* since the end of the track's previous piece */
	uint64_t wall, cpu;
};

struct vg_view_reader {
	struct vg_view_piece piece;
	/* Private: */
	uint64_t end;                /* of the piece */
	uint64_t at, stop;           /* position in samples.order of the next sample; end of the track */
	uint64_t wall_rest_ns, cpu_rest_ns; /* what was rounded down is added to the track's next weight */
};

/* base_processes: see vg_tracks_build().  Returns 0 or -ENOMEM; call vg_view_tracks_free() in either case. */
int vg_view_tracks_build(struct vg_view_tracks *tracks, const struct vg_view_nodes *nodes,
			 const struct vg_view_intervals *intervals, uint32_t base_processes);
void vg_view_tracks_free(struct vg_view_tracks *tracks);

struct vg_view_reader vg_view_first(const struct vg_view_tracks *tracks, uint32_t track);

/* Sets reader->piece to the next piece.  Returns false if the track has no more.  Samples without weight are left
 * out. */
bool vg_view_next(const struct vg_view_tracks *tracks, struct vg_view_reader *reader);

#endif
