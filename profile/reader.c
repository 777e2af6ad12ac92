/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "profile/chunk.h"

/* Beyond this a time is nonsense (285 years), and sums of them could overflow. */
static const uint64_t TIME_MAX_US = UINT64_C(1) << 53;
enum { DAMAGE_LISTED_MAX = 1000 };

struct reader {
	struct vg_profile *profile;
	uint64_t now_us;
	uint32_t run;                /* changes at every gap: no weight spans one */
	uint64_t run_us;             /* when this run began */
	bool run_opens;              /* the next TIME record opens a run */
};

typedef struct vg_record_view view;

static int read_time_ns(view *record, uint64_t *time_ns)
{
	uint64_t us;

	if (vg_cursor_uint(&record->cursor, &us) != 0 || us > TIME_MAX_US)
		return -EBADMSG;
	*time_ns = us * 1000;
	return 0;
}

static int read_u32(view *record, uint32_t *value)
{
	uint64_t wide;

	if (vg_cursor_uint(&record->cursor, &wide) != 0 || wide >= VG_NONE)
		return -EBADMSG;
	*value = (uint32_t)wide;
	return 0;
}

/* Control characters would reach the terminals of those who read the profile. */
static int text_keep(struct vg_profile *profile, const char *text, size_t length, uint32_t *string)
{
	char clean[VG_NAME_MAX_BYTES + 1];

	if (length > VG_NAME_MAX_BYTES)
		length = VG_NAME_MAX_BYTES;
	memcpy(clean, text, length);
	vg_utf8_clean(clean, length);
	for (size_t i = 0; i < length; i++) {
		if ((unsigned char)clean[i] < 0x20 || clean[i] == 0x7f)
			clean[i] = '?';
	}
	clean[length] = '\0';
	return vg_intern_string(&profile->strings, clean, string) < 0 ? -ENOMEM : 0;
}

static int read_text(struct reader *reader, view *record, uint32_t *string)
{
	const char *text;
	size_t length;
	int rc = vg_cursor_str(&record->cursor, &text, &length);

	return rc != 0 ? rc : text_keep(reader->profile, text, length, string);
}

/* Text, or VG_NONE for nil. */
static int read_optional_text(struct reader *reader, view *record, uint32_t *string)
{
	struct vg_item item;
	struct vg_cursor ahead = record->cursor;

	if (vg_cursor_next(&ahead, &item) != 0)
		return -EBADMSG;
	if (item.token != VG_TOKEN_NIL)
		return read_text(reader, record, string);
	record->cursor = ahead;
	*string = VG_NONE;
	return 0;
}

static int module_get(struct reader *reader, uint32_t id, uint32_t *index)
{
	struct vg_profile *profile = reader->profile;
	struct vg_module module = { .id = id, .unload_ns = UINT64_MAX };
	int rc = vg_intern(&profile->module_ids, &id, sizeof id, index);

	if (rc <= 0)
		return rc;
	rc = text_keep(profile, "?", 1, &module.name);
	return rc != 0 ? rc : vg_array_push(&profile->modules, &module);
}

static int thread_get(struct reader *reader, uint32_t id, uint32_t *index)
{
	struct vg_profile *profile = reader->profile;
	struct vg_thread thread = { .id = id, .end_ns = UINT64_MAX, .last_run = reader->run,
				    .begin_ns = reader->run_us * 1000,
				    .last_ns = reader->run_us * 1000 };
	int rc = vg_intern(&profile->thread_ids, &id, sizeof id, index);

	if (rc <= 0)
		return rc;
	rc = text_keep(profile, "?", 1, &thread.name);
	return rc != 0 ? rc : vg_array_push(&profile->threads, &thread);
}

static int function_get(struct reader *reader, uint32_t id, uint32_t *index)
{
	struct vg_profile *profile = reader->profile;
	struct vg_function function = { .id = id, .file = VG_NONE, .module = VG_NONE };
	int rc = vg_intern(&profile->function_ids, &id, sizeof id, index);

	if (rc <= 0)
		return rc;
	rc = text_keep(profile, "?", 1, &function.name);
	return rc != 0 ? rc : vg_array_push(&profile->functions, &function);
}

