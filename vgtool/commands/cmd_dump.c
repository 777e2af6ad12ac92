/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "profile/chunk.h"
#include "profile/reader.h"
#include "vgtool/analysis/record_filter.h"
#include "vgtool/commands/command.h"
#include "vgtool/commands/command_line.h"
#include "vgtool/output/json.h"

static const char usage[] = "usage: vgtool dump [--thread THREAD] PROFILE\n";

/* Each kind of record: its name, and the names of its fields in the order of the file; see vgp(5). */
enum { FIELDS_MAX = 8 };
static const struct kind {
	const char *name;
	const char *fields[FIELDS_MAX];
} kinds[] = {
	[VG_RECORD_HEADER] = { "header", { "values" } },
	[VG_RECORD_TIME] = { "time", { "time_us" } },
	[VG_RECORD_MODULE] = { "module", { "id", "time_us", "name", "build_id", "base",
					   "size_bytes" } },
	[VG_RECORD_MODULE_UNLOAD] = { "module_unload", { "id", "time_us" } },
	[VG_RECORD_THREAD] = { "thread", { "id", "time_us", "tid", "name" } },
	[VG_RECORD_THREAD_NAME] = { "thread_name", { "id", "time_us", "name" } },
	[VG_RECORD_THREAD_END] = { "thread_end", { "id", "time_us" } },
	[VG_RECORD_STACK] = { "stack", { "id", "parent", "module", "address", "found_by" } },
	[VG_RECORD_SAMPLE] = { "sample", { "thread", "since_us", "stack", "cpu_100us", "wall_us",
					   "count", "interval" } },
	[VG_RECORD_LOST] = { "lost", { "counts" } },
	[VG_RECORD_STATS] = { "stats", { "values" } },
	[VG_RECORD_GAP] = { "gap", { "bytes" } },
	[VG_RECORD_END] = { "end", { "reason", "time_us", "totals" } },
	[VG_RECORD_FUNCTION] = { "function", { "id", "name", "file", "module" } },
	[VG_RECORD_SYMBOL] = { "symbol", { "module", "address", "lines" } },
	[VG_RECORD_UNRESOLVED] = { "unresolved", { "module" } },
	[VG_RECORD_PAUSES] = { "pauses", { "lengths" } },
	[VG_RECORD_JIT_CODE] = { "jit_code", { "address", "size_bytes", "name" } },
	[VG_RECORD_RATE] = { "rate", { "time_us", "period_ns" } },
	[VG_RECORD_LABEL] = { "label", { "id", "text" } },
	[VG_RECORD_EVENT] = { "event", { "type", "thread", "since_ns", "event_kind", "label", "value",
					 "token", "parent" } },
	[VG_RECORD_PERF_COUNTERS] = { "perf_counters", { "thread", "after_us", "values" } },
	[VG_RECORD_KERNEL_SYMBOL] = { "kernel_symbol", { "module", "number", "name" } },
};

static void key_json(struct vg_json *json, const struct vg_item *key)
{
	char text[32];

	switch (key->token) {
	case VG_TOKEN_STR:
	case VG_TOKEN_BIN:
		vg_json_key_bytes(json, (const char *)key->bytes, key->length);
		return;
	case VG_TOKEN_UINT:
		snprintf(text, sizeof text, "%" PRIu64, key->number);
		break;
	case VG_TOKEN_INT:
		snprintf(text, sizeof text, "%" PRId64, (int64_t)key->number);
		break;
	case VG_TOKEN_NIL:
	case VG_TOKEN_FALSE:
	case VG_TOKEN_TRUE:
	case VG_TOKEN_FLOAT:
	case VG_TOKEN_EXT:
	case VG_TOKEN_ARRAY:
	case VG_TOKEN_MAP:
		snprintf(text, sizeof text, "(key of another type)");
		break;
	}
	vg_json_key(json, text);
}

static int value_json(struct vg_json *json, struct vg_cursor *cursor);

static int map_json(struct vg_json *json, struct vg_cursor *cursor, uint64_t count)
{
	int rc = 0;

	vg_json_object_begin(json);
	for (; rc == 0 && count > 0; count--) {
		struct vg_cursor key_at = *cursor;
		struct vg_item key;

		rc = vg_cursor_skip(cursor);
		if (rc != 0 || vg_cursor_next(&key_at, &key) != 0)
			break;
		key_json(json, &key);
		rc = value_json(json, cursor);
	}
	vg_json_object_end(json);
	return rc;
}

