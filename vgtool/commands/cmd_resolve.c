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

#include "base/outfile.h"
#include "profile/reader.h"
#include "vgtool/commands/command.h"
#include "vgtool/output/progress.h"
#include "vgtool/output/text.h"
#include "vgtool/resolve/resolve.h"

static const char usage[] =
	"usage: vgtool resolve -s STORE [-s STORE]... [-o OUT] PROFILE\n"
	"       vgtool resolve -s STORE [-s STORE]... -o DIRECTORY PROFILE...\n";

struct request {
	const char *command, *out;   /* out is NULL for standard output */
	struct vg_command_stores stores;
	char **paths;                /* of the profiles */
	size_t path_count;
	bool *bad;                   /* by profile: it could not be read */
	bool into_directory;
	struct vg_names names;
	struct vg_resolve resolve;
	int status;
};

static void complain(struct request *request, const struct vg_err *err)
{
	request->status = vg_command_fail(request->command, err);
}

static void missing_print(const struct request *request, const struct vg_resolve_module *module)
{
	char build_id[2 * VG_BUILD_ID_MAX_BYTES + 1];
	struct vg_text share;

	vg_text_hex(build_id, sizeof build_id, module->build_id, module->build_id_bytes);
	vg_command_warn(request->command, "no symbols: %s, build id %s, in %" PRIu64 " sample%s (%s)",
			module->name, module->build_id_bytes > 0 ? build_id : "none", module->samples,
			vg_text_plural(module->samples),
			vg_text_percent(&share, module->samples, request->resolve.samples));
}

static void summary_print(const struct request *request)
{
	const struct vg_resolve *resolve = &request->resolve;
	size_t count = resolve->modules.count, missing = 0;
	const struct vg_resolve_module **order = vg_resolve_by_samples(resolve);

	for (size_t i = 0; order != NULL && i < count; i++) {
		missing += order[i]->missing;
		if (order[i]->missing)
			missing_print(request, order[i]);
		if (order[i]->text != NULL)
			vg_command_warn(request->command, "%s", order[i]->text);
		if (order[i]->answers.absent.path != NULL)
			vg_command_warn_absent(request->command, order[i]->name,
					       &order[i]->answers.absent);
	}
	free(order);
	vg_command_warn(request->command, "%" PRIu64 " of %" PRIu64 " addresses have names; %zu of %zu "
			"modules have symbols", resolve->named, resolve->addresses, count - missing, count);
}

static int writer_run(const struct request *request, const struct vg_infile *file,
		      const struct vg_wanted *wanted, int fd, const char *name, struct vg_err *err)
{
	struct vg_writer writer;
	int rc;

	vg_writer_open(&writer, fd, 0);
	rc = vg_resolve_write(&request->resolve, file, wanted, &writer);
	vg_writer_close(&writer);
	return rc != 0 ? vg_err_sys(err, rc, "cannot write %s", name) : 0;
}