/* A module's index, or VG_NONE for nil. */
static int read_module(struct reader *reader, view *record, uint32_t *index)
{
	struct vg_item item;
	uint32_t id;

	if (vg_cursor_next(&record->cursor, &item) != 0)
		return -EBADMSG;
	*index = VG_NONE;
	if (item.token == VG_TOKEN_NIL)
		return 0;
	if (item.token != VG_TOKEN_UINT || item.number >= VG_NONE)
		return -EBADMSG;
	id = (uint32_t)item.number;
	return module_get(reader, id, index);
}

static int header_field(struct reader *reader, view *record, const char *name, size_t length)
{
	struct vg_header *header = &reader->profile->header;
	struct { const char *name; uint64_t *wide; uint32_t *narrow, *text; } fields[] = {
		{ "version", NULL, &header->version, NULL },
		{ "period_ns", &header->period_ns, NULL, NULL },
		{ "start_unix_s", &header->start_unix_s, NULL, NULL },
		{ "max_frames", NULL, &header->max_frames, NULL },
		{ "mode", NULL, NULL, &header->mode_name },
		{ "writer", NULL, NULL, &header->writer },
		{ "arch", NULL, NULL, &header->arch },
		{ "program", NULL, NULL, &header->program },
	};

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (strlen(fields[i].name) != length || memcmp(fields[i].name, name, length) != 0)
			continue;
		if (fields[i].wide != NULL)
			return vg_cursor_uint(&record->cursor, fields[i].wide);
		if (fields[i].narrow != NULL)
			return read_u32(record, fields[i].narrow);
		return read_text(reader, record, fields[i].text);
	}
	return vg_cursor_skip(&record->cursor);
}

static int on_header(struct reader *reader, view *record)
{
	uint32_t count;
	int rc = vg_cursor_map(&record->cursor, &count);

	for (; rc == 0 && count > 0; count--) {
		const char *name;
		size_t length;

		rc = vg_cursor_str(&record->cursor, &name, &length);
		if (rc == 0)
			rc = header_field(reader, record, name, length);
	}
	return rc;
}

static int on_time(struct reader *reader, view *record)
{
	uint64_t time_ns;
	int rc = read_time_ns(record, &time_ns);

	if (rc != 0)
		return rc;
	reader->now_us = time_ns / 1000;
	if (reader->run_opens) {
		reader->run_opens = false;
		reader->run_us = reader->now_us;
		reader->run++;
	}
	return 0;
}

static int on_module(struct reader *reader, view *record)
{
	struct vg_module module = { .unload_ns = UINT64_MAX };
	const unsigned char *build_id;
	size_t length;
	uint32_t index;
	int rc;

	if (read_u32(record, &module.id) != 0 || read_time_ns(record, &module.load_ns) != 0)
		return -EBADMSG;
	rc = read_text(reader, record, &module.name);
	if (rc != 0 || vg_cursor_bin(&record->cursor, &build_id, &length) != 0 ||
	    length > sizeof module.build_id ||
	    vg_cursor_uint(&record->cursor, &module.base) != 0 ||
	    vg_cursor_uint(&record->cursor, &module.size_bytes) != 0)
		return rc != 0 ? rc : -EBADMSG;
	memcpy(module.build_id, build_id, length);
	module.build_id_bytes = (uint8_t)length;
	rc = module_get(reader, module.id, &index);
	if (rc == 0)
		reader->profile->modules.items[index] = module;
	return rc;
}

static int on_module_unload(struct reader *reader, view *record)
{
	uint64_t time_ns;
	uint32_t id, index;
	int rc;

	if (read_u32(record, &id) != 0 || read_time_ns(record, &time_ns) != 0)
		return -EBADMSG;
	rc = module_get(reader, id, &index);
	if (rc == 0)
		reader->profile->modules.items[index].unload_ns = time_ns;
	return rc;
}

