/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/reading.h"

#include <errno.h>

#include "profile/reading_fields.h"
#include "profile/reading_modules.h"

/* Sets *index to the index of the label that has this id in the file.  If the label's record was lost, the label is
 * "?". */
static int label_get(struct vg_reader *reader, uint32_t id, uint32_t *index)
{
	struct vg_profile *profile = reader->profile;
	uint32_t text;
	int rc = vg_intern(&profile->label_ids, &id, sizeof id, index);

	if (rc <= 0)
		return rc;
	rc = vg_field_intern(profile, "?", 1, &text);
	return rc != 0 ? rc : vg_array_push(&profile->labels, &text);
}

/* A label's string, or VG_NONE for nil. */
static int field_label(struct vg_reader *reader, struct vg_record_view *record, uint32_t *string)
{
	uint32_t id, index;
	int rc = vg_field_optional_id(record, &id);

	*string = VG_NONE;
	if (rc != 0 || id == VG_NONE)
		return rc;
	rc = label_get(reader, id, &index);
	if (rc == 0)
		*string = reader->profile->labels.items[index];
	return rc;
}

int vg_on_label(struct vg_reader *reader, struct vg_record_view *record)
{
	uint32_t id, index, string;
	const char *text;
	size_t length;
	int rc;

	if (vg_field_u32(record, &id) != 0 || vg_cursor_str(&record->cursor, &text, &length) != 0)
		return -EBADMSG;
	rc = vg_field_intern(reader->profile, text,
			   length < VG_LABEL_MAX_BYTES ? length : VG_LABEL_MAX_BYTES, &string);
	if (rc == 0)
		rc = label_get(reader, id, &index);
	if (rc == 0)
		reader->profile->labels.items[index] = string;
	return rc;
}

/* The time of an event is relative to the previous event, so an event of an unknown type also advances event_ns. */
static int event_time(struct vg_reader *reader, struct vg_record_view *record,
		      struct vg_event *event)
{
	int64_t since_ns, now_ns;

	if (vg_cursor_int(&record->cursor, &since_ns) != 0 ||
	    __builtin_add_overflow(reader->event_ns, since_ns, &now_ns) || now_ns < 0 ||
	    (uint64_t)now_ns / 1000 > VG_TIME_MAX_US)
		return -EBADMSG;
	reader->event_ns = now_ns;
	event->time_ns = (uint64_t)now_ns;
	return 0;
}

static int event_value(struct vg_record_view *record, struct vg_event *event)
{
	int64_t value;
	int rc;

	if (event->type != VG_EVENT_COUNTER)
		return vg_cursor_uint(&record->cursor, &event->value);
	rc = vg_cursor_int(&record->cursor, &value);
	event->value = rc == 0 ? (uint64_t)value : 0;
	return rc;
}

int vg_on_event(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_event event = { 0 };
	uint32_t thread;
	uint64_t type;
	int rc;

	if (vg_cursor_uint(&record->cursor, &type) != 0 || vg_field_u32(record, &thread) != 0 ||
	    event_time(reader, record, &event) != 0)
		return -EBADMSG;
	if (type >= VG_EVENT_TYPES) {
		reader->profile->unknown_records++;
		return 0;
	}
	event.type = (uint8_t)type;
	rc = field_label(reader, record, &event.kind);
	if (rc == 0)
		rc = field_label(reader, record, &event.label);
	if (rc != 0 || event_value(record, &event) != 0)
		return rc != 0 ? rc : -EBADMSG;
	if ((record->fields > 6 && vg_cursor_uint(&record->cursor, &event.token) != 0) ||
	    (record->fields > 7 && vg_cursor_uint(&record->cursor, &event.parent) != 0))
		return -EBADMSG;
	rc = vg_reader_thread(reader, thread, &event.thread);
	return rc != 0 ? rc : vg_array_push(&reader->profile->events, &event);
}

/* If the header was lost, perf counters are named "counter 1" and so on. */
static int counters_name(struct vg_profile *profile, uint32_t count)
{
	struct vg_header *header = &profile->header;
	char name[] = "counter 1";
	int rc = 0;

	for (; rc == 0 && header->counter_count < count; header->counter_count++) {
		name[sizeof name - 2] = (char)('1' + header->counter_count);
		rc = vg_field_intern(profile, name, sizeof name - 1,
				   &header->counters[header->counter_count]);
	}
	return rc;
}

int vg_on_perf_counters(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;
	struct vg_counter_reading reading = { 0 };
	const struct vg_thread *thread;
	uint32_t id, values;
	uint64_t after_ns;
	int rc;

	if (vg_field_u32(record, &id) != 0 || vg_field_time_ns(record, &after_ns) != 0 ||
	    vg_cursor_array(&record->cursor, &values) != 0)
		return -EBADMSG;
	if (values > VG_PERF_COUNTERS_MAX)
		values = VG_PERF_COUNTERS_MAX;
	for (uint32_t i = 0; i < values; i++) {
		if (vg_cursor_uint(&record->cursor, &reading.values[i]) != 0)
			return -EBADMSG;
	}
	rc = vg_reader_thread(reader, id, &reading.thread);
	if (rc == 0)
		rc = counters_name(profile, values);
	if (rc != 0)
		return rc;
	thread = &profile->threads.items[reading.thread];
	reading.sample = thread->last_sample;
	reading.time_ns = thread->last_ns + after_ns;
	return vg_array_push(&profile->counter_readings, &reading);
}
