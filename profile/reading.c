/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/reading.h"

#include <errno.h>
#include <string.h>

/* The latest time in a profile: 285 years.  The limit keeps sums of times in nanoseconds from overflowing. */
static const uint64_t TIME_MAX_US = UINT64_C(1) << 53;

/* ---- fields: each function takes one off the record, and returns 0, -EBADMSG or -ENOMEM ---- */

static int field_time_ns(struct vg_record_view *record, uint64_t *time_ns)
{
	uint64_t us;

	if (vg_cursor_uint(&record->cursor, &us) != 0 || us > TIME_MAX_US)
		return -EBADMSG;
	*time_ns = us * 1000;
	return 0;
}

/* A time that counts from an earlier one.  The difference can be negative, because the samples and the events of
 * different threads may be out of order. */
static int field_since(struct vg_record_view *record, uint64_t before, uint64_t most, uint64_t *time)
{
	int64_t since;

	if (vg_cursor_int(&record->cursor, &since) != 0 || __builtin_add_overflow(before, since, time) || *time > most)
		return -EBADMSG;
	return 0;
}

static int field_u32(struct vg_record_view *record, uint32_t *value)
{
	uint64_t wide;

	if (vg_cursor_uint(&record->cursor, &wide) != 0 || wide >= VG_NONE)
		return -EBADMSG;
	*value = (uint32_t)wide;
	return 0;
}

static int field_text(struct vg_profile *profile, struct vg_record_view *record, uint32_t *string)
{
	const char *text;
	size_t length;
	int rc = vg_cursor_str(&record->cursor, &text, &length);

	return rc != 0 ? rc : vg_profile_add_string(profile, text, length, string);
}

/* Without directories: viewers open the files that some formats name. */
static int field_file_name(struct vg_profile *profile, struct vg_record_view *record, uint32_t *string)
{
	const char *text, *slash;
	size_t length;
	int rc = vg_cursor_str(&record->cursor, &text, &length);

	if (rc != 0)
		return rc;
	slash = memrchr(text, '/', length);
	if (slash != NULL) {
		length -= (size_t)(slash + 1 - text);
		text = slash + 1;
	}
	return vg_profile_add_string(profile, text, length, string);
}

/* If the next field is nil, takes it off the record and returns true. */
static bool field_is_nil(struct vg_record_view *record)
{
	struct vg_cursor ahead = record->cursor;
	struct vg_item item;

	if (vg_cursor_next(&ahead, &item) != 0 || item.token != VG_TOKEN_NIL)
		return false;
	record->cursor = ahead;
	return true;
}

/* An id; for nil, VG_NONE. */
static int field_optional_id(struct vg_record_view *record, uint32_t *id)
{
	*id = VG_NONE;
	return field_is_nil(record) ? 0 : field_u32(record, id);
}

/* ---- the session ---- */

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

		rc = vg_profile_add_string(reader->profile, text + at,
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
			return field_u32(record, fields[i].number32);
		return field_text(reader->profile, record, fields[i].text);
	}
	reader->profile->unknown_fields++;
	return vg_cursor_skip(&record->cursor);
}

static int on_header(struct vg_reader *reader, struct vg_record_view *record)
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

static int on_time(struct vg_reader *reader, struct vg_record_view *record)
{
	uint64_t time_ns;
	int rc = field_time_ns(record, &time_ns);

	if (rc != 0)
		return rc;
	reader->now_us = time_ns / 1000;
	if (reader->chunk_begins)
		reader->event_ns = time_ns;
	reader->chunk_begins = false;
	if (reader->segment_begins) {
		reader->segment_begins = false;
		reader->segment_us = reader->now_us;
		reader->segment++;
	}
	return 0;
}

/* LOST or STATS.  Replaces the counts of an earlier record of the same kind: only the last record is valid. */
static int on_counts(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;
	struct vg_counts *counts = record->kind == VG_RECORD_LOST ? &profile->lost : &profile->stats;
	uint32_t count;
	int rc = vg_cursor_map(&record->cursor, &count);

	counts->count = 0;
	for (; rc == 0 && count > 0; count--) {
		struct vg_count one;

		rc = field_text(profile, record, &one.name);
		if (rc == 0)
			rc = vg_cursor_uint(&record->cursor, &one.value);
		if (rc == 0)
			rc = vg_array_push(counts, &one);
	}
	return rc;
}

