/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/resolve/profile_copy.h"

static void time_remember(struct vg_profile_copy *copy, const struct vg_record_view *record)
{
	struct vg_cursor cursor = record->cursor;
	uint64_t us;

	if (vg_cursor_uint(&cursor, &us) == 0 && us > copy->last_us)
		copy->last_us = us;
}

static struct vg_cursor whole(const struct vg_record_view *record)
{
	return (struct vg_cursor){ record->bytes, record->bytes + record->length };
}

static int gap_write(struct vg_profile_copy *copy, uint64_t bytes, struct vg_writer *writer)
{
	int rc;

	copy->damaged_bytes += bytes;
	writer->last_us = copy->last_us;
	rc = vg_writer_gap(writer, bytes);
	return rc != 0 ? rc : vg_writer_flush(writer);
}

static int chunk_copy(struct vg_profile_copy *copy, struct vg_chunk *chunk, struct vg_writer *writer)
{
	struct vg_cursor time = { 0 };
	struct vg_record_view record;
	int rc, failed = 0;

	while (failed == 0 && (rc = vg_record_next(&chunk->payload, &record)) > 0) {
		switch (record.kind) {
		case VG_RECORD_FUNCTION:
		case VG_RECORD_SYMBOL:
		case VG_RECORD_UNRESOLVED:
			if (!copy->is_recovery)
				continue;
			break;
		case VG_RECORD_END:
			copy->end = whole(&record);
			copy->end_time = time;
			continue;
		case VG_RECORD_TIME:
			time = whole(&record);
			time_remember(copy, &record);
			break;
		}
		failed = vg_writer_copy(writer, record.bytes, record.length);
	}
	/* If rc < 0, the rest of the payload is malformed.  Without is_recovery the rest is copied unchanged, so
	 * that readers of the copy report the same damage as readers of the original. */
	if (failed == 0 && rc < 0 && copy->is_recovery)
		failed = gap_write(copy, (uint64_t)(chunk->payload.end - chunk->payload.at), writer);
	else if (failed == 0 && rc < 0)
		failed = vg_writer_copy(writer, chunk->payload.at,
					(size_t)(chunk->payload.end - chunk->payload.at));
	return failed != 0 ? failed : vg_writer_flush(writer);
}

int vg_profile_copy_chunks(struct vg_profile_copy *copy, const struct vg_infile *file,
			   struct vg_writer *writer)
{
	struct vg_chunks chunks = { .bytes = file->bytes, .length = file->length };
	uint64_t damaged_bytes = 0;
	struct vg_damage damage;
	struct vg_chunk chunk;
	int rc = 0;

	while (rc == 0) {
		switch (vg_chunk_next(&chunks, &chunk, &damage)) {
		case VG_CHUNK_END:
			rc = damaged_bytes > 0 ? gap_write(copy, damaged_bytes, writer) : 0;
			writer->last_us = copy->last_us;
			return rc;
		case VG_CHUNK_DAMAGED:
			damaged_bytes += damage.bytes;
			break;
		case VG_CHUNK_GOOD:
			if (chunk.gap || damaged_bytes > 0)
				rc = gap_write(copy, damaged_bytes, writer);
			damaged_bytes = 0;
			if (rc == 0)
				rc = chunk_copy(copy, &chunk, writer);
			break;
		}
	}
	return rc;
}

int vg_profile_copy_end(const struct vg_profile_copy *copy, struct vg_writer *writer)
{
	const struct vg_cursor *time = &copy->end_time, *end = &copy->end;
	int rc = 0;

	/* If the buffer is empty, a new chunk begins here.  Its first record must be a TIME record, before END. */
	if (end->at != NULL && writer->buffer.size == 0 && time->at != NULL)
		rc = vg_writer_copy(writer, time->at, (size_t)(time->end - time->at));
	if (rc == 0 && end->at != NULL)
		rc = vg_writer_copy(writer, end->at, (size_t)(end->end - end->at));
	/* A file without a chunk is not a profile, so write an empty chunk. */
	if (rc == 0 && writer->file_bytes == 0 && writer->buffer.size == 0)
		rc = vg_writer_copy(writer, "", 0);
	return rc != 0 ? rc : vg_writer_flush(writer);
}
