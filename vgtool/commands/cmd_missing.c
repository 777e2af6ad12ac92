/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/build_id.h"
#include "base/print.h"
#include "symbols/table/debug_id.h"
#include "vgtool/commands/command_line.h"
#include "vgtool/commands/symbolize.h"
#include "vgtool/output/json.h"
#include "vgtool/output/text.h"
#include "vgtool/resolve/resolve.h"

static const char usage[] = "usage: vgtool missing [--json] -s STORE [-s STORE]... PROFILE...\n";

struct request {
	const char *command;
	bool json;
	struct vg_symbolize symbolize;
	struct vg_resolve resolve;   /* used only to collect the modules of all profiles */
	const struct vg_resolve_module **order; /* owned; the modules, the one in the most samples first */
	int status;                  /* the exit status */
};

static void complain(struct request *request, const struct vg_err *err)
{
	request->status = vg_command_fail(request->command, err);
}

static void profile_add(struct request *request, const char *path)
{
	struct vg_address_list list = { 0 };
	struct vg_command_profile opened;
	struct vg_err err;

	if (vg_command_open(request->command, path, &opened) != VG_EXIT_DONE) {
		request->status = VG_EXIT_FAILED;
	} else if (vg_address_list_collect(&list, &opened.profile) != 0 ||
		   vg_resolve_add(&request->resolve, &list) != 0) {
		vg_err_sys(&err, -ENOMEM, "%s: cannot list the modules", path);
		complain(request, &err);
	}
	vg_address_list_free(&list);
	vg_command_close(&opened);
}

static void module_check(struct request *request, struct vg_resolve_module *module)
{
	struct vg_symbol_source source;
	struct vg_err err;
	int rc = vg_symbol_finder_find(&request->symbolize.finder, module->name, module->build_id,
				       module->build_id_bytes, &source, &err);

	module->missing = rc != 0;
	if (rc == 0)
		rc = vg_symbol_source_find_missing_file(&request->symbolize.finder, &source, &module->missing_file, &err);
	vg_symbol_source_free(&source);
	if (rc == -ENOENT && module->missing &&
	    vg_symbol_finder_other_build(&request->symbolize.finder, module->name, module->build_id,
					 module->build_id_bytes, &err))
		module->problem = strdup(err.text);
	/* Symbols were found but cannot be used: report why. */
	if (rc != 0 && rc != -ENOENT)
		complain(request, &err);
	if (module->missing || module->missing_file.path != NULL)
		request->status = VG_EXIT_FAILED;
}

/* A missing file: a module's symbols, or a file with some of the module's function names. */
struct item {
	const char *name;
	const char *module;          /* the module that needs the file; NULL: `name` is the module itself */
	const unsigned char *id;
	size_t id_bytes;
	char debug_id[VG_DEBUG_ID_CHARS + 1]; /* key of the file in symbol servers; "" without a build id */
};

/* Warns of modules whose file is stripped.  Such modules do not change the exit status, because the system's
 * libraries are often stripped. */
static void notes_print(const struct request *request)
{
	for (size_t i = 0; i < request->resolve.modules.count; i++) {
		const struct vg_resolve_module *module = request->order[i];

		if (!module->missing && module->missing_file.exported_only)
			vg_command_warn(request->command, "%s: names only of exported functions: its file is stripped; "
					"the module is in %" PRIu64 " sample%s", module->name, module->samples,
					vg_text_plural(module->samples));
		if (module->problem != NULL)
			vg_command_warn(request->command, "%s", module->problem);
	}
}

/* Returns false if no file of the module is missing. */
static bool item_make(const struct vg_resolve_module *module, struct item *item)
{
	if (!module->missing && module->missing_file.path == NULL)
		return false;
	*item = (struct item){ .name = module->name, .id = module->build_id,
			       .id_bytes = module->build_id_bytes };
	if (!module->missing)
		*item = (struct item){ .name = module->missing_file.path, .module = module->name,
				       .id = module->missing_file.id, .id_bytes = module->missing_file.id_bytes };
	if (item->id_bytes > 0)
		vg_debug_id_text(item->id, item->id_bytes, item->debug_id);
	return true;
}

