/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/reading.h"

#include <errno.h>
#include <string.h>

#include "profile/damage.h"
#include "profile/reading_fields.h"

/* Reads the names of the perf counters, which are separated by commas. */
static int header_counters(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_header *header = &reader->profile->header;
	const char *text;
	size_t length, at = 0;
	int rc = vg_cursor_str(&record->cursor, &text, &length);

	header->counter_count = 0;
	while (rc == 0 && at < length && header->counter_count < VG_PERF_COUNTERS_MAX) {
		const char *comma = memchr(text + at, ',', length - at);
		size_t end = comma != NULL ? (size_t)(comma - text) : length;

		rc = vg_field_intern(reader->profile, text + at,
				   end - at < VG_LABEL_MAX_BYTES ? end - at : VG_LABEL_MAX_BYTES,
				   &header->counters[header->counter_count]);
		header->counter_count += rc == 0;
		at = end + 1;
	}
	return rc;
}

static int header_field(struct vg_reader *reader, struct vg_record_view *record, const char *name, size_t length)
{
	struct vg_header *header = &reader->profile->header;
	struct { const char *name; uint64_t *number; uint32_t *number32, *text; } fields[] = {
		{ "version", NULL, &header->version, NULL },
		{ "period_ns", &header->period_ns, NULL, NULL },
		{ "start_unix_s", &header->start_unix_s, NULL, NULL },
		{ "start_us", &header->start_us, NULL, NULL },
		{ "window_begin_us", &header->window_begin_ns, NULL, NULL },
		{ "max_frames", NULL, &header->max_frames, NULL },
		{ "mode", NULL, NULL, &header->mode_name },
		{ "writer", NULL, NULL, &header->writer },
		{ "arch", NULL, NULL, &header->arch },
		{ "program", NULL, NULL, &header->program },
	};

	if (length == strlen("counters") && memcmp(name, "counters", length) == 0)
		return header_counters(reader, record);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (strlen(fields[i].name) != length || memcmp(fields[i].name, name, length) != 0)
			continue;
		if (fields[i].number != NULL)
			return vg_cursor_uint(&record->cursor, fields[i].number);
		if (fields[i].number32 != NULL)
			return vg_field_u32(record, fields[i].number32);
		return vg_field_text(reader, record, fields[i].text);
	}
	reader->profile->unknown_fields++;
	return vg_cursor_skip(&record->cursor);
}

int vg_on_header(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_header *header = &reader->profile->header;
	uint32_t count;
	int rc = vg_cursor_map(&record->cursor, &count);

	header->window_begin_ns = 0;
	for (; rc == 0 && count > 0; count--) {
		const char *name;
		size_t length;

		rc = vg_cursor_str(&record->cursor, &name, &length);
		if (rc == 0)
			rc = header_field(reader, record, name, length);
	}
	if (rc == 0 && __builtin_mul_overflow(header->window_begin_ns, (uint64_t)1000, &header->window_begin_ns))
		header->window_begin_ns = 0;
	return rc;
}

int vg_on_time(struct vg_reader *reader, struct vg_record_view *record)
{
	uint64_t time_ns;
	int rc = vg_field_time_ns(record, &time_ns);

	if (rc != 0)
		return rc;
	reader->now_us = time_ns / 1000;
	if (reader->chunk_begins)
		reader->event_ns = (int64_t)time_ns;
	reader->chunk_begins = false;
	if (reader->segment_begins) {
		reader->segment_begins = false;
		reader->segment_us = reader->now_us;
		reader->segment++;
	}
	return 0;
}

/* Replaces the counts of an earlier record of the same kind: only the last record is valid. */
static int read_counts(struct vg_reader *reader, struct vg_record_view *record, struct vg_counts *counts)
{
	uint32_t count;
	int rc = vg_cursor_map(&record->cursor, &count);

	counts->count = 0;
	for (; rc == 0 && count > 0; count--) {
		struct vg_count one;

		rc = vg_field_text(reader, record, &one.name);
		if (rc == 0)
			rc = vg_cursor_uint(&record->cursor, &one.value);
		if (rc == 0)
			rc = vg_array_push(counts, &one);
	}
	return rc;
}

int vg_on_lost(struct vg_reader *reader, struct vg_record_view *record)
{
	return read_counts(reader, record, &reader->profile->lost);
}

int vg_on_stats(struct vg_reader *reader, struct vg_record_view *record)
{
	return read_counts(reader, record, &reader->profile->stats);
}

int vg_on_gap(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_damage damage = { .problem = "damaged chunks were left out when this profile was copied",
				    .offset = (uint64_t)(record->bytes - reader->bytes) };

	if (vg_cursor_uint(&record->cursor, &damage.bytes) != 0)
		return -EBADMSG;
	reader->segment_begins = true;
	return vg_damage_add(reader->profile, &damage);
}

int vg_on_end(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;
	int rc = vg_field_text(reader, record, &profile->end_reason);

	return rc != 0 ? rc : vg_field_time_ns(record, &profile->duration_ns);
}