static int on_thread(struct reader *reader, view *record)
{
	struct vg_thread thread = { .end_ns = UINT64_MAX, .last_run = reader->run };
	uint32_t index, tid;
	int rc;

	if (read_u32(record, &thread.id) != 0 || read_time_ns(record, &thread.begin_ns) != 0 ||
	    read_u32(record, &tid) != 0)
		return -EBADMSG;
	rc = read_text(reader, record, &thread.name);
	if (rc == 0)
		rc = thread_get(reader, thread.id, &index);
	if (rc != 0)
		return rc;
	thread.tid = (int32_t)tid;
	thread.last_ns = thread.begin_ns;
	reader->profile->threads.items[index] = thread;
	return 0;
}

static int on_thread_name(struct reader *reader, view *record)
{
	uint64_t time_ns;
	uint32_t id, index, name;
	int rc;

	if (read_u32(record, &id) != 0 || read_time_ns(record, &time_ns) != 0)
		return -EBADMSG;
	rc = read_text(reader, record, &name);
	if (rc == 0)
		rc = thread_get(reader, id, &index);
	if (rc == 0)
		reader->profile->threads.items[index].name = name;
	return rc;
}

static int on_thread_end(struct reader *reader, view *record)
{
	uint64_t time_ns;
	uint32_t id, index;
	int rc;

	if (read_u32(record, &id) != 0 || read_time_ns(record, &time_ns) != 0)
		return -EBADMSG;
	rc = thread_get(reader, id, &index);
	if (rc == 0)
		reader->profile->threads.items[index].end_ns = time_ns;
	return rc;
}

/* The node behind a file's stack id: VG_NONE and the reason for an empty stack. */
static bool stack_find(const struct vg_profile *profile, uint32_t id, uint32_t *index, uint8_t *end)
{
	*index = VG_NONE;
	*end = id < VG_STACK_ROOTS ? (uint8_t)id : VG_WALK_UNREAD;
	if (id < VG_STACK_ROOTS)
		return true;
	if (!vg_intern_find(&profile->stack_ids, &id, sizeof id, index))
		return false;
	*end = profile->stacks.items[*index].end;
	return true;
}

static int on_stack(struct reader *reader, view *record)
{
	struct vg_profile *profile = reader->profile;
	struct vg_stack stack = { .depth = 1 };
	uint32_t id, parent, index;
	uint64_t found = VG_FOUND_CFI;
	int rc;

	if (read_u32(record, &id) != 0 || id < VG_STACK_ROOTS || read_u32(record, &parent) != 0)
		return -EBADMSG;
	rc = read_module(reader, record, &stack.module);
	if (rc != 0 || vg_cursor_uint(&record->cursor, &stack.address) != 0)
		return rc != 0 ? rc : -EBADMSG;
	if (record->fields > 4 && (vg_cursor_uint(&record->cursor, &found) != 0 || found > UINT8_MAX))
		return -EBADMSG;
	stack.found = (uint8_t)found;
	stack_find(profile, parent, &stack.parent, &stack.end);
	if (stack.parent != VG_NONE)
		stack.depth = profile->stacks.items[stack.parent].depth + 1;
	rc = vg_intern(&profile->stack_ids, &id, sizeof id, &index);
	if (rc == 0)
		return -EBADMSG;        /* defined twice: the first holds */
	return rc < 0 ? rc : vg_array_push(&profile->stacks, &stack);
}

