/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/view_tracks.h"

#include "base/sum.h"

int vg_view_tracks_build(struct vg_view_tracks *tracks, const struct vg_view_nodes *nodes,
			 const struct vg_view_intervals *intervals, uint32_t base_processes)
{
	const struct vg_profile *profile = nodes->frames->profile;
	int rc;

	*tracks = (struct vg_view_tracks){ .nodes = nodes, .intervals = intervals };
	rc = vg_tracks_build(&tracks->of, profile, base_processes);
	return rc != 0 ? rc : vg_track_samples_build(&tracks->samples, &tracks->of, profile);
}

void vg_view_tracks_free(struct vg_view_tracks *tracks)
{
	vg_tracks_free(&tracks->of);
	vg_track_samples_free(&tracks->samples);
	*tracks = (struct vg_view_tracks){ .nodes = NULL };
}

static uint32_t sample_path(const struct vg_view_tracks *tracks, uint32_t sample)
{
	return tracks->intervals->by_sample != NULL ? tracks->intervals->by_sample[sample] : VG_NONE;
}

static void weight_add(uint64_t *sum, uint64_t *rest_ns, uint64_t ns)
{
	ns = vg_sum(ns, *rest_ns);
	*sum = vg_sum(*sum, ns / 1000);
	*rest_ns = ns % 1000;
}

/* True if the sample continues the piece.  Its time must begin where the piece ends, because a page shows a piece
 * without gaps. */
static bool continues(const struct vg_view_tracks *tracks, const struct vg_view_reader *reader, uint32_t index)
{
	const struct vg_sample *sample = &tracks->nodes->frames->profile->samples.items[index];
	uint64_t begin = sample->time_ns > sample->wall_ns ? (sample->time_ns - sample->wall_ns) / 1000 : 0;

	return vg_view_node(tracks->nodes, sample) == reader->piece.node &&
	       sample_path(tracks, index) == reader->piece.path && begin <= vg_sum(reader->end, 1) &&
	       begin + 1 >= reader->end;
}

struct vg_view_reader vg_view_first(const struct vg_view_tracks *tracks, uint32_t track)
{
	return (struct vg_view_reader){ .at = tracks->samples.first[track], .stop = tracks->samples.first[track + 1] };
}

bool vg_view_next(const struct vg_view_tracks *tracks, struct vg_view_reader *reader)
{
	struct vg_view_piece *piece = &reader->piece;
	uint64_t previous_end = reader->end;
	bool is_begun = false;

	*piece = (struct vg_view_piece){ 0 };
	for (; reader->at < reader->stop; reader->at++) {
		uint32_t index = tracks->samples.order[reader->at];
		const struct vg_sample *sample = &tracks->nodes->frames->profile->samples.items[index];

		if (sample->wall_ns == 0 && sample->cpu_ns == 0)
			continue;
		if (is_begun && !continues(tracks, reader, index))
			break;
		is_begun = true;
		piece->node = vg_view_node(tracks->nodes, sample);
		piece->path = sample_path(tracks, index);
		/* The samples of a hostile profile may be in any order. */
		if (sample->time_ns / 1000 > reader->end)
			reader->end = sample->time_ns / 1000;
		weight_add(&piece->wall, &reader->wall_rest_ns, sample->wall_ns);
		weight_add(&piece->cpu, &reader->cpu_rest_ns, sample->cpu_ns);
	}
	piece->end = reader->end - previous_end;
	return is_begun;
}