static int array_json(struct vg_json *json, struct vg_cursor *cursor, uint64_t count)
{
	int rc = 0;

	vg_json_array_begin(json);
	for (; rc == 0 && count > 0; count--)
		rc = value_json(json, cursor);
	vg_json_array_end(json);
	return rc;
}

static void ext_json(struct vg_json *json, const struct vg_item *item)
{
	vg_json_object_begin(json);
	vg_json_key(json, "ext");
	vg_json_int(json, (int8_t)item->bytes[0]);
	vg_json_key(json, "bytes");
	vg_json_hex(json, item->bytes + 1, item->length - 1);
	vg_json_object_end(json);
}

/* Writes any msgpack object.  Recurses once for each level of nesting; vg_record_next() limits the levels. */
static int value_json(struct vg_json *json, struct vg_cursor *cursor)
{
	struct vg_item item;

	if (vg_cursor_next(cursor, &item) != 0)
		return -EBADMSG;
	switch (item.token) {
	case VG_TOKEN_NIL: vg_json_null(json); break;
	case VG_TOKEN_FALSE: vg_json_bool(json, false); break;
	case VG_TOKEN_TRUE: vg_json_bool(json, true); break;
	case VG_TOKEN_UINT: vg_json_uint(json, item.number); break;
	case VG_TOKEN_INT: vg_json_int(json, (int64_t)item.number); break;
	case VG_TOKEN_FLOAT: vg_json_real(json, item.real); break;
	case VG_TOKEN_STR:
		vg_json_string_bytes(json, (const char *)item.bytes, item.length);
		break;
	case VG_TOKEN_BIN: vg_json_hex(json, item.bytes, item.length); break;
	case VG_TOKEN_EXT: ext_json(json, &item); break;
	case VG_TOKEN_ARRAY: return array_json(json, cursor, item.number);
	case VG_TOKEN_MAP: return map_json(json, cursor, item.number);
	}
	return 0;
}

static int known_fields_json(struct vg_json *json, const struct kind *kind,
			     struct vg_record_view *record)
{
	uint32_t fields = record->fields;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < FIELDS_MAX && kind->fields[i] != NULL && fields > 0; i++) {
		vg_json_key(json, kind->fields[i]);
		rc = value_json(json, &record->cursor);
		fields--;
	}
	if (rc == 0 && fields > 0) {
		vg_json_key(json, "unknown_fields");
		rc = array_json(json, &record->cursor, fields);
	}
	return rc;
}

/* time_ns below 0: the record has no time. */
static void record_json(struct vg_json *json, uint64_t offset, struct vg_record_view *record,
			int64_t time_ns)
{
	vg_json_object_begin(json);
	vg_json_key_uint(json, "offset", offset);
	vg_json_key(json, "kind");
	if (record->kind < sizeof kinds / sizeof *kinds) {
		vg_json_string(json, kinds[record->kind].name);
		known_fields_json(json, &kinds[record->kind], record);
	} else {
		vg_json_uint(json, record->kind);
		vg_json_key(json, "fields");
		array_json(json, &record->cursor, record->fields);
	}
	if (time_ns >= 0)
		vg_json_key_uint(json, "time_ns", (uint64_t)time_ns);
	vg_json_object_end(json);
	vg_json_line(json);
}

static void damage_json(struct vg_json *json, const struct vg_damage *damage)
{
	vg_json_object_begin(json);
	vg_json_key_uint(json, "offset", damage->offset);
	vg_json_key_string(json, "kind", "damage");
	vg_json_key_uint(json, "bytes", damage->bytes);
	vg_json_key_string(json, "problem", damage->problem);
	vg_json_object_end(json);
	vg_json_line(json);
}

struct dump {
	const char *command;
	struct vg_infile file;
	struct vg_json json;
	struct vg_record_filter filter;
	uint64_t chunks;             /* number of intact chunks */
	struct vg_damage first;      /* the first damage; first.problem is NULL without damage */
	bool ended;                  /* an END record was found */
};

