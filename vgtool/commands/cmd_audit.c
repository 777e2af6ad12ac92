/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/print.h"
#include "profile/chunk.h"
#include "profile/record.h"
#include "vgtool/commands/command.h"
#include "vgtool/commands/command_line.h"
#include "vgtool/output/json.h"

static const char usage[] = "usage: vgtool audit [--json] PROFILE\n";

/* Kinds of records with strings, and why the strings may identify a person or a machine.  Other kinds have
 * no strings in this version of the format. */
static const struct kind {
	uint64_t record;
	const char *name;
	const char *reason;          /* for all strings of the kind; NULL: string_reason() decides */
} kinds[] = {
	{ VG_RECORD_HEADER, "header", NULL },
	{ VG_RECORD_MODULE, "module", NULL },
	{ VG_RECORD_THREAD, "thread", "the program can put any text into a thread's name" },
	{ VG_RECORD_THREAD_NAME, "thread", "the program can put any text into a thread's name" },
	{ VG_RECORD_LOST, "lost", NULL },
	{ VG_RECORD_STATS, "stats", NULL },
	{ VG_RECORD_END, "end", NULL },
	{ VG_RECORD_FUNCTION, "function", NULL },
	{ VG_RECORD_JIT_CODE, "jit_code", "names of JIT code can contain paths of scripts" },
	{ VG_RECORD_KERNEL_SYMBOL, "kernel", NULL },
	{ VG_RECORD_LABEL, "label", "the program can put any text into a label" },
};
static const struct kind unknown = { UINT64_MAX, "unknown", "a kind of record that this version does not know" };

struct audit {
	const char *command;
	struct vg_infile file;
	struct vg_json *json;        /* NULL: text */
	struct vg_intern seen;       /* printed strings; a key is the kind's name, NUL and the string */
	uint64_t strings;            /* number of printed strings */
	uint64_t marked;             /* number of these that may identify a person or a machine */
	uint64_t unread_bytes;       /* damaged bytes, whose strings are unknown */
};

static const struct kind *kind_of(uint64_t record)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (kinds[i].record == record)
			return &kinds[i];
	}
	return &unknown;
}

/* Why a string may identify a person or a machine; NULL if it does not. */
static const char *string_reason(const struct kind *kind, const char *text, size_t length)
{
	if (length == 0 || kind->reason != NULL)
		return length == 0 ? NULL : kind->reason;
	/* A function's name can contain '/', as in "operator/". */
	if (memchr(text, '/', length) != NULL && (kind->record != VG_RECORD_FUNCTION || *text == '/'))
		return "a path with names of directories";
	if (kind->record != VG_RECORD_FUNCTION && memchr(text, '@', length) != NULL)
		return "it looks like a mail address";
	return NULL;
}

static void string_print(struct audit *audit, const struct kind *kind, const char *text,
			 size_t length, const char *why)
{
	if (audit->json == NULL) {
		vg_print(stdout, "%-9s ", kind->name);
		vg_print_bytes(stdout, text, length);
		vg_print(stdout, "%s%s\n", why != NULL ? "    <- " : "", why != NULL ? why : "");
		return;
	}
	vg_json_line(audit->json);
	vg_json_object_begin(audit->json);
	vg_json_key_string(audit->json, "kind", kind->name);
	vg_json_key(audit->json, "text");
	vg_json_string_bytes(audit->json, text, length);
	vg_json_key(audit->json, "may_identify");
	if (why != NULL)
		vg_json_string(audit->json, why);
	else
		vg_json_null(audit->json);
	vg_json_object_end(audit->json);
}

/* Prints a string unless it was printed before. */
static int string_audit(struct audit *audit, const struct kind *kind, const char *text, size_t length)
{
	size_t name_bytes = strlen(kind->name) + 1;
	char *key = malloc(name_bytes + length);
	const char *why = string_reason(kind, text, length);
	uint32_t id;
	int rc;

	if (key == NULL)
		return -1;
	memcpy(key, kind->name, name_bytes);
	memcpy(key + name_bytes, text, length);
	rc = vg_intern(&audit->seen, key, name_bytes + length, &id);
	free(key);
	if (rc == 1) {
		audit->strings++;
		audit->marked += why != NULL;
		string_print(audit, kind, text, length, why);
	}
	return rc < 0 ? -1 : 0;
}