static int file_write(const struct request *request, const struct vg_infile *file,
		      const struct vg_wanted *wanted, const char *path, struct vg_err *err)
{
	struct vg_outfile outfile;
	int rc = vg_outfile_open(&outfile, path, err);

	if (rc != 0)
		return rc;
	rc = writer_run(request, file, wanted, outfile.fd, path, err);
	if (rc == 0)
		rc = vg_outfile_commit(&outfile, err);
	vg_outfile_abandon(&outfile);
	return rc;
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static int copy_write(const struct request *request, const struct vg_infile *file,
		      const struct vg_wanted *wanted, const char *profile, struct vg_err *err)
{
	char *path;
	int rc;

	if (request->out == NULL)
		return writer_run(request, file, wanted, STDOUT_FILENO, "standard output", err);
	if (!request->into_directory)
		return file_write(request, file, wanted, request->out, err);
	if (asprintf(&path, "%s/%s", request->out, name_of(profile)) < 0)
		return vg_err_sys(err, -ENOMEM, "%s", profile);
	rc = file_write(request, file, wanted, path, err);
	free(path);
	return rc;
}

/* Opens a profile and collects what it wants named; the model of it is not needed any more. */
static int wanted_open(const struct request *request, const char *path, struct vg_opened *opened,
		       struct vg_wanted *wanted)
{
	struct vg_err err;
	int status = vg_command_open(request->command, path, opened);

	*wanted = (struct vg_wanted){ 0 };
	if (status != VG_EXIT_DONE)
		return status;
	if (vg_wanted_collect(wanted, &opened->profile) != 0) {
		vg_err_sys(&err, -ENOMEM, "%s", path);
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

/* One profile stays open, as it may come from a pipe. */
static void one_run(struct request *request)
{
	struct vg_opened opened;
	struct vg_wanted wanted;
	struct vg_err err;
	int rc;

	request->status = wanted_open(request, request->paths[0], &opened, &wanted);
	if (request->status != VG_EXIT_DONE)
		goto out;
	rc = vg_resolve_add(&request->resolve, &wanted);
	if (rc != 0) {
		vg_err_sys(&err, rc, "%s", request->paths[0]);
		complain(request, &err);
		goto out;
	}
	if (symbols_read(request) != 0)
		goto out;
	if (copy_write(request, &opened.file, &wanted, request->paths[0], &err) == 0)
		summary_print(request);
	else
		complain(request, &err);
out:
	vg_wanted_free(&wanted);
	vg_command_close(&opened);
}

/* Of many, each is read twice: kept from the first time on, they would fill the memory. */
static void profile_add(struct request *request, size_t number)
{
	struct vg_opened opened;
	struct vg_wanted wanted;
	struct vg_err err;
	int rc;

	request->bad[number] = wanted_open(request, request->paths[number], &opened, &wanted) !=
			       VG_EXIT_DONE;
	if (request->bad[number])
		request->status = VG_EXIT_FAILED;
	rc = request->bad[number] ? 0 : vg_resolve_add(&request->resolve, &wanted);
	if (rc != 0) {
		request->bad[number] = true;
		vg_err_sys(&err, rc, "%s", request->paths[number]);
		complain(request, &err);
	}
	vg_wanted_free(&wanted);
	vg_command_close(&opened);
}

static void profile_write(struct request *request, size_t number)
{
	struct vg_wanted wanted = { 0 };
	struct vg_opened opened = { 0 };
	const char *path = request->paths[number];
	struct vg_err err;
	int rc = vg_infile_open(&opened.file, path, &err);

	/* What is wrong with it was said the first time. */
	if (rc == 0)
		rc = vg_profile_read(&opened.profile, &opened.file, &err);
	if (rc == 0 && vg_wanted_collect(&wanted, &opened.profile) != 0)
		rc = vg_err_sys(&err, -ENOMEM, "%s", path);
	vg_profile_free(&opened.profile);
	if (rc == 0)
		rc = copy_write(request, &opened.file, &wanted, path, &err);
	if (rc != 0)
		complain(request, &err);
	vg_wanted_free(&wanted);
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
	if (symbols_read(request) != 0)
		return;
	vg_progress_begin(&progress, "writing profiles", request->path_count);
	for (size_t i = 0; i < request->path_count; i++) {
		vg_progress_step(&progress, i);
		if (!request->bad[i])
			profile_write(request, i);
	}
	vg_progress_end(&progress);
	summary_print(request);
}

static int names_compare(const void *a, const void *b)
{
	return strcmp(name_of(*(char *const *)a), name_of(*(char *const *)b));
}

/* Two profiles of one name would be one copy, and standard input has none. */
static int names_check(const struct request *request, struct vg_err *err)
{
	char **sorted = malloc((request->path_count + 1) * sizeof *sorted);
	int rc = 0;

	if (sorted == NULL)
		return vg_err_sys(err, -ENOMEM, "%s", request->out);
	memcpy(sorted, request->paths, request->path_count * sizeof *sorted);
	qsort(sorted, request->path_count, sizeof *sorted, names_compare);
	for (size_t i = 0; rc == 0 && i < request->path_count; i++) {
		if (strcmp(sorted[i], "-") == 0)
			rc = vg_err_set(err, -EINVAL, "standard input has no name to be written under in %s",
					request->out);
		else if (*name_of(sorted[i]) == '\0')
			rc = vg_err_set(err, -EINVAL, "%s is a directory, not a profile", sorted[i]);
		else if (i > 0 && names_compare(&sorted[i - 1], &sorted[i]) == 0)
			rc = vg_err_set(err, -EEXIST, "%s and %s would both be written as %s/%s",
					sorted[i - 1], sorted[i], request->out, name_of(sorted[i]));
	}
	free(sorted);
	return rc;
}

/* A slash at the end says so of one that is not there yet. */
static bool is_directory(const char *path)
{
	struct stat status;

	return path != NULL && (path[strlen(path) - 1] == '/' ||
				(stat(path, &status) == 0 && S_ISDIR(status.st_mode)));
}

/* What can be known to fail before the work. */
static int request_check(struct request *request, struct vg_err *err)
{
	int rc = 0;

	if (request->out == NULL && isatty(STDOUT_FILENO))
		return vg_err_set(err, -EINVAL, "a profile is nothing for a terminal: redirect it, or name "
				  "a file with -o");
	if (request->into_directory) {
		rc = names_check(request, err);
		if (rc == 0 && mkdir(request->out, 0777) != 0 && errno != EEXIST)
			rc = vg_err_sys(err, -errno, "cannot make directory %s", request->out);
	}
	return rc == 0 ? vg_names_check(&request->names, err) : rc;
}

static enum vg_exit request_confine(const struct request *request)
{
	return vg_command_confine_stores(request->command, &request->stores,
					 (struct vg_confinement){
		.paths = (const char *const *)request->paths, .path_count = request->path_count,
		.writes = request->out,
	});
}

static int request_run(struct request *request)
{
	struct vg_err err;

	/* Arrays that grow to megabytes then grow in place, and leave nothing behind: the C library
	 * would come to move them about in its heap. */
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	request->into_directory = request->path_count > 1 || is_directory(request->out);
	request->names.stores = request->stores.items;
	request->names.store_count = request->stores.count;
	request->resolve.names = &request->names;
	request->bad = calloc(request->path_count, sizeof *request->bad);
	if (request->bad == NULL)
		vg_err_sys(&err, -ENOMEM, "%s", request->paths[0]);
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
	vg_names_free(&request->names);
	return request->status;
}

/* NULL when the options make sense so far; else what is wrong, or "" if the usage says it. */
static const char *option_take(struct request *request, int option)
{
	switch (option) {
	case 's':
		return vg_command_store_take(&request->stores, optarg);
	case 'o':
		request->out = strcmp(optarg, "-") == 0 ? NULL : optarg;
		return *optarg == '\0' ? "-o takes the name of a file" : NULL;
	}
	return "";
}

int cmd_resolve(int argc, char **argv)
{
	static const struct option options[] = {
		{ "store", required_argument, NULL, 's' },
		{ "output", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct request request = { .command = argv[0] };
	const char *wrong = NULL;
	int option, status;

	while (wrong == NULL && (option = getopt_long(argc, argv, "s:o:h", options, NULL)) != -1) {
		if (option == 'h') {
			vg_array_free(&request.stores);
			return vg_command_usage(usage, VG_EXIT_DONE);
		}
		wrong = option_take(&request, option);
	}
	request.paths = argv + optind;
	request.path_count = (size_t)(argc - optind);
	if (wrong == NULL && request.stores.count == 0)
		wrong = "needs a store of symbols: -s STORE";
	else if (wrong == NULL && request.path_count == 0)
		wrong = "a profile is missing";
	else if (wrong == NULL && request.path_count > 1 && request.out == NULL)
		wrong = "more than one profile needs a directory to be written to: -o DIRECTORY";
	if (wrong != NULL && *wrong == '\0')
		status = vg_command_usage(usage, VG_EXIT_USAGE);
	else if (wrong != NULL)
		status = vg_command_misused(argv[0], usage, wrong);
	else
		status = request_run(&request);
	vg_array_free(&request.stores);
	return status;
}
