/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/reader.h"

#include <errno.h>
#include <inttypes.h>

#include "base/sorted.h"
#include "profile/reading.h"

/* The latest start time, in the year 2242.  A later one comes from a hostile header, and counts as unknown.  This time
 * plus the longest duration, TIME_MAX_US of reading.c, fits in 64 bits in nanoseconds. */
static const uint64_t START_MAX_S = UINT64_C(1) << 33;

static int chunks_read(struct vg_reader *reader, const struct vg_infile *file, uint64_t *good)
{
	struct vg_chunks chunks = { .bytes = file->bytes, .length = file->length };
	struct vg_damage damage = { .bytes = 0 }, missing = { .problem = "chunks are missing before this offset" };
	uint64_t damage_end = UINT64_MAX;
	enum vg_chunk_next next;
	struct vg_chunk chunk;
	int rc = 0;

	while (rc == 0 && (next = vg_chunk_next(&chunks, &chunk, &damage)) != VG_CHUNK_END) {
		if (next == VG_CHUNK_DAMAGED) {
			damage_end = damage.offset + damage.bytes;
			rc = vg_profile_add_damage(reader->profile, &damage);
			continue;
		}
		++*good;
		/* If damage ends where this chunk begins, it explains the missing chunks. */
		missing.offset = chunk.offset;
		if (chunk.gap && damage_end != chunk.offset)
			rc = vg_profile_add_damage(reader->profile, &missing);
		if (rc == 0)
			rc = vg_reader_chunk(reader, &chunk);
	}
	return rc;
}

int vg_profile_format_error(const struct vg_infile *file, const char *problem, struct vg_err *err)
{
	if (file->length == 0)
		return vg_err_set(err, -EBADMSG, "%s: the file is empty, not a profile", file->path);
	return vg_err_set(err, -EBADMSG, "%s: not a profile (offset 0: %s)", file->path, problem);
}

static int process_add(struct vg_profile *profile)
{
	const struct vg_header *header = &profile->header;
	struct vg_process process = { .name = header->program, .program = header->program,
				      .duration_ns = profile->duration_ns };

	/* The first thread of a recording is the main thread.  A flight recorder's dump has its threads in the order of
	 * its entries; there the main thread is the one with the lowest id, unless ids have been used again. */
	for (size_t i = 0; i < profile->threads.count && (i == 0 || header->window_begin_ns != 0); i++) {
		if (i == 0 || profile->threads.items[i].tid < process.pid)
			process.pid = profile->threads.items[i].tid;
	}
	if (header->start_unix_s <= START_MAX_S)
		process.start_ns = header->start_unix_s * 1000000000 + header->start_us % 1000000 * 1000;
	return vg_array_push(&profile->processes, &process);
}

int vg_profile_read(struct vg_profile *profile, const struct vg_infile *file, struct vg_err *err)
{
	struct vg_reader reader = { .profile = profile, .bytes = file->bytes };
	uint64_t good = 0;
	int rc = vg_profile_begin(profile);

	profile->file_bytes = file->length;
	if (rc == 0)
		rc = chunks_read(&reader, file, &good);
	if (rc != 0)
		return vg_err_sys(err, rc, "%s: cannot read", file->path);
	if (good == 0)
		return vg_profile_format_error(file, profile->damage.count > 0 ?
					 profile->damage.items[0].problem : "", err);
	if (profile->header.version > VG_FORMAT_VERSION)
		return vg_err_set(err, -EBADMSG, "%s: format version %" PRIu32
				  "; this program reads versions up to %d; use a later vgtool", file->path,
				  profile->header.version, VG_FORMAT_VERSION);
	if (profile->end_reason == VG_NONE)
		profile->duration_ns = reader.now_us * 1000;
	vg_sort_by(profile->jit_code.items, profile->jit_code.count, address);
	rc = process_add(profile);
	return rc == 0 ? 0 : vg_err_sys(err, rc, "%s: cannot read", file->path);
}