static int on_sample(struct reader *reader, view *record)
{
	struct vg_profile *profile = reader->profile;
	struct vg_sample sample = { 0 };
	struct vg_thread *thread;
	uint64_t since_ns;
	uint32_t id, stack;
	int rc;

	if (read_u32(record, &id) != 0 || read_time_ns(record, &since_ns) != 0 ||
	    read_u32(record, &stack) != 0 || read_time_ns(record, &sample.cpu_ns) != 0)
		return -EBADMSG;
	if (reader->now_us + since_ns / 1000 > TIME_MAX_US)
		return -EBADMSG;
	rc = thread_get(reader, id, &sample.thread);
	if (rc != 0)
		return rc;
	reader->now_us += since_ns / 1000;
	sample.time_ns = reader->now_us * 1000;
	if (!stack_find(profile, stack, &sample.stack, &sample.end))
		profile->samples_orphaned++;
	thread = &profile->threads.items[sample.thread];
	if (thread->last_run != reader->run) {
		thread->last_run = reader->run;
		if (thread->last_ns < reader->run_us * 1000)
			thread->last_ns = reader->run_us * 1000;
	}
	if (sample.time_ns > thread->last_ns)
		sample.wall_ns = sample.time_ns - thread->last_ns;
	if (record->fields > 4 && read_time_ns(record, &sample.wall_ns) != 0)
		return -EBADMSG;
	thread->last_ns = sample.time_ns;
	return vg_array_push(&profile->samples, &sample);
}

/* Fills whichever array of counts: the last record of its kind holds. */
static int read_counts(struct reader *reader, view *record, struct vg_counts *counts)
{
	uint32_t count;
	int rc = vg_cursor_map(&record->cursor, &count);

	counts->count = 0;
	for (; rc == 0 && count > 0; count--) {
		struct vg_count one;

		rc = read_text(reader, record, &one.name);
		if (rc == 0)
			rc = vg_cursor_uint(&record->cursor, &one.value);
		if (rc == 0)
			rc = vg_array_push(counts, &one);
	}
	return rc;
}

static int on_lost(struct reader *reader, view *record)
{
	return read_counts(reader, record, &reader->profile->lost);
}

static int on_stats(struct reader *reader, view *record)
{
	return read_counts(reader, record, &reader->profile->stats);
}

static int damage_add(struct vg_profile *profile, const struct vg_damage *damage)
{
	profile->damaged_bytes += damage->bytes;
	if (profile->damage.count >= DAMAGE_LISTED_MAX)
		return 0;
	return vg_array_push(&profile->damage, damage);
}

static int on_gap(struct reader *reader, view *record)
{
	struct vg_damage damage = { .what = "damaged chunks were left out earlier" };

	if (vg_cursor_uint(&record->cursor, &damage.bytes) != 0)
		return -EBADMSG;
	reader->run_opens = true;
	return damage_add(reader->profile, &damage);
}

static int on_end(struct reader *reader, view *record)
{
	struct vg_profile *profile = reader->profile;
	int rc = read_text(reader, record, &profile->end_reason);

	return rc != 0 ? rc : read_time_ns(record, &profile->duration_ns);
}

static int on_function(struct reader *reader, view *record)
{
	struct vg_function function = { 0 };
	uint32_t index;
	int rc;

	if (read_u32(record, &function.id) != 0)
		return -EBADMSG;
	rc = read_text(reader, record, &function.name);
	if (rc == 0)
		rc = read_optional_text(reader, record, &function.file);
	if (rc == 0)
		rc = read_module(reader, record, &function.module);
	if (rc == 0)
		rc = function_get(reader, function.id, &index);
	if (rc == 0)
		reader->profile->functions.items[index] = function;
	return rc;
}

static int symbol_lines(struct reader *reader, view *record, struct vg_symbol *symbol)
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

		if (read_u32(record, &id) != 0 || read_u32(record, &line.line) != 0)
			return -EBADMSG;
		rc = function_get(reader, id, &line.function);
		if (rc == 0)
			rc = vg_array_push(&profile->symbol_lines, &line);
	}
	symbol->count = (uint32_t)profile->symbol_lines.count - symbol->first;
	return rc;
}

