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
#include "vgtool/output/json.h"

static const char usage[] = "usage: vgtool audit [--json] PROFILE\n";

/* The strings of a record's kind, and what they may say of whoever recorded it.  Kinds that are not
 * here hold none, unless a later version gave them some. */
static const struct kind {
	uint64_t record;
	const char *name;
	const char *telling;         /* NULL: nothing, unless they look like more than a name */
} kinds[] = {
	{ VG_RECORD_HEADER, "header", NULL },
	{ VG_RECORD_MODULE, "module", NULL },
	{ VG_RECORD_THREAD, "thread", "a program may put anything into a thread's name" },
	{ VG_RECORD_THREAD_NAME, "thread", "a program may put anything into a thread's name" },
	{ VG_RECORD_LOST, "lost", NULL },
	{ VG_RECORD_STATS, "stats", NULL },
	{ VG_RECORD_END, "end", NULL },
	{ VG_RECORD_FUNCTION, "function", NULL },
	{ VG_RECORD_CODE, "code", "names of code made at run time may hold scripts' paths" },
	{ VG_RECORD_LABEL, "label", "a program may put anything into an event's label" },
};
static const struct kind unknown = { UINT64_MAX, "unknown", "a record that this version does not know" };

struct audit {
	const char *command;
	struct vg_infile file;
	struct vg_json *json;        /* NULL: text */
	struct vg_intern seen;       /* kind's name, NUL, string */
	uint64_t strings, telling, unread_bytes;
};

static const struct kind *kind_of(uint64_t record)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (kinds[i].record == record)
			return &kinds[i];
	}
	return &unknown;
}

/* Why a string may say more than a profile should, or NULL. */
static const char *telling(const struct kind *kind, const char *text, size_t length)
{
	if (length == 0 || kind->telling != NULL)
		return length == 0 ? NULL : kind->telling;
	/* A function's own name may hold an operator. */
	if (memchr(text, '/', length) != NULL && (kind->record != VG_RECORD_FUNCTION || *text == '/'))
		return "a path names directories of a machine";
	if (kind->record != VG_RECORD_FUNCTION && memchr(text, '@', length) != NULL)
		return "it looks like an address";
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
	vg_json_key(audit->json, "telling");
	if (why != NULL)
		vg_json_string(audit->json, why);
	else
		vg_json_null(audit->json);
	vg_json_object_end(audit->json);
}

/* Each once. */
static int string_audit(struct audit *audit, const struct kind *kind, const char *text, size_t length)
{
	size_t name_bytes = strlen(kind->name) + 1;
	char *key = malloc(name_bytes + length);
	const char *why = telling(kind, text, length);
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
		audit->telling += why != NULL;
		string_print(audit, kind, text, length, why);
	}
	return rc < 0 ? -1 : 0;
}

/* All strings and bytes, however deep: an array's elements follow its head. */
static int record_audit(struct audit *audit, const struct vg_record_view *record)
{
	struct vg_cursor cursor = { record->bytes, record->bytes + record->length };
	const struct kind *kind = kind_of(record->kind);
	struct vg_item item;

	while (cursor.at < cursor.end && vg_cursor_next(&cursor, &item) == 0) {
		/* A module's bytes are its build id, which names a build and nobody. */
		bool text = item.token == VG_TOKEN_STR || item.token == VG_TOKEN_EXT ||
			    (item.token == VG_TOKEN_BIN && record->kind != VG_RECORD_MODULE);

		if (text && string_audit(audit, kind, (const char *)item.bytes, item.length) != 0)
			return -1;
	}
	return 0;
}

/* Whether at least one chunk was good; -1: out of memory. */
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
		vg_err_set(&err, 0, "%s: not a profile, or nothing of it is readable", audit->file.path);
		return vg_command_fail(audit->command, &err);
	}
	if (audit->unread_bytes > 0)
		vg_command_warn(audit->command, "%s: %" PRIu64 " damaged bytes could not be looked into",
				audit->file.path, audit->unread_bytes);
	vg_command_warn(audit->command, "%" PRIu64 " strings, %" PRIu64 " of them may tell of a person or "
			"a machine", audit->strings, audit->telling);
	return audit->telling > 0 || audit->unread_bytes > 0 ? VG_EXIT_FAILED : VG_EXIT_DONE;
}

int cmd_audit(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct audit audit = { .command = argv[0] };
	struct vg_json json;
	struct vg_err err;
	int option, status;

	while ((option = getopt_long(argc, argv, "jh", options, NULL)) != -1) {
		if (option != 'j')
			return vg_command_help(usage, option);
		audit.json = &json;
	}
	if (argc - optind != 1)
		return vg_command_misused(argv[0], usage, "takes one profile");
	if (vg_command_confine_to(argv[0], argv[optind], NULL) != VG_EXIT_DONE)
		return VG_EXIT_FAILED;
	if (vg_infile_open(&audit.file, argv[optind], &err) != 0)
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