static int on_gap(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_damage damage = { .problem = "damaged chunks were left out when this profile was copied",
				    .offset = (uint64_t)(record->bytes - reader->bytes) };

	if (vg_cursor_uint(&record->cursor, &damage.bytes) != 0)
		return -EBADMSG;
	reader->segment_begins = true;
	return vg_profile_add_damage(reader->profile, &damage);
}

static int on_end(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;
	int rc = field_text(reader->profile, record, &profile->end_reason);

	return rc != 0 ? rc : field_time_ns(record, &profile->duration_ns);
}

/* ---- modules ---- */

/* Sets *index to the index of the module or thread that has this id in the file.  If the record of the module or thread
 * was lost, adds a placeholder to the model.  Returns 0 or -ENOMEM. */
static int module_index(struct vg_reader *reader, uint32_t id, uint32_t *index)
{
	struct vg_profile *profile = reader->profile;
	struct vg_module module = { .id = id, .unload_ns = UINT64_MAX };
	int rc = vg_intern(&profile->module_ids, &id, sizeof id, index);

	if (rc <= 0)
		return rc;
	rc = vg_profile_add_string(profile, "?", 1, &module.name);
	return rc != 0 ? rc : vg_array_push(&profile->modules, &module);
}

/* Takes a module's id off the record.  *index is the index of the module, or VG_NONE for nil.  Returns 0, -EBADMSG or
 * -ENOMEM. */
static int module_field(struct vg_reader *reader, struct vg_record_view *record, uint32_t *index)
{
	uint32_t id;
	int rc = field_optional_id(record, &id);

	*index = VG_NONE;
	return rc != 0 || id == VG_NONE ? rc : module_index(reader, id, index);
}

static int thread_index(struct vg_reader *reader, uint32_t id, uint32_t *index)
{
	struct vg_profile *profile = reader->profile;
	struct vg_thread thread = { .id = id, .end_ns = UINT64_MAX, .last_segment = reader->segment,
				    .last_sample = VG_NONE,
				    .begin_ns = reader->segment_us * 1000,
				    .last_ns = reader->segment_us * 1000 };
	int rc = vg_intern(&profile->thread_ids, &id, sizeof id, index);

	if (rc <= 0)
		return rc;
	rc = vg_profile_add_string(profile, "?", 1, &thread.name);
	return rc != 0 ? rc : vg_array_push(&profile->threads, &thread);
}

static int on_module(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_module module = { .unload_ns = UINT64_MAX };
	const unsigned char *build_id;
	size_t length;
	uint32_t index;
	int rc;

	if (field_u32(record, &module.id) != 0 || field_time_ns(record, &module.load_ns) != 0)
		return -EBADMSG;
	rc = field_file_name(reader->profile, record, &module.name);
	if (rc != 0 || vg_cursor_bin(&record->cursor, &build_id, &length) != 0 ||
	    length > sizeof module.build_id ||
	    vg_cursor_uint(&record->cursor, &module.base) != 0 ||
	    vg_cursor_uint(&record->cursor, &module.size_bytes) != 0)
		return rc != 0 ? rc : -EBADMSG;
	memcpy(module.build_id, build_id, length);
	module.build_id_bytes = (uint8_t)length;
	rc = module_index(reader, module.id, &index);
	if (rc == 0)
		reader->profile->modules.items[index] = module;
	return rc;
}

static int on_module_unload(struct vg_reader *reader, struct vg_record_view *record)
{
	uint64_t time_ns;
	uint32_t id, index;
	int rc;

	if (field_u32(record, &id) != 0 || field_time_ns(record, &time_ns) != 0)
		return -EBADMSG;
	rc = module_index(reader, id, &index);
	if (rc == 0)
		reader->profile->modules.items[index].unload_ns = time_ns;
	return rc;
}

static int on_thread(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_thread thread = { .end_ns = UINT64_MAX, .last_segment = reader->segment,
				    .last_sample = VG_NONE };
	uint32_t index, tid;
	int rc;

	if (field_u32(record, &thread.id) != 0 || field_time_ns(record, &thread.begin_ns) != 0 ||
	    field_u32(record, &tid) != 0)
		return -EBADMSG;
	rc = field_text(reader->profile, record, &thread.name);
	if (rc == 0)
		rc = thread_index(reader, thread.id, &index);
	if (rc != 0)
		return rc;
	thread.tid = (int32_t)tid;
	thread.last_ns = thread.begin_ns;
	thread.last_sample = reader->profile->threads.items[index].last_sample;
	reader->profile->threads.items[index] = thread;
	return 0;
}

