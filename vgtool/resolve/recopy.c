/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/resolve/recopy.h"

static void time_note(struct vg_recopy *recopy, const struct vg_record_view *record)
{
	struct vg_cursor cursor = record->cursor;
	uint64_t us;

	if (vg_cursor_uint(&cursor, &us) == 0 && us > recopy->last_us)
		recopy->last_us = us;
}

static struct vg_cursor whole(const struct vg_record_view *record)
{
	return (struct vg_cursor){ record->bytes, record->bytes + record->length };
}

static int gap_mark(struct vg_recopy *recopy, uint64_t bytes, struct vg_writer *writer)
{
	int rc;

	recopy->damaged_bytes += bytes;
	writer->last_us = recopy->last_us;
	rc = vg_writer_gap(writer, bytes);
	return rc != 0 ? rc : vg_writer_flush(writer);
}

static int chunk_copy(struct vg_recopy *recopy, struct vg_chunk *chunk, struct vg_writer *writer)
{
	struct vg_cursor time = { 0 };
	struct vg_record_view record;
	int rc, failed = 0;

	while (failed == 0 && (rc = vg_record_next(&chunk->payload, &record)) > 0) {
		switch (record.kind) {
		case VG_RECORD_FUNCTION:
		case VG_RECORD_SYMBOL:
		case VG_RECORD_UNRESOLVED:
			if (!recopy->recovers)
				continue;
			break;
		case VG_RECORD_END:
			recopy->end = whole(&record);
			recopy->end_time = time;
			continue;
		case VG_RECORD_TIME:
			time = whole(&record);
			time_note(recopy, &record);
			break;
		}
		failed = vg_writer_copy(writer, record.bytes, record.length);
	}
	/* A payload that stops making sense is copied as it is: readers count it as they did. */
	if (failed == 0 && rc < 0 && recopy->recovers)
		failed = gap_mark(recopy, (uint64_t)(chunk->payload.end - chunk->payload.at), writer);
	else if (failed == 0 && rc < 0)
		failed = vg_writer_copy(writer, chunk->payload.at,
					(size_t)(chunk->payload.end - chunk->payload.at));
	return failed != 0 ? failed : vg_writer_flush(writer);
}

int vg_recopy_chunks(struct vg_recopy *recopy, const struct vg_infile *file,
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
			rc = damaged_bytes > 0 ? gap_mark(recopy, damaged_bytes, writer) : 0;
			writer->last_us = recopy->last_us;
			return rc;
		case VG_CHUNK_DAMAGED:
			damaged_bytes += damage.bytes;
			break;
		case VG_CHUNK_GOOD:
			if (chunk.gap || damaged_bytes > 0)
				rc = gap_mark(recopy, damaged_bytes, writer);
			damaged_bytes = 0;
			if (rc == 0)
				rc = chunk_copy(recopy, &chunk, writer);
			break;
		}
	}
	return rc;
}

int vg_recopy_end(const struct vg_recopy *recopy, struct vg_writer *writer)
{
	const struct vg_cursor *time = &recopy->end_time, *end = &recopy->end;
	int rc = 0;

	if (end->at != NULL && writer->buffer.size == 0 && time->at != NULL)
		rc = vg_writer_copy(writer, time->at, (size_t)(time->end - time->at));
	if (rc == 0 && end->at != NULL)
		rc = vg_writer_copy(writer, end->at, (size_t)(end->end - end->at));
	/* A file without a chunk is no profile, and that of chunks without a record is one. */
	if (rc == 0 && writer->file_bytes == 0 && writer->buffer.size == 0)
		rc = vg_writer_copy(writer, "", 0);
	return rc != 0 ? rc : vg_writer_flush(writer);
}
