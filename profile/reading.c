/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/reading.h"

#include <errno.h>
#include <string.h>

#include "profile/reading_fields.h"

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
			return vg_field_u32(record, fields[i].number32);
		return vg_field_text(reader->profile, record, fields[i].text);
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

		rc = vg_field_text(reader->profile, record, &one.name);
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
	return vg_profile_add_damage(reader->profile, &damage);
}

int vg_on_end(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;
	int rc = vg_field_text(reader->profile, record, &profile->end_reason);

	return rc != 0 ? rc : vg_field_time_ns(record, &profile->duration_ns);
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
	int rc = vg_field_optional_id(record, &id);

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

int vg_on_module(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_module module = { .unload_ns = UINT64_MAX };
	const unsigned char *build_id;
	size_t length;
	uint32_t index;
	int rc;

	if (vg_field_u32(record, &module.id) != 0 || vg_field_time_ns(record, &module.load_ns) != 0)
		return -EBADMSG;
	rc = vg_field_file_name(reader->profile, record, &module.name);
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

int vg_on_module_unload(struct vg_reader *reader, struct vg_record_view *record)
{
	uint64_t time_ns;
	uint32_t id, index;
	int rc;

	if (vg_field_u32(record, &id) != 0 || vg_field_time_ns(record, &time_ns) != 0)
		return -EBADMSG;
	rc = module_index(reader, id, &index);
	if (rc == 0)
		reader->profile->modules.items[index].unload_ns = time_ns;
	return rc;
}

int vg_on_thread(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_thread thread = { .end_ns = UINT64_MAX, .last_segment = reader->segment,
				    .last_sample = VG_NONE };
	uint32_t index, tid;
	int rc;

	if (vg_field_u32(record, &thread.id) != 0 || vg_field_time_ns(record, &thread.begin_ns) != 0 ||
	    vg_field_u32(record, &tid) != 0)
		return -EBADMSG;
	rc = vg_field_text(reader->profile, record, &thread.name);
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

int vg_on_thread_name(struct vg_reader *reader, struct vg_record_view *record)
{
	uint64_t time_ns;
	uint32_t id, index, name;
	int rc;

	if (vg_field_u32(record, &id) != 0 || vg_field_time_ns(record, &time_ns) != 0)
		return -EBADMSG;
	rc = vg_field_text(reader->profile, record, &name);
	if (rc == 0)
		rc = thread_index(reader, id, &index);
	if (rc == 0)
		reader->profile->threads.items[index].name = name;
	return rc;
}

int vg_on_thread_end(struct vg_reader *reader, struct vg_record_view *record)
{
	uint64_t time_ns;
	uint32_t id, index;
	int rc;

	if (vg_field_u32(record, &id) != 0 || vg_field_time_ns(record, &time_ns) != 0)
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

static int ids_fill(struct vg_profile *profile)
{
	int rc = 0;

	for (uint32_t i = 0; rc >= 0 && i < profile->stacks.count; i++) {
		uint32_t id = VG_STACK_ROOTS + i, index;

		rc = vg_intern(&profile->stack_ids, &id, sizeof id, &index);
	}
	return rc < 0 ? rc : 0;
}

/* Returns 1 if the id is new, 0 if a node has it already, or -ENOMEM.  A new id belongs to the next node. */
static int id_add(struct vg_profile *profile, uint32_t id)
{
	uint32_t index;
	int rc = 0;

	if (ids_are_dense(profile)) {
		if (id - VG_STACK_ROOTS == profile->stacks.count)
			return 1;
		rc = ids_fill(profile);
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

int vg_on_stack(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;
	struct vg_stack stack = { .depth = 1 };
	uint32_t id, parent;
	uint64_t found_by = VG_FOUND_BY_CFI;
	int rc;

	if (vg_field_u32(record, &id) != 0 || id < VG_STACK_ROOTS || vg_field_u32(record, &parent) != 0)
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

/* [wall_us or nil, [count, [interval]]]: fields that most samples do not have. */
static int sample_optional_fields(struct vg_record_view *record, struct vg_sample *sample)
{
	struct vg_cursor ahead = record->cursor;
	struct vg_item item;

	if (record->fields > 4) {
		if (vg_cursor_next(&ahead, &item) != 0)
			return -EBADMSG;
		if (item.token != VG_TOKEN_NIL && vg_field_time_ns(record, &sample->wall_ns) != 0)
			return -EBADMSG;
		record->cursor = ahead;
	}
	if (record->fields > 5 && (vg_field_u32(record, &sample->count) != 0 || sample->count == 0))
		return -EBADMSG;
	if (record->fields > 6 && vg_cursor_uint(&record->cursor, &sample->interval) != 0)
		return -EBADMSG;
	return 0;
}

/* The time of a sample is relative to the previous sample or TIME record.  The difference can be negative, because
 * samples of different threads may be out of order. */
static int sample_time(struct vg_reader *reader, struct vg_record_view *record, uint64_t *now_us)
{
	int64_t since_us, now;

	if (vg_cursor_int(&record->cursor, &since_us) != 0 ||
	    __builtin_add_overflow((int64_t)reader->now_us, since_us, &now) || now < 0 ||
	    (uint64_t)now > VG_TIME_MAX_US)
		return -EBADMSG;
	*now_us = (uint64_t)now;
	return 0;
}

static int sample_cpu(struct vg_record_view *record, struct vg_sample *sample)
{
	uint64_t units;

	if (vg_cursor_uint(&record->cursor, &units) != 0 ||
	    units > VG_TIME_MAX_US * 1000 / VG_CPU_UNIT_NS)
		return -EBADMSG;
	sample->cpu_ns = units * VG_CPU_UNIT_NS;
	return 0;
}

int vg_on_sample(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;
	struct vg_sample sample = { .count = 1 };
	struct vg_thread *thread;
	uint64_t now_us;
	uint32_t id, stack;
	int rc;

	if (vg_field_u32(record, &id) != 0 || sample_time(reader, record, &now_us) != 0 ||
	    vg_field_u32(record, &stack) != 0 || sample_cpu(record, &sample) != 0)
		return -EBADMSG;
	rc = thread_index(reader, id, &sample.thread);
	if (rc != 0)
		return rc;
	reader->now_us = now_us;
	sample.time_ns = now_us * 1000;
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
	if (sample_optional_fields(record, &sample) != 0)
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
	rc = vg_profile_add_string(reader->profile, text, length < VG_LABEL_MAX_BYTES ? length : VG_LABEL_MAX_BYTES,
				   &string);
	if (rc == 0)
		rc = label_get(reader, id, &index);
	if (rc == 0)
		reader->profile->labels.items[index] = string;
	return rc;
}

/* The time of an event is relative to the previous event, so an event of an unknown type also advances event_ns. */
static int event_time(struct vg_reader *reader, struct vg_record_view *record, struct vg_event *event)
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

int vg_on_function(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_function function = { 0 };
	uint32_t index;
	int rc;

	if (vg_field_u32(record, &function.id) != 0)
		return -EBADMSG;
	rc = vg_field_text(reader->profile, record, &function.name);
	if (rc == 0)
		rc = vg_field_optional_text(reader->profile, record, &function.file);
	if (rc == 0)
		rc = module_field(reader, record, &function.module);
	if (rc == 0)
		rc = function_get(reader, function.id, &index);
	if (rc == 0)
		reader->profile->functions.items[index] = function;
	return rc;
}

static int symbol_lines(struct vg_reader *reader, struct vg_record_view *record, struct vg_symbol *symbol)
{
	struct vg_profile *profile = reader->profile;
	uint32_t count;
	int rc = vg_cursor_array(&record->cursor, &count);

	symbol->first = (uint32_t)profile->symbol_lines.count;
	if (rc != 0 || count % 2 != 0)
		return -EBADMSG;
	for (; rc == 0 && count > 0; count -= 2) {
		struct vg_symbol_line line;
		uint32_t id;

		if (vg_field_u32(record, &id) != 0 || vg_field_u32(record, &line.line) != 0)
			return -EBADMSG;
		rc = function_get(reader, id, &line.function);
		if (rc == 0)
			rc = vg_array_push(&profile->symbol_lines, &line);
	}
	symbol->count = (uint32_t)profile->symbol_lines.count - symbol->first;
	return rc;
}

int vg_on_symbol(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;
	struct vg_symbol_key key = { 0 };
	struct vg_symbol symbol;
	uint32_t index;
	int rc;

	rc = module_field(reader, record, &key.module);
	if (rc != 0 || vg_cursor_uint(&record->cursor, &key.address) != 0)
		return rc != 0 ? rc : -EBADMSG;
	rc = symbol_lines(reader, record, &symbol);
	if (rc != 0)
		return rc;
	profile->resolved = true;
	rc = vg_intern(&profile->symbol_keys, &key, sizeof key, &index);
	if (rc == 0)
		return -EBADMSG;
	return rc < 0 ? rc : vg_array_push(&profile->symbols, &symbol);
}

int vg_on_unresolved(struct vg_reader *reader, struct vg_record_view *record)
{
	uint32_t index;
	int rc = module_field(reader, record, &index);

	if (rc == 0 && index != VG_NONE)
		reader->profile->modules.items[index].unresolved = true;
	reader->profile->resolved = true;
	return rc;
}

int vg_on_jit_code(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_jit_code code;
	int rc;

	if (vg_cursor_uint(&record->cursor, &code.address) != 0 ||
	    vg_cursor_uint(&record->cursor, &code.size_bytes) != 0)
		return -EBADMSG;
	rc = vg_field_text(reader->profile, record, &code.name);
	return rc != 0 ? rc : vg_array_push(&reader->profile->jit_code, &code);
}

/* In the model a kernel symbol is a symbol like those of vgtool resolve, with a function of its own. */
int vg_on_kernel_symbol(struct vg_reader *reader, struct vg_record_view *record)
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
		rc = vg_field_text(reader->profile, record, &function.name);
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