static int on_thread_name(struct vg_reader *reader, struct vg_record_view *record)
{
	uint64_t time_ns;
	uint32_t id, index, name;
	int rc;

	if (field_u32(record, &id) != 0 || field_time_ns(record, &time_ns) != 0)
		return -EBADMSG;
	rc = field_text(reader->profile, record, &name);
	if (rc == 0)
		rc = thread_index(reader, id, &index);
	if (rc == 0)
		reader->profile->threads.items[index].name = name;
	return rc;
}

static int on_thread_end(struct vg_reader *reader, struct vg_record_view *record)
{
	uint64_t time_ns;
	uint32_t id, index;
	int rc;

	if (field_u32(record, &id) != 0 || field_time_ns(record, &time_ns) != 0)
		return -EBADMSG;
	rc = thread_index(reader, id, &index);
	if (rc == 0)
		reader->profile->threads.items[index].end_ns = time_ns;
	return rc;
}

/* ---- threads, stacks and samples ---- */

/* Our writers give stacks the ids VG_STACK_ROOTS, VG_STACK_ROOTS + 1 and so on, in the order of their records.  A
 * node's index then follows from its id.  Only files of other writers need a table of ids.  For a large profile, this
 * table would take more memory than any other part. */
static bool ids_are_dense(const struct vg_profile *profile)
{
	return profile->stack_ids.count == 0;
}

/* Returns 1 if the id is new, 0 if a node has it already, or -ENOMEM.  A new id belongs to the next node. */
static int id_add(struct vg_profile *profile, uint32_t id)
{
	uint32_t index;
	int rc = 0;

	if (ids_are_dense(profile) && id - VG_STACK_ROOTS == profile->stacks.count)
		return 1;
	/* The first other id needs the table, which then gets the ids of the nodes so far. */
	for (uint32_t i = profile->stack_ids.count; rc >= 0 && i < profile->stacks.count; i++) {
		uint32_t node_id = VG_STACK_ROOTS + i;

		rc = vg_intern(&profile->stack_ids, &node_id, sizeof node_id, &index);
	}
	return rc < 0 ? rc : vg_intern(&profile->stack_ids, &id, sizeof id, &index);
}

/* Sets *index to the node that has this id in the file, and *end to the reason why its walk ended.  *index is VG_NONE
 * for a root.  Returns false if the node was lost. */
static bool stack_find(const struct vg_profile *profile, uint32_t id, uint32_t *index, uint8_t *end)
{
	*index = VG_NONE;
	*end = id < VG_STACK_ROOTS ? (uint8_t)id : VG_WALK_UNREADABLE;
	if (id < VG_STACK_ROOTS)
		return true;
	if (ids_are_dense(profile)) {
		if (id - VG_STACK_ROOTS >= profile->stacks.count)
			return false;
		*index = id - VG_STACK_ROOTS;
	} else if (!vg_intern_find(&profile->stack_ids, &id, sizeof id, index)) {
		return false;
	}
	*end = profile->stacks.items[*index].end;
	return true;
}

static int on_stack(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;
	struct vg_stack stack = { .depth = 1 };
	uint32_t id, parent;
	uint64_t found_by = VG_FOUND_BY_CFI;
	int rc;

	if (field_u32(record, &id) != 0 || id < VG_STACK_ROOTS || field_u32(record, &parent) != 0)
		return -EBADMSG;
	rc = module_field(reader, record, &stack.module);
	if (rc != 0 || vg_cursor_uint(&record->cursor, &stack.address) != 0)
		return rc != 0 ? rc : -EBADMSG;
	if (record->fields > 4 && (vg_cursor_uint(&record->cursor, &found_by) != 0 || found_by > UINT8_MAX))
		return -EBADMSG;
	stack.found_by = (uint8_t)found_by;
	stack_find(profile, parent, &stack.parent, &stack.end);
	if (stack.parent != VG_NONE)
		stack.depth = profile->stacks.items[stack.parent].depth + 1;
	if (stack.depth > VG_STACK_DEPTH_MAX)
		return -EBADMSG;
	rc = id_add(profile, id);
	if (rc == 0)
		return -EBADMSG;        /* a second record with this id: the first record is kept */
	return rc < 0 ? rc : vg_array_push(&profile->stacks, &stack);
}

