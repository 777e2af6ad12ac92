/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/print.h"
#include "symbols/store/store_list.h"
#include "symbols/store/store_prune.h"
#include "vgtool/commands/command.h"
#include "vgtool/commands/command_line.h"
#include "vgtool/output/json.h"
#include "vgtool/output/text.h"

static const char usage[] =
	"usage: vgtool store [--json] STORE...\n"
	"       vgtool store --prune [--older-than TIME] [--max-size SIZE]\n"
	"                    [--dry-run] STORE\n";

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

/* ---- --prune ---- */

struct request {
	bool json, prunes;
	struct vg_store_prune prune;
};

enum { PRUNE = 256, OLDER_THAN, MAX_SIZE, DRY_RUN };

static const struct vg_option options[] = {
	VG_OPTION_JSON,
	{ PRUNE, "prune", VG_OPTION_FLAG, .help = "remove symbol files, the oldest first" },
	{ OLDER_THAN, "older-than", VG_OPTION_TIME, "TIME", 0, UINT64_C(1000000000) << 30, NULL, NULL,
	  "remove older files, such as 30d", 0 },
	{ MAX_SIZE, "max-size", VG_OPTION_SIZE, "SIZE", 0, UINT64_MAX, NULL, NULL,
	  "remove the oldest files beyond this size", 0 },
	{ DRY_RUN, "dry-run", VG_OPTION_FLAG, .help = "remove nothing; print what would be removed" },
	VG_OPTION_HELP,
};

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	struct request *request = context;

	(void)err;
	switch (value->key) {
	case 'j': request->json = true; break;
	case PRUNE: request->prunes = true; break;
	case OLDER_THAN: request->prune.older_than_ns = value->number; break;
	case MAX_SIZE: request->prune.max_bytes = value->number; break;
	case DRY_RUN: request->prune.dry_run = true; break;
	}
	return 0;
}

static bool is_limited(const struct vg_store_prune *prune)
{
	return prune->older_than_ns != UINT64_MAX || prune->max_bytes != UINT64_MAX;
}

/* Returns NULL, or what is wrong with the command line. */
static const char *request_problem(const struct request *request, int stores)
{
	if (stores == 0)
		return "expected a STORE";
	if (!request->prunes)
		return is_limited(&request->prune) || request->prune.dry_run ?
		       "--older-than, --max-size and --dry-run: need --prune" : NULL;
	if (request->json)
		return "--prune: cannot be combined with --json";
	if (!is_limited(&request->prune))
		return "--prune: needs --older-than TIME, --max-size SIZE, or both";
	return stores > 1 ? "--prune: more than one STORE; use it for one at a time" : NULL;
}

static void removed_print(void *context, const char *path, uint64_t bytes, uint64_t age_ns)
{
	const struct vg_store_prune *prune = context;
	struct vg_text size;

	vg_print(stdout, "%s%s: %s, %" PRIu64 " days old\n", prune->dry_run ? "would remove " : "removed ", path,
		 vg_text_bytes(&size, bytes), age_ns / 1000000000 / 86400);
}

static int store_prune(struct vg_store_prune *prune, const char *command, const char *store)
{
	struct vg_text removed, all;
	struct vg_err err;
	int rc;

	if (vg_command_confine(command, &(struct vg_confinement){ .writes = store, .removes = true }) != VG_EXIT_DONE)
		return VG_EXIT_FAILED;
	prune->removed = removed_print;
	prune->context = prune;
	rc = vg_store_prune(store, prune, &err);
	vg_print(stdout, "%s%" PRIu64 " of %" PRIu64 " symbol file%s, %s of %s\n",
		 prune->dry_run ? "would remove " : "removed ", prune->removed_files, prune->files,
		 vg_text_plural(prune->files), vg_text_bytes(&removed, prune->removed_bytes),
		 vg_text_bytes(&all, prune->bytes));
	return rc == 0 ? VG_EXIT_DONE : vg_command_fail(command, &err);
}

int cmd_store(int argc, char **argv)
{
	struct listing listing = { .command = argv[0] };
	struct request request = { .prune = { .older_than_ns = UINT64_MAX, .max_bytes = UINT64_MAX } };
	const struct vg_command_line line = { usage, options, sizeof options / sizeof *options, option_set,
					      &request };
	int status = vg_command_line_read(&line, argc, argv);
	const char *problem;

	if (status != VG_COMMAND_LINE_READ)
		return status;
	problem = request_problem(&request, argc - optind);
	if (problem != NULL)
		return vg_command_usage_error(argv[0], usage, "%s", problem);
	if (request.prunes)
		return store_prune(&request.prune, argv[0], argv[optind]);
	if (vg_command_confine(argv[0], &(struct vg_confinement){
		.paths = (const char *const *)argv + optind, .path_count = (size_t)(argc - optind),
	}) != VG_EXIT_DONE)
		return VG_EXIT_FAILED;
	return (request.json ? json_list : text_list)(&listing, argv + optind, argc - optind);
}