/* Audits all strings and byte arrays of a record.  vg_cursor_next() also returns the elements of nested
 * arrays and maps, so the loop reaches every depth. */
static int record_audit(struct audit *audit, const struct vg_record_view *record)
{
	struct vg_cursor cursor = { record->bytes, record->bytes + record->length };
	const struct kind *kind = kind_of(record->kind);
	struct vg_item item;

	while (cursor.at < cursor.end && vg_cursor_next(&cursor, &item) == 0) {
		/* The bytes of a module record are its build id, which identifies no person. */
		bool text = item.token == VG_TOKEN_STR || item.token == VG_TOKEN_EXT ||
			    (item.token == VG_TOKEN_BIN && record->kind != VG_RECORD_MODULE);

		if (text && string_audit(audit, kind, (const char *)item.bytes, item.length) != 0)
			return -1;
	}
	return 0;
}

/* Returns 1 if at least one chunk is intact, 0 if none is, or -1 if memory is exhausted. */
static int chunks_audit(struct audit *audit)
{
	struct vg_chunks chunks = { .bytes = audit->file.bytes, .length = audit->file.length };
	struct vg_record_view record;
	struct vg_damage damage;
	struct vg_chunk chunk;
	int good = 0, rc;

	for (;;) {
		switch (vg_chunk_next(&chunks, &chunk, &damage)) {
		case VG_CHUNK_END:
			return good;
		case VG_CHUNK_DAMAGED:
			audit->unread_bytes += damage.bytes;
			break;
		case VG_CHUNK_GOOD:
			good = 1;
			while ((rc = vg_record_next(&chunk.payload, &record)) > 0) {
				if (record_audit(audit, &record) != 0)
					return -1;
			}
			if (rc < 0)
				audit->unread_bytes += (uint64_t)(chunk.payload.end - chunk.payload.at);
			break;
		}
	}
}

static int audit_run(struct audit *audit)
{
	struct vg_err err;
	int good = chunks_audit(audit);

	if (good < 0) {
		vg_command_warn(audit->command, "out of memory");
		return VG_EXIT_FAILED;
	}
	if (good == 0) {
		vg_err_set(&err, 0, "%s: not a profile, or no part of it can be read", audit->file.path);
		return vg_command_fail(audit->command, &err);
	}
	if (audit->unread_bytes > 0)
		vg_command_warn(audit->command, "%s: %" PRIu64 " damaged bytes were not searched",
				audit->file.path, audit->unread_bytes);
	vg_command_warn(audit->command, "%s: %" PRIu64 " strings; %" PRIu64 " may identify a person or a machine",
			audit->file.path, audit->strings, audit->marked);
	return audit->marked > 0 || audit->unread_bytes > 0 ? VG_EXIT_FAILED : VG_EXIT_DONE;
}

int cmd_audit(int argc, char **argv)
{
	struct audit audit = { .command = argv[0] };
	bool is_json = false;
	struct vg_json json;
	struct vg_err err;
	int status = vg_command_line_json(usage, argc, argv, &is_json);

	if (status != VG_COMMAND_LINE_READ)
		return status;
	if (argc - optind != 1)
		return vg_command_usage_error(argv[0], usage, "expected one PROFILE, got %d", argc - optind);
	audit.json = is_json ? &json : NULL;
	if (vg_command_confine_to(argv[0], argv[optind], NULL) != VG_EXIT_DONE)
		return VG_EXIT_FAILED;
	if (vg_infile_open_argument(&audit.file, argv[optind], &err) != 0)
		return vg_command_fail(argv[0], &err);
	if (audit.json != NULL) {
		vg_json_open(&json, stdout);
		vg_json_array_begin(&json);
	}
	status = audit_run(&audit);
	if (audit.json != NULL) {
		vg_json_array_end(&json);
		vg_json_line(&json);
	}
	vg_intern_free(&audit.seen);
	vg_infile_close(&audit.file);
	return status;
}