static int on_sample(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;
	struct vg_sample sample = { .count = 1 };
	struct vg_thread *thread;
	uint64_t now_us, cpu_units;
	uint32_t id, stack;
	int rc;

	if (field_u32(record, &id) != 0 || field_since(record, reader->now_us, TIME_MAX_US, &now_us) != 0 ||
	    field_u32(record, &stack) != 0 || vg_cursor_uint(&record->cursor, &cpu_units) != 0 ||
	    cpu_units > TIME_MAX_US * 1000 / VG_CPU_UNIT_NS)
		return -EBADMSG;
	rc = thread_index(reader, id, &sample.thread);
	if (rc != 0)
		return rc;
	reader->now_us = now_us;
	sample.time_ns = now_us * 1000;
	sample.cpu_ns = cpu_units * VG_CPU_UNIT_NS;
	if (!stack_find(profile, stack, &sample.stack, &sample.end))
		profile->samples_without_stack++;
	thread = &profile->threads.items[sample.thread];
	if (thread->last_segment != reader->segment) {
		thread->last_segment = reader->segment;
		if (thread->last_ns < reader->segment_us * 1000)
			thread->last_ns = reader->segment_us * 1000;
	}
	if (sample.time_ns > thread->last_ns)
		sample.wall_ns = sample.time_ns - thread->last_ns;
	/* [wall_us or nil, [count, [interval]]]: fields that most samples do not have. */
	if ((record->fields > 4 && !field_is_nil(record) && field_time_ns(record, &sample.wall_ns) != 0) ||
	    (record->fields > 5 && (field_u32(record, &sample.count) != 0 || sample.count == 0)) ||
	    (record->fields > 6 && vg_cursor_uint(&record->cursor, &sample.interval) != 0))
		return -EBADMSG;
	thread->last_ns = sample.time_ns;
	thread->last_sample = (uint32_t)profile->samples.count;
	profile->samples_total += sample.count;
	return vg_array_push(&profile->samples, &sample);
}

/* ---- events ---- */

/* Sets *index to the index of the label that has this id in the file.  If the label's record was lost, the label is
 * "?". */
static int label_get(struct vg_reader *reader, uint32_t id, uint32_t *index)
{
	struct vg_profile *profile = reader->profile;
	uint32_t text;
	int rc = vg_intern(&profile->label_ids, &id, sizeof id, index);

	if (rc <= 0)
		return rc;
	rc = vg_profile_add_string(profile, "?", 1, &text);
	return rc != 0 ? rc : vg_array_push(&profile->labels, &text);
}

/* A label's string, or VG_NONE for nil. */
static int field_label(struct vg_reader *reader, struct vg_record_view *record, uint32_t *string)
{
	uint32_t id, index;
	int rc = field_optional_id(record, &id);

	*string = VG_NONE;
	if (rc != 0 || id == VG_NONE)
		return rc;
	rc = label_get(reader, id, &index);
	if (rc == 0)
		*string = reader->profile->labels.items[index];
	return rc;
}

static int on_label(struct vg_reader *reader, struct vg_record_view *record)
{
	uint32_t id, index, string;
	const char *text;
	size_t length;
	int rc;

	if (field_u32(record, &id) != 0 || vg_cursor_str(&record->cursor, &text, &length) != 0)
		return -EBADMSG;
	rc = vg_profile_add_string(reader->profile, text, length < VG_LABEL_MAX_BYTES ? length : VG_LABEL_MAX_BYTES,
				   &string);
	if (rc == 0)
		rc = label_get(reader, id, &index);
	if (rc == 0)
		reader->profile->labels.items[index] = string;
	return rc;
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

static int on_event(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_event event = { 0 };
	uint32_t thread;
	uint64_t type;
	int rc;

	if (vg_cursor_uint(&record->cursor, &type) != 0 || field_u32(record, &thread) != 0 ||
	    field_since(record, reader->event_ns, TIME_MAX_US * 1000 + 999, &event.time_ns) != 0)
		return -EBADMSG;
	reader->event_ns = event.time_ns; /* for an event of an unknown type, too: the next one counts from here */
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
	rc = thread_index(reader, thread, &event.thread);
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
		rc = vg_profile_add_string(profile, name, sizeof name - 1,
					   &header->counters[header->counter_count]);
	}
	return rc;
}