static int on_symbol(struct reader *reader, view *record)
{
	struct vg_profile *profile = reader->profile;
	struct vg_symbol_key key = { 0 };
	struct vg_symbol symbol;
	uint32_t index;
	int rc;

	rc = read_module(reader, record, &key.module);
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

static int on_unresolved(struct reader *reader, view *record)
{
	uint32_t index;
	int rc = read_module(reader, record, &index);

	if (rc == 0 && index != VG_NONE)
		reader->profile->modules.items[index].unresolved = true;
	reader->profile->resolved = true;
	return rc;
}

static int (*const handlers[])(struct reader *, view *) = {
	[VG_RECORD_HEADER] = on_header,
	[VG_RECORD_TIME] = on_time,
	[VG_RECORD_MODULE] = on_module,
	[VG_RECORD_MODULE_UNLOAD] = on_module_unload,
	[VG_RECORD_THREAD] = on_thread,
	[VG_RECORD_THREAD_NAME] = on_thread_name,
	[VG_RECORD_THREAD_END] = on_thread_end,
	[VG_RECORD_STACK] = on_stack,
	[VG_RECORD_SAMPLE] = on_sample,
	[VG_RECORD_LOST] = on_lost,
	[VG_RECORD_STATS] = on_stats,
	[VG_RECORD_GAP] = on_gap,
	[VG_RECORD_END] = on_end,
	[VG_RECORD_FUNCTION] = on_function,
	[VG_RECORD_SYMBOL] = on_symbol,
	[VG_RECORD_UNRESOLVED] = on_unresolved,
};

/* Only -ENOMEM stops the reading; a bad record behind a good checksum is damage like any. */
static int chunk_read(struct reader *reader, const struct vg_infile *file, struct vg_chunk *chunk)
{
	struct vg_damage damage = { .what = "a record is malformed" };
	view record;
	int rc;

	if (chunk->gap)
		reader->run_opens = true;
	for (;;) {
		const unsigned char *start = chunk->payload.at;

		rc = vg_record_next(&chunk->payload, &record);
		if (rc == 0)
			return 0;
		if (rc > 0)
			rc = record.kind < sizeof handlers / sizeof *handlers ?
			     handlers[record.kind](reader, &record) : 0;
		else
			chunk->payload.at = chunk->payload.end;
		if (rc == -EBADMSG) {
			damage.offset = (uint64_t)(start - file->bytes);
			damage.bytes = (uint64_t)(chunk->payload.at - start);
			rc = damage_add(reader->profile, &damage);
		}
		if (rc != 0)
			return rc;
	}
}

static int chunks_read(struct reader *reader, const struct vg_infile *file, uint64_t *good)
{
	struct vg_chunks chunks = { .bytes = file->bytes, .length = file->length };
	struct vg_chunk chunk;
	struct vg_damage damage;

	for (;;) {
		int rc = 0;

		switch (vg_chunk_next(&chunks, &chunk, &damage)) {
		case VG_CHUNK_END:
			return 0;
		case VG_CHUNK_GOOD:
			++*good;
			rc = chunk_read(reader, file, &chunk);
			break;
		case VG_CHUNK_DAMAGED:
			rc = damage_add(reader->profile, &damage);
			break;
		}
		if (rc != 0)
			return rc;
	}
}

int vg_profile_read(struct vg_profile *profile, const struct vg_infile *file, struct vg_err *err)
{
	struct reader reader = { .profile = profile };
	uint64_t good = 0;
	int rc;

	profile->end_reason = VG_NONE;
	profile->file_bytes = file->length;
	rc = text_keep(profile, "", 0, &profile->header.writer);
	profile->header.arch = profile->header.program = profile->header.mode_name =
		profile->header.writer;
	if (rc == 0)
		rc = chunks_read(&reader, file, &good);
	if (rc != 0)
		return vg_err_sys(err, rc, "cannot read %s", file->path);
	if (good == 0 && file->length == 0)
		return vg_err_set(err, -EBADMSG, "%s: the file is empty, not a profile", file->path);
	if (good == 0)
		return vg_err_set(err, -EBADMSG, "%s: not a profile (offset 0: %s)", file->path,
				  profile->damage.count > 0 ? profile->damage.items[0].what : "");
	if (profile->header.version > VG_FORMAT_VERSION)
		return vg_err_set(err, -EBADMSG, "%s: a profile of version %" PRIu32
				  ", and this program knows version %d", file->path,
				  profile->header.version, VG_FORMAT_VERSION);
	if (profile->end_reason == VG_NONE)
		profile->duration_ns = reader.now_us * 1000;
	return 0;
}