static void dump_damage(struct dump *dump, const struct vg_damage *damage)
{
	damage_json(&dump->json, damage);
	if (dump->first.problem == NULL)
		dump->first = *damage;
}

static void dump_chunk(struct dump *dump, struct vg_chunk *chunk)
{
	struct vg_record_view record;
	int64_t time_ns;
	int rc;

	dump->chunks++;
	vg_record_filter_chunk_begin(&dump->filter);
	while ((rc = vg_record_next(&chunk->payload, &record)) > 0) {
		if (vg_record_filter_matches(&dump->filter, &record, &time_ns))
			record_json(&dump->json, (uint64_t)(record.bytes - dump->file.bytes), &record,
				    time_ns);
		dump->ended = dump->ended || record.kind == VG_RECORD_END;
	}
	if (rc < 0) {
		struct vg_damage damage = {
			.offset = (uint64_t)(chunk->payload.at - dump->file.bytes),
			.bytes = (uint64_t)(chunk->payload.end - chunk->payload.at),
			.problem = "a record is malformed",
		};

		dump_damage(dump, &damage);
	}
}

/* Warns of damage once, as the other commands do.  Fails if no chunk is intact: then the file is not a profile.
 * Returns the exit status. */
static int dump_end(struct dump *dump)
{
	struct vg_err err;

	if (dump->chunks == 0) {
		vg_profile_format_error(&dump->file, dump->first.problem != NULL ? dump->first.problem : "", &err);
		return vg_command_fail(dump->command, &err);
	}
	if (dump->first.problem != NULL)
		vg_command_warn(dump->command, "%s: damaged at offset %" PRIu64 ": %s",
				dump->file.path, dump->first.offset, dump->first.problem);
	else if (!dump->ended)
		vg_command_warn(dump->command, "%s: truncated at offset %" PRIu64
				": the end record is missing", dump->file.path,
				dump->file.length);
	return VG_EXIT_DONE;
}

static int dump_run(struct dump *dump)
{
	struct vg_chunks chunks = { .bytes = dump->file.bytes, .length = dump->file.length };
	struct vg_damage damage;
	struct vg_chunk chunk;

	while (!ferror(stdout)) {
		switch (vg_chunk_next(&chunks, &chunk, &damage)) {
		case VG_CHUNK_END:
			return dump_end(dump);
		case VG_CHUNK_GOOD:
			dump_chunk(dump, &chunk);
			break;
		case VG_CHUNK_DAMAGED:
			dump_damage(dump, &damage);
			break;
		}
	}
	return VG_EXIT_DONE;            /* main() reports the failure to write */
}

static const struct vg_option options[] = {
	{ 't', "thread", VG_OPTION_TEXT, "THREAD", .unit = "the name or id of a thread", .help = "only this thread",
	  .is_short = 1 },
	VG_OPTION_HELP,
};

enum { OPTIONS = sizeof options / sizeof *options };

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	struct dump *dump = context;

	(void)err;
	dump->filter.thread = value->text;
	return 0;
}

int cmd_dump(int argc, char **argv)
{
	struct dump dump = { .command = argv[0] };
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &dump };
	struct vg_err err;
	int status = vg_command_line_read(&line, argc, argv), rc;

	if (status != VG_COMMAND_LINE_READ)
		return status;
	if (argc - optind != 1)
		return vg_command_usage_error(argv[0], usage, "expected one PROFILE, got %d", argc - optind);
	if (vg_command_confine_to(argv[0], argv[optind], NULL) != VG_EXIT_DONE)
		return VG_EXIT_FAILED;
	if (vg_infile_open_argument(&dump.file, argv[optind], &err) != 0)
		return vg_command_fail(argv[0], &err);
	vg_json_open(&dump.json, stdout);
	rc = vg_record_filter_open(&dump.filter, &dump.file);
	if (rc == 0) {
		status = dump_run(&dump);
	} else {
		if (rc == -ESRCH)
			vg_err_set(&err, rc, "%s: no thread %s", dump.file.path, dump.filter.thread);
		else
			vg_err_sys(&err, rc, "%s: cannot find thread %s", dump.file.path, dump.filter.thread);
		status = vg_command_fail(argv[0], &err);
	}
	vg_record_filter_close(&dump.filter);
	vg_infile_close(&dump.file);
	return status;
}