static int on_perf_counters(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;
	struct vg_counter_reading reading = { 0 };
	const struct vg_thread *thread;
	uint32_t id, values;
	uint64_t after_ns;
	int rc;

	if (field_u32(record, &id) != 0 || field_time_ns(record, &after_ns) != 0 ||
	    vg_cursor_array(&record->cursor, &values) != 0)
		return -EBADMSG;
	if (values > VG_PERF_COUNTERS_MAX)
		values = VG_PERF_COUNTERS_MAX;
	for (uint32_t i = 0; i < values; i++) {
		if (vg_cursor_uint(&record->cursor, &reading.values[i]) != 0)
			return -EBADMSG;
	}
	rc = thread_index(reader, id, &reading.thread);
	if (rc == 0)
		rc = counters_name(profile, values);
	if (rc != 0)
		return rc;
	thread = &profile->threads.items[reading.thread];
	reading.sample = thread->last_sample;
	reading.time_ns = thread->last_ns + after_ns;
	return vg_array_push(&profile->counter_readings, &reading);
}

/* ---- symbols ---- */

static int function_get(struct vg_reader *reader, uint32_t id, uint32_t *index)
{
	struct vg_profile *profile = reader->profile;
	struct vg_function function = { .id = id, .file = VG_NONE, .module = VG_NONE };
	int rc = vg_intern(&profile->function_ids, &id, sizeof id, index);

	if (rc <= 0)
		return rc;
	rc = vg_profile_add_string(profile, "?", 1, &function.name);
	return rc != 0 ? rc : vg_array_push(&profile->functions, &function);
}

static int on_function(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_function function = { .file = VG_NONE };
	uint32_t index;
	int rc;

	if (field_u32(record, &function.id) != 0)
		return -EBADMSG;
	rc = field_text(reader->profile, record, &function.name);
	if (rc == 0 && !field_is_nil(record))
		rc = field_text(reader->profile, record, &function.file);
	if (rc == 0)
		rc = module_field(reader, record, &function.module);
	if (rc == 0)
		rc = function_get(reader, function.id, &index);
	if (rc == 0)
		reader->profile->functions.items[index] = function;
	return rc;
}

static int on_symbol(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;
	struct vg_symbol symbol = { .first = (uint32_t)profile->symbol_lines.count };
	struct vg_symbol_key key = { 0 };
	uint32_t count, index;
	int rc = module_field(reader, record, &key.module);

	if (rc != 0 || vg_cursor_uint(&record->cursor, &key.address) != 0 ||
	    vg_cursor_array(&record->cursor, &count) != 0 || count % 2 != 0)
		return rc != 0 ? rc : -EBADMSG;
	for (; count > 0; count -= 2) {
		struct vg_symbol_line line;
		uint32_t id;

		if (field_u32(record, &id) != 0 || field_u32(record, &line.line) != 0)
			return -EBADMSG;
		rc = function_get(reader, id, &line.function);
		if (rc == 0)
			rc = vg_array_push(&profile->symbol_lines, &line);
		if (rc != 0)
			return rc;
	}
	symbol.count = (uint32_t)profile->symbol_lines.count - symbol.first;
	profile->resolved = true;
	rc = vg_intern(&profile->symbol_keys, &key, sizeof key, &index);
	if (rc == 0)
		return -EBADMSG;
	return rc < 0 ? rc : vg_array_push(&profile->symbols, &symbol);
}

static int on_unresolved(struct vg_reader *reader, struct vg_record_view *record)
{
	uint32_t index;
	int rc = module_field(reader, record, &index);

	if (rc == 0 && index != VG_NONE)
		reader->profile->modules.items[index].unresolved = true;
	reader->profile->resolved = true;
	return rc;
}

static int on_jit_code(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_jit_code code;
	int rc;

	if (vg_cursor_uint(&record->cursor, &code.address) != 0 ||
	    vg_cursor_uint(&record->cursor, &code.size_bytes) != 0)
		return -EBADMSG;
	rc = field_text(reader->profile, record, &code.name);
	return rc != 0 ? rc : vg_array_push(&reader->profile->jit_code, &code);
}