static void text_print(const struct request *request)
{
	for (size_t i = 0; i < request->resolve.modules.count; i++) {
		const struct vg_resolve_module *module = request->order[i];
		char build_id[2 * VG_BUILD_ID_MAX_BYTES + 1];
		struct vg_text share;
		struct item item;

		if (!item_make(module, &item))
			continue;
		vg_build_id_hex(build_id, sizeof build_id, item.id, item.id_bytes);
		vg_print(stdout, "%6s %10" PRIu64 " %s %s %s%s%s\n",
			 vg_text_percent(&share, module->samples, request->resolve.samples),
			 module->samples, item.name, build_id[0] != '\0' ? build_id : "-",
			 item.debug_id[0] != '\0' ? item.debug_id : "-",
			 item.module != NULL ? " for " : "", item.module != NULL ? item.module : "");
	}
}

static void json_print(const struct request *request)
{
	struct vg_json json;

	vg_json_open(&json, stdout);
	vg_json_object_begin(&json);
	vg_json_key_uint(&json, "samples", request->resolve.samples);
	vg_json_key_uint(&json, "modules", request->resolve.modules.count);
	vg_json_key(&json, "missing");
	vg_json_array_begin(&json);
	for (size_t i = 0; i < request->resolve.modules.count; i++) {
		struct item item;

		if (!item_make(request->order[i], &item))
			continue;
		vg_json_object_begin(&json);
		vg_json_key_string(&json, "name", item.name);
		vg_json_key_uint(&json, "samples", request->order[i]->samples);
		vg_json_key(&json, "build_id");
		vg_json_hex(&json, item.id, item.id_bytes);
		vg_json_key_string(&json, "debug_id", item.debug_id);
		vg_json_key_string(&json, "for", item.module);
		vg_json_object_end(&json);
	}
	vg_json_array_end(&json);
	vg_json_key(&json, "exported_only");
	vg_json_array_begin(&json);
	for (size_t i = 0; i < request->resolve.modules.count; i++) {
		if (!request->order[i]->missing && request->order[i]->missing_file.exported_only)
			vg_json_string(&json, request->order[i]->name);
	}
	vg_json_array_end(&json);
	vg_json_object_end(&json);
	vg_json_line(&json);
}

static int request_run(struct request *request, char **paths, int count)
{
	struct vg_err err;

	request->symbolize.stores_only = true;
	if (vg_symbolize_confine(&request->symbolize, request->command,
				 (struct vg_confinement){ .paths = (const char *const *)paths,
							  .path_count = (size_t)count }) != VG_EXIT_DONE)
		return VG_EXIT_FAILED;
	for (int i = 0; i < count; i++)
		profile_add(request, paths[i]);
	for (size_t i = 0; i < request->resolve.modules.count; i++)
		module_check(request, &request->resolve.modules.items[i]);
	request->order = vg_resolve_by_samples(&request->resolve);
	if (request->order == NULL) {
		vg_err_sys(&err, -ENOMEM, "cannot list the modules");
		return vg_command_fail(request->command, &err);
	}
	(request->json ? json_print : text_print)(request);
	notes_print(request);
	return request->status;
}

static const struct vg_option options[] = {
	{ 's', "store", VG_OPTION_TEXT, "STORE", .unit = "the name of a symbol store",
	  .help = "a store, .sym file, directory or URL; repeatable", .is_short = 1 },
	VG_SYMBOLIZE_DEBUGINFOD,
	VG_OPTION_JSON,
	VG_OPTION_HELP,
};

enum { OPTIONS = sizeof options / sizeof *options };

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	struct request *request = context;

	if (value->key == 'j')
		request->json = true;
	return vg_symbolize_set(&request->symbolize, value, err);
}

int cmd_missing(int argc, char **argv)
{
	struct request request = { .command = argv[0] };
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &request };
	int status = vg_command_line_read(&line, argc, argv);

	if (status == VG_COMMAND_LINE_READ) {
		if (request.symbolize.stores.count == 0 && !request.symbolize.debuginfod)
			status = vg_command_usage_error(argv[0], usage, "expected a symbol store; use -s STORE");
		else if (optind == argc)
			status = vg_command_usage_error(argv[0], usage, "expected a PROFILE");
		else
			status = request_run(&request, argv + optind, argc - optind);
	}
	free(request.order);
	vg_resolve_free(&request.resolve);
	vg_symbolize_free(&request.symbolize);
	return status;
}
