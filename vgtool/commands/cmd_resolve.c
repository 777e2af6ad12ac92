/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/build_id.h"
#include "base/outfile.h"
#include "base/output_path.h"
#include "profile/reader.h"
#include "vgtool/commands/command_line.h"
#include "vgtool/commands/symbolize.h"
#include "vgtool/output/output.h"
#include "vgtool/output/progress.h"
#include "vgtool/output/text.h"
#include "vgtool/resolve/resolve.h"

static const char usage[] =
	"usage: vgtool resolve -s STORE [-s STORE]... [-o OUT] PROFILE\n"
	"       vgtool resolve -s STORE [-s STORE]... -o DIRECTORY PROFILE...\n";

struct request {
	const char *command;
	const char *out;             /* NULL: standard output */
	char **paths;                /* of the profiles */
	size_t path_count;
	bool *bad;                   /* owned; for each profile: true if it could not be read */
	bool into_directory;         /* `out` is a directory */
	bool quiet;                  /* writes nothing and prints no summary if no symbols are found */
	struct vg_symbolize symbolize;
	struct vg_resolve resolve;
	int status;                  /* the exit status */
};

static void complain(struct request *request, const struct vg_err *err)
{
	request->status = vg_command_fail(request->command, err);
}

static void missing_print(const struct request *request, const struct vg_resolve_module *module)
{
	char build_id[2 * VG_BUILD_ID_MAX_BYTES + 1];
	struct vg_text share;

	vg_build_id_hex(build_id, sizeof build_id, module->build_id, module->build_id_bytes);
	vg_command_warn(request->command, "%s: no symbols; build id %s, in %" PRIu64 " sample%s (%s)",
			module->name, module->build_id_bytes > 0 ? build_id : "none", module->samples,
			vg_text_plural(module->samples),
			vg_text_percent(&share, module->samples, request->resolve.samples));
}

static void summary_print(const struct request *request)
{
	const struct vg_resolve *resolve = &request->resolve;
	size_t count = resolve->modules.count, missing = 0, exported = 0;
	const struct vg_resolve_module **order = vg_resolve_by_samples(resolve);

	for (size_t i = 0; order != NULL && i < count; i++) {
		missing += order[i]->missing;
		if (order[i]->missing)
			missing_print(request, order[i]);
		if (order[i]->problem != NULL)
			vg_command_warn(request->command, "%s", order[i]->problem);
		if (!order[i]->missing && order[i]->symbolization.missing_file.exported_only)
			exported++;
		if (order[i]->symbolization.missing_file.path != NULL)
			vg_command_warn_missing_file(request->command, order[i]->name,
						     &order[i]->symbolization.missing_file);
	}
	free(order);
	vg_command_warn(request->command, "%" PRIu64 " of %" PRIu64 " addresses symbolized; %zu of %zu modules have "
			"symbols", resolve->symbolized, resolve->addresses, count - missing, count);
	if (exported > 0)
		vg_command_warn(request->command, "%zu of these modules %s names only of exported functions: "
				"%s stripped", exported, exported == 1 ? "has" : "have", exported == 1 ? "it is" : "they are");
}

static int writer_run(const struct request *request, const struct vg_infile *file,
		      const struct vg_address_list *list, int fd, const char *name, struct vg_err *err)
{
	struct vg_writer writer;
	int rc;

	vg_writer_open(&writer, fd, 0);
	rc = vg_resolve_write(&request->resolve, file, list, &writer);
	vg_writer_close(&writer);
	return rc != 0 ? vg_err_sys(err, rc, "%s: cannot write", name) : 0;
}

static int file_write(const struct request *request, const struct vg_infile *file,
		      const struct vg_address_list *list, const char *path, struct vg_err *err)
{
	struct vg_outfile outfile;
	int rc = vg_outfile_open(&outfile, path, err);

	if (rc != 0)
		return rc;
	rc = writer_run(request, file, list, outfile.fd, path, err);
	if (rc == 0)
		rc = vg_outfile_commit(&outfile, err);
	vg_outfile_abandon(&outfile);
	return rc;
}

static int copy_write(const struct request *request, const struct vg_infile *file,
		      const struct vg_address_list *list, const char *profile, struct vg_err *err)
{
	char *path;
	int rc;

	if (request->out == NULL)
		return writer_run(request, file, list, STDOUT_FILENO, "standard output", err);
	if (!request->into_directory)
		return file_write(request, file, list, request->out, err);
	if (asprintf(&path, "%s/%s", request->out, vg_path_name(profile)) < 0)
		return vg_err_sys(err, -ENOMEM, "%s: cannot write the resolved profile", profile);
	rc = file_write(request, file, list, path, err);
	free(path);
	return rc;
}

/* Opens a profile and collects its addresses.  Frees the profile, but keeps the file open for copying.
 * Returns the exit status. */
static int address_list_open(const struct request *request, const char *path, struct vg_command_profile *opened,
			     struct vg_address_list *list)
{
	struct vg_err err;
	int status = vg_command_open(request->command, path, opened);

