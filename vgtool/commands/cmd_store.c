/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/print.h"
#include "symbols/store/store_list.h"
#include "vgtool/commands/command.h"
#include "vgtool/commands/command_line.h"
#include "vgtool/output/json.h"
#include "vgtool/output/text.h"

static const char usage[] = "usage: vgtool store [--json] STORE...\n";

struct listing {
	const char *command;
	struct vg_json *json;        /* NULL: text */
	uint64_t files;              /* number of symbol files */
	uint64_t damaged;            /* number of these that have a problem */
	uint64_t functions, public_symbols, lines, bytes; /* sums over the files */
};

static void entry_json(struct vg_json *json, const struct vg_store_entry *entry)
{
	vg_json_line(json);
	vg_json_object_begin(json);
	vg_json_key_string(json, "name", entry->name);
	vg_json_key_string(json, "debug_id", entry->debug_id);
	vg_json_key_string(json, "code_id", entry->code_id);
	vg_json_key_uint(json, "functions", entry->functions);
	vg_json_key_uint(json, "public_symbols", entry->public_symbols);
	vg_json_key_uint(json, "lines", entry->lines);
	vg_json_key_uint(json, "bytes", entry->bytes);
	vg_json_key_string(json, "path", entry->path);
	vg_json_key_string(json, "problem", entry->problem);
	vg_json_object_end(json);
}

static void entry_text(const struct vg_store_entry *entry)
{
	struct vg_text bytes;

	/* The file could not be read; entry_visit() prints the problem. */
	if (entry->debug_id[0] == '\0')
		return;
	vg_print(stdout, "%s %s %s %" PRIu64 " functions, %" PRIu64 " public symbols, %" PRIu64 " lines, %s\n",
		 entry->name, entry->debug_id, entry->code_id[0] != '\0' ? entry->code_id : "-",
		 entry->functions, entry->public_symbols, entry->lines, vg_text_bytes(&bytes, entry->bytes));
}

static int entry_visit(void *context, const struct vg_store_entry *entry)
{
	struct listing *listing = context;

	listing->files++;
	listing->functions += entry->functions;
	listing->public_symbols += entry->public_symbols;
	listing->lines += entry->lines;
	listing->bytes += entry->bytes;
	if (listing->json != NULL)
		entry_json(listing->json, entry);
	else
		entry_text(entry);
	if (entry->problem != NULL) {
		listing->damaged++;
		fflush(stdout);
		vg_command_warn(listing->command, "%s", entry->problem);
	}
	return ferror(stdout) ? -EIO : 0;
}

static int stores_list(struct listing *listing, char **stores, int count)
{
	int status = VG_EXIT_DONE;
	struct vg_err err;

	for (int i = 0; i < count && !ferror(stdout); i++) {
		int rc = vg_store_list(stores[i], entry_visit, listing, &err);

		if (rc != 0 && !ferror(stdout))
			status = vg_command_fail(listing->command, &err);
	}
	return listing->damaged > 0 ? VG_EXIT_FAILED : status;
}

static int text_list(struct listing *listing, char **stores, int count)
{
	struct vg_text bytes;
	int status = stores_list(listing, stores, count);

	vg_print(stdout, "%" PRIu64 " symbol file%s, %s: %" PRIu64 " functions, %" PRIu64 " public symbols, %" PRIu64
		 " lines; %" PRIu64 " damaged\n", listing->files, vg_text_plural(listing->files),
		 vg_text_bytes(&bytes, listing->bytes), listing->functions, listing->public_symbols,
		 listing->lines, listing->damaged);
	return status;
}

static int json_list(struct listing *listing, char **stores, int count)
{
	struct vg_json json;
	int status;

	vg_json_open(&json, stdout);
	/* cppcheck-suppress autoVariables ; reset below */
	listing->json = &json;
	vg_json_object_begin(&json);
	vg_json_key(&json, "modules");
	vg_json_array_begin(&json);
	status = stores_list(listing, stores, count);
	vg_json_array_end(&json);
	vg_json_key_uint(&json, "damaged", listing->damaged);
	vg_json_object_end(&json);
	vg_json_line(&json);
	listing->json = NULL;
	return status;
}

int cmd_store(int argc, char **argv)
{
	struct listing listing = { .command = argv[0] };
	bool json = false;
	int status = vg_command_line_json(usage, argc, argv, &json);

	if (status != VG_COMMAND_LINE_READ)
		return status;
	if (optind == argc)
		return vg_command_usage_error(argv[0], usage, "expected a STORE");
	if (vg_command_confine(argv[0], &(struct vg_confinement){
		.paths = (const char *const *)argv + optind, .path_count = (size_t)(argc - optind),
	}) != VG_EXIT_DONE)
		return VG_EXIT_FAILED;
	return (json ? json_list : text_list)(&listing, argv + optind, argc - optind);
}