/* In the model a kernel symbol is a symbol like those of vgtool resolve, with a function of its own. */
static int on_kernel_symbol(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;
	struct vg_function function = { .file = VG_NONE };
	struct vg_symbol_key key = { 0 };
	struct vg_symbol_line line = { 0 };
	uint32_t ignored;
	int rc = module_field(reader, record, &function.module);

	if (rc == 0 && (function.module == VG_NONE || vg_cursor_uint(&record->cursor, &key.address) != 0))
		rc = -EBADMSG;
	if (rc == 0)
		rc = field_text(reader->profile, record, &function.name);
	if (rc != 0)
		return rc;
	key.module = function.module;
	/* function_ids must have an entry for each function.  The key cannot be equal to an id of the file, because it
	 * has another length. */
	rc = vg_intern(&profile->function_ids, &key, sizeof key, &ignored);
	if (rc <= 0)
		return rc;              /* 0: a second record with the same number */
	line.function = (uint32_t)profile->functions.count;
	rc = vg_array_push(&profile->functions, &function);
	profile->kernel_symbols++;
	return rc != 0 ? rc : vg_profile_add_symbol(profile, key.module, key.address, &line, 1);
}

/* ---- records and chunks ---- */

/* By kind: the function that reads the record, and the number of fields that this version knows.  PAUSES and RATE are
 * not in the model.  Kinds of later versions and their further fields are skipped and counted. */
static const struct {
	int (*read)(struct vg_reader *, struct vg_record_view *);
	uint32_t fields;
} kinds[] = {
	[VG_RECORD_HEADER] = { on_header, 1 },
	[VG_RECORD_TIME] = { on_time, 1 },
	[VG_RECORD_MODULE] = { on_module, 6 },
	[VG_RECORD_MODULE_UNLOAD] = { on_module_unload, 2 },
	[VG_RECORD_THREAD] = { on_thread, 4 },
	[VG_RECORD_THREAD_NAME] = { on_thread_name, 3 },
	[VG_RECORD_THREAD_END] = { on_thread_end, 2 },
	[VG_RECORD_STACK] = { on_stack, 5 },
	[VG_RECORD_SAMPLE] = { on_sample, 7 },
	[VG_RECORD_LOST] = { on_counts, 1 },
	[VG_RECORD_STATS] = { on_counts, 1 },
	[VG_RECORD_GAP] = { on_gap, 1 },
	[VG_RECORD_END] = { on_end, 3 },
	[VG_RECORD_FUNCTION] = { on_function, 4 },
	[VG_RECORD_SYMBOL] = { on_symbol, 3 },
	[VG_RECORD_UNRESOLVED] = { on_unresolved, 1 },
	[VG_RECORD_PAUSES] = { NULL, 1 },
	[VG_RECORD_RATE] = { NULL, 2 },
	[VG_RECORD_JIT_CODE] = { on_jit_code, 3 },
	[VG_RECORD_LABEL] = { on_label, 2 },
	[VG_RECORD_EVENT] = { on_event, 8 },
	[VG_RECORD_PERF_COUNTERS] = { on_perf_counters, 3 },
	[VG_RECORD_KERNEL_SYMBOL] = { on_kernel_symbol, 3 },
};

static int record_read(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;

	if (record->kind >= sizeof kinds / sizeof *kinds) {
		profile->unknown_records++;
		return 0;
	}
	if (record->fields > kinds[record->kind].fields)
		profile->unknown_fields += record->fields - kinds[record->kind].fields;
	return kinds[record->kind].read != NULL ? kinds[record->kind].read(reader, record) : 0;
}

int vg_reader_chunk(struct vg_reader *reader, struct vg_chunk *chunk)
{
	struct vg_damage damage = { .problem = "a record is malformed" };
	struct vg_record_view record;
	int rc;

	reader->segment_begins = reader->segment_begins || chunk->gap;
	reader->chunk_begins = true;
	reader->event_ns = reader->now_us * 1000;
	for (;;) {
		const unsigned char *start = chunk->payload.at;

		rc = vg_record_next(&chunk->payload, &record);
		if (rc == 0)
			return 0;
		if (rc > 0)
			rc = record_read(reader, &record);
		else
			chunk->payload.at = chunk->payload.end;
		if (rc == -EBADMSG) {
			damage.offset = (uint64_t)(start - reader->bytes);
			damage.bytes = (uint64_t)(chunk->payload.at - start);
			rc = vg_profile_add_damage(reader->profile, &damage);
		}
		if (rc != 0)
			return rc;
	}
}