	*list = (struct vg_address_list){ 0 };
	if (status != VG_EXIT_DONE)
		return status;
	if (vg_address_list_collect(list, &opened->profile) != 0) {
		vg_err_sys(&err, -ENOMEM, "%s: cannot collect the addresses", path);
		return vg_command_fail(request->command, &err);
	}
	vg_profile_free(&opened->profile);
	return VG_EXIT_DONE;
}

static int symbols_read(struct request *request)
{
	struct vg_err err;
	int rc = vg_resolve_read(&request->resolve);

	if (rc == 0)
		return 0;
	vg_err_sys(&err, rc, "cannot read the symbols");
	complain(request, &err);
	return rc;
}

/* Resolves a single profile.  It is read once and stays open, because it may come from a pipe. */
static void one_run(struct request *request)
{
	struct vg_command_profile opened;
	struct vg_address_list list;
	struct vg_err err;
	int rc;

	request->status = address_list_open(request, request->paths[0], &opened, &list);
	if (request->status != VG_EXIT_DONE)
		goto out;
	rc = vg_resolve_add(&request->resolve, &list);
	if (rc != 0) {
		vg_err_sys(&err, rc, "%s: cannot collect the addresses", request->paths[0]);
		complain(request, &err);
		goto out;
	}
	if (symbols_read(request) != 0 || (request->quiet && request->resolve.symbolized == 0))
		goto out;
	if (copy_write(request, &opened.file, &list, request->paths[0], &err) != 0)
		complain(request, &err);
	else if (!request->quiet)
		summary_print(request);
out:
	vg_address_list_free(&list);
	vg_command_close(&opened);
}

/* First reading of one of many profiles.  Each is read twice, because they may not all fit into memory. */
static void profile_add(struct request *request, size_t number)
{
	struct vg_command_profile opened;
	struct vg_address_list list;
	struct vg_err err;
	int rc;

	request->bad[number] = address_list_open(request, request->paths[number], &opened, &list) !=
			       VG_EXIT_DONE;
	if (request->bad[number])
		request->status = VG_EXIT_FAILED;
	rc = request->bad[number] ? 0 : vg_resolve_add(&request->resolve, &list);
	if (rc != 0) {
		request->bad[number] = true;
		vg_err_sys(&err, rc, "%s: cannot collect the addresses", request->paths[number]);
		complain(request, &err);
	}
	vg_address_list_free(&list);
	vg_command_close(&opened);
}

/* Second reading of one of many profiles. */
static void profile_write(struct request *request, size_t number)
{
	struct vg_address_list list = { 0 };
	struct vg_command_profile opened = { 0 };
	const char *path = request->paths[number];
	struct vg_err err;
	int rc = vg_infile_open_argument(&opened.file, path, &err);

	/* The first reading has reported the damage. */
	if (rc == 0)
		rc = vg_profile_read(&opened.profile, &opened.file, &err);
	if (rc == 0 && vg_address_list_collect(&list, &opened.profile) != 0)
		rc = vg_err_sys(&err, -ENOMEM, "%s: cannot collect the addresses", path);
	vg_profile_free(&opened.profile);
	if (rc == 0)
		rc = copy_write(request, &opened.file, &list, path, &err);
	if (rc != 0)
		complain(request, &err);
	vg_address_list_free(&list);
	vg_command_close(&opened);
}

static void many_run(struct request *request)
{
	struct vg_progress progress;

	vg_progress_begin(&progress, "reading profiles", request->path_count);
	for (size_t i = 0; i < request->path_count; i++) {
		vg_progress_step(&progress, i);
		profile_add(request, i);
	}
	vg_progress_end(&progress);
	if (symbols_read(request) != 0 || (request->quiet && request->resolve.symbolized == 0))
		return;
	vg_progress_begin(&progress, "writing profiles", request->path_count);
	for (size_t i = 0; i < request->path_count; i++) {
		vg_progress_step(&progress, i);
		if (!request->bad[i])
			profile_write(request, i);
	}
	vg_progress_end(&progress);
	if (!request->quiet)
		summary_print(request);
}

static int base_names_compare(const void *a, const void *b)
{
	return strcmp(vg_path_name(*(char *const *)a), vg_path_name(*(char *const *)b));
}

/* Copies in one directory must have different names.  Standard input has no name to give to its copy. */
static int output_names_check(const struct request *request, struct vg_err *err)
{
	char **sorted = malloc((request->path_count + 1) * sizeof *sorted);
	int rc = 0;

	if (sorted == NULL)
		return vg_err_sys(err, -ENOMEM, "%s: cannot check the file names", request->out);
	memcpy(sorted, request->paths, request->path_count * sizeof *sorted);
	qsort(sorted, request->path_count, sizeof *sorted, base_names_compare);
	for (size_t i = 0; rc == 0 && i < request->path_count; i++) {
		if (strcmp(sorted[i], "-") == 0)
			rc = vg_err_set(err, -EINVAL, "standard input has no file name to use in %s; "
					"use a profile file", request->out);
		else if (*vg_path_name(sorted[i]) == '\0')
			rc = vg_err_set(err, -EINVAL, "%s: a directory, not a profile", sorted[i]);
		else if (i > 0 && base_names_compare(&sorted[i - 1], &sorted[i]) == 0)
			rc = vg_err_set(err, -EEXIST, "%s and %s would both be written as %s/%s",
					sorted[i - 1], sorted[i], request->out, vg_path_name(sorted[i]));
	}
	free(sorted);
	return rc;
}

