/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/stream.h"

#include <errno.h>
#include <string.h>

#include "base/sorted.h"
#include "base/sum.h"

int vg_stream_open(struct vg_stream *stream, struct vg_profile *profile)
{
	*stream = (struct vg_stream){ .profile = profile, .reader.profile = profile };
	return vg_profile_begin(profile);
}

/* Reads the complete chunks, and removes them from `bytes`. */
static int chunks_add(struct vg_stream *stream)
{
	struct vg_chunks chunks = { .bytes = stream->bytes.items, .next_sequence = stream->next_sequence };
	struct vg_damage damage;
	struct vg_chunk chunk;
	size_t length;
	int rc;

	while ((rc = vg_chunk_length(chunks.bytes + chunks.at, stream->bytes.count - chunks.at, &length)) > 0 &&
	       length <= stream->bytes.count - chunks.at) {
		/* If the chunk is damaged, no search for the next one is wanted. */
		chunks.length = chunks.at + length;
		if (vg_chunk_next(&chunks, &chunk, &damage) != VG_CHUNK_GOOD)
			return -EBADMSG;
		stream->reader.bytes = chunks.bytes + chunk.offset;
		rc = vg_reader_chunk(&stream->reader, &chunk);
		if (rc == 0 && stream->profile->header.version > VG_FORMAT_VERSION)
			rc = -EBADMSG;
		if (rc != 0)
			return rc;
	}
	if (rc < 0)
		return rc;
	stream->next_sequence = chunks.next_sequence;
	stream->bytes.count -= chunks.at;
	memmove(stream->bytes.items, stream->bytes.items + chunks.at, stream->bytes.count);
	return 0;
}

int vg_stream_add(struct vg_stream *stream, const void *bytes, size_t count)
{
	struct vg_profile *profile = stream->profile;
	size_t jit_code = profile->jit_code.count;
	int rc = vg_array_reserve(&stream->bytes, count);

	if (rc != 0 || count == 0)
		return rc;
	memcpy(stream->bytes.items + stream->bytes.count, bytes, count);
	stream->bytes.count += count;
	rc = chunks_add(stream);
	if (profile->jit_code.count > jit_code)
		vg_sort_by(profile->jit_code.items, profile->jit_code.count, address);
	return rc;
}

uint64_t vg_stream_now_ns(const struct vg_stream *stream)
{
	return stream->reader.now_us * 1000;
}

/* ---- samples that are added up ---- */

static void sample_merge(struct vg_stream *stream, struct vg_sample sample)
{
	struct vg_sample *samples = stream->profile->samples.items, *to;
	uint32_t *merged = &stream->merged_of.items[(size_t)(uint32_t)(sample.stack + 1)];
	uint64_t count;

	/* The merged sample takes the place of a sample that was merged before, or of this one. */
	if (*merged == 0) {
		samples[stream->merged] = sample;
		*merged = (uint32_t)++stream->merged;
		return;
	}
	to = &samples[*merged - 1];
	count = vg_sum(to->count, sample.count);
	to->count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
	to->wall_ns = vg_sum(to->wall_ns, sample.wall_ns);
	to->cpu_ns = vg_sum(to->cpu_ns, sample.cpu_ns);
}

int vg_stream_merge(struct vg_stream *stream, uint64_t before_ns)
{
	struct vg_profile *profile = stream->profile;
	size_t first = stream->merged, end = first, removed;

	while (end < profile->samples.count && profile->samples.items[end].time_ns < before_ns)
		end++;
	if (end == first)
		return 0;
	/* VG_NONE, an empty stack, has entry 0. */
	if (vg_array_extend(&stream->merged_of, profile->stacks.count + 1) != 0)
		return -ENOMEM;
	for (size_t i = first; i < end; i++)
		sample_merge(stream, profile->samples.items[i]);
	removed = end - stream->merged;
	profile->samples.count -= removed;
	memmove(profile->samples.items + stream->merged, profile->samples.items + end,
		(profile->samples.count - stream->merged) * sizeof *profile->samples.items);
	for (size_t t = 0; t < profile->threads.count; t++) {
		uint32_t *last = &profile->threads.items[t].last_sample;

		if (*last != VG_NONE && *last >= first)
			*last = *last >= end ? *last - (uint32_t)removed : VG_NONE;
	}
	return 0;
}

void vg_stream_close(struct vg_stream *stream)
{
	vg_array_free(&stream->bytes);
	vg_array_free(&stream->merged_of);
	*stream = (struct vg_stream){ 0 };
}