/* A path that ends with a slash is a directory, even if it does not exist yet. */
static bool is_directory(const char *path)
{
	return path != NULL && (path[strlen(path) - 1] == '/' || vg_output_path_check_directory(path, NULL) == 0);
}

int vg_resolve_in_place(const char *command, struct vg_symbolize *symbolize, char **paths, size_t path_count,
			const char *out)
{
	struct request request = { .command = command, .out = out, .paths = paths, .path_count = path_count,
				   .into_directory = is_directory(out), .quiet = true,
				   .bad = calloc(path_count + 1, sizeof *request.bad),
				   .resolve = { .finder = &symbolize->finder } };

	if (request.bad == NULL)
		return VG_EXIT_FAILED;
	request.status = vg_symbolize_confine(symbolize, command, (struct vg_confinement){
		.paths = (const char *const *)paths, .path_count = path_count, .writes = out });
	if (request.status == VG_EXIT_DONE && request.into_directory)
		many_run(&request);
	else if (request.status == VG_EXIT_DONE)
		one_run(&request);
	vg_resolve_free(&request.resolve);
	free(request.bad);
	return request.status;
}

/* Finds errors before the long work begins.  Creates the output directory. */
static int request_check(struct request *request, struct vg_err *err)
{
	int rc = vg_output_check_terminal(request->out, err);

	if (rc == 0 && request->into_directory) {
		rc = output_names_check(request, err);
		if (rc == 0 && mkdir(request->out, 0777) != 0)
			rc = errno == EEXIST ? vg_output_path_check_directory(request->out, err) :
			     vg_err_sys(err, -errno, "%s: cannot create the directory", request->out);
	}
	return rc == 0 ? vg_symbolize_check(&request->symbolize, err) : rc;
}

static enum vg_exit request_confine(struct request *request)
{
	return vg_symbolize_confine(&request->symbolize, request->command, (struct vg_confinement){
		.paths = (const char *const *)request->paths, .path_count = request->path_count,
		.writes = request->out,
	});
}

static int request_run(struct request *request)
{
	struct vg_err err;

	/* Fixes the threshold at its default.  Otherwise the C library raises it when a mapped block is freed.
	 * With a fixed threshold each array of megabytes has its own mapping: mremap(2) lets it grow, and free(3)
	 * returns its memory to the kernel. */
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	request->into_directory = request->path_count > 1 || is_directory(request->out);
	request->symbolize.stores_only = true;
	request->resolve.finder = &request->symbolize.finder;
	request->bad = calloc(request->path_count, sizeof *request->bad);
	if (request->bad == NULL)
		vg_err_sys(&err, -ENOMEM, "cannot resolve the profiles");
	if (request->bad == NULL || request_check(request, &err) != 0) {
		complain(request, &err);
	} else if (request_confine(request) != VG_EXIT_DONE) {
		request->status = VG_EXIT_FAILED;
	} else if (request->path_count > 1) {
		many_run(request);
	} else {
		one_run(request);
	}
	free(request->bad);
	vg_resolve_free(&request->resolve);
	return request->status;
}

static const struct vg_option options[] = {
	{ 's', "store", VG_OPTION_TEXT, "STORE", .unit = "the name of a symbol store",
	  .help = "a store, .sym file, directory or URL; repeatable", .is_short = 1 },
	VG_SYMBOLIZE_DEBUGINFOD,
	{ 'o', "output", VG_OPTION_TEXT, "OUT", .unit = "the name of a file or directory",
	  .by_default = "standard output", .help = "write to this file or directory", .is_short = 1 },
	VG_OPTION_HELP,
};

enum { OPTIONS = sizeof options / sizeof *options };

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	struct request *request = context;

	if (value->key == 'o')
		request->out = strcmp(value->text, "-") == 0 ? NULL : value->text;
	return vg_symbolize_set(&request->symbolize, value, err);
}

int cmd_resolve(int argc, char **argv)
{
	struct request request = { .command = argv[0] };
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &request };
	const char *missing = NULL;
	int status = vg_command_line_read(&line, argc, argv);

	request.paths = argv + optind;
	request.path_count = (size_t)(argc - optind);
	if (request.symbolize.stores.count == 0 && !request.symbolize.debuginfod)
		missing = "expected a symbol store; use -s STORE";
	else if (request.path_count == 0)
		missing = "expected a PROFILE";
	else if (request.path_count > 1 && request.out == NULL)
		missing = "several profiles need a directory; use -o DIRECTORY";
	if (status == VG_COMMAND_LINE_READ)
		status = missing != NULL ? vg_command_usage_error(argv[0], usage, "%s", missing) :
			 request_run(&request);
	vg_symbolize_free(&request.symbolize);
	return status;
}
