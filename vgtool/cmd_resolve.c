/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/outfile.h"
#include "vgtool/command.h"
#include "vgtool/resolve.h"
#include "vgtool/text.h"

static const char usage[] =
	"usage: vgtool resolve -s STORE [-s STORE]... [-o OUT] PROFILE\n";

struct request {
	const char *command, *path, *out;    /* out is NULL for standard output */
	VG_ARRAY(const char *) stores;
};

/* A store (a directory, or one .sym file) that cannot be read would look like an empty one. */
static int stores_check(const struct request *request, struct vg_err *err)
{
	for (size_t i = 0; i < request->stores.count; i++) {
		int store = open(request->stores.items[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

		if (store < 0)
			return vg_err_sys(err, -errno, "cannot read the store %s",
					  request->stores.items[i]);
		close(store);
	}
	return 0;
}

static int samples_descending(const void *a, const void *b)
{
	const struct vg_resolve_module *left = a, *right = b;

	if (left->samples != right->samples)
		return left->samples < right->samples ? 1 : -1;
	return left->module < right->module ? -1 : left->module > right->module;
}

static void missing_print(const struct request *request, const struct vg_profile *profile,
			  const struct vg_resolve_module *module)
{
	const struct vg_module *of = &profile->modules.items[module->module];
	char build_id[2 * VG_BUILD_ID_MAX_BYTES + 1];
	struct vg_text share;

	vg_text_hex(build_id, sizeof build_id, of->build_id, of->build_id_bytes);
	vg_command_warn(request->command, "no symbols: %s, build id %s, in %" PRIu64 " sample%s (%s)",
			vg_profile_text(profile, of->name),
			of->build_id_bytes > 0 ? build_id : "none", module->samples,
			vg_text_plural(module->samples),
			vg_text_percent(&share, module->samples, profile->samples_total));
}

static void summary_print(const struct request *request, struct vg_resolve *resolve)
{
	size_t missing = 0;

	if (resolve->modules.count > 0)
		qsort(resolve->modules.items, resolve->modules.count,
		      sizeof *resolve->modules.items, samples_descending);
	for (size_t i = 0; i < resolve->modules.count; i++) {
		const struct vg_resolve_module *module = &resolve->modules.items[i];

		missing += module->missing;
		if (module->missing)
			missing_print(request, resolve->profile, module);
		if (module->text != NULL)
			vg_command_warn(request->command, "%s", module->text);
	}
	vg_command_warn(request->command, "%" PRIu64 " of %" PRIu64 " addresses have names; %zu of %zu "
			"modules have symbols", resolve->named, resolve->addresses,
			resolve->modules.count - missing, resolve->modules.count);
}

static int writer_run(const struct request *request, struct vg_resolve *resolve, int fd,
		      struct vg_err *err)
{
	struct vg_writer writer;
	int rc;

	vg_writer_open(&writer, fd, 0);
	rc = vg_resolve_write(resolve, &writer);
	vg_writer_close(&writer);
	if (rc != 0)
		vg_err_sys(err, rc, "cannot write %s",
			   request->out != NULL ? request->out : "standard output");
	return rc;
}

static int file_write(const struct request *request, struct vg_resolve *resolve,
		      struct vg_err *err)
{
	struct vg_outfile outfile;
	int rc = vg_outfile_open(&outfile, request->out, err);

	if (rc != 0)
		return rc;
	rc = writer_run(request, resolve, outfile.fd, err);
	if (rc == 0)
		rc = vg_outfile_commit(&outfile, err);
	vg_outfile_abandon(&outfile);
	return rc;
}

static int resolve_run(const struct request *request)
{
	struct vg_opened opened;
	struct vg_resolve resolve = { .file = &opened.file, .profile = &opened.profile,
				      .stores = request->stores.items,
				      .store_count = request->stores.count };
	struct vg_err err;
	int status, rc;

	if (request->out == NULL && isatty(STDOUT_FILENO)) {
		vg_err_set(&err, 0, "a profile is nothing for a terminal: redirect it, or name a "
			   "file with -o");
		return vg_command_fail(request->command, &err);
	}
	if (stores_check(request, &err) != 0)
		return vg_command_fail(request->command, &err);
	status = vg_command_open(request->command, request->path, &opened);
	if (status == VG_EXIT_DONE) {
		rc = request->out == NULL ? writer_run(request, &resolve, STDOUT_FILENO, &err) :
		     file_write(request, &resolve, &err);
		if (rc != 0)
			status = vg_command_fail(request->command, &err);
		else
			summary_print(request, &resolve);
	}
	vg_resolve_free(&resolve);
	vg_command_close(&opened);
	return status;
}

/* True when the options make sense so far; else *status is what to exit with. */
static bool options_parse(struct request *request, int argc, char **argv, int *status)
{
	static const struct option options[] = {
		{ "store", required_argument, NULL, 's' },
		{ "output", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *store;
	int option;

	while ((option = getopt_long(argc, argv, "s:o:h", options, NULL)) != -1) {
		switch (option) {
		case 's':
			store = optarg;
			if (vg_array_push(&request->stores, &store) == 0)
				break;
			vg_command_warn(argv[0], "out of memory");
			*status = VG_EXIT_FAILED;
			return false;
		case 'o':
			request->out = strcmp(optarg, "-") == 0 ? NULL : optarg;
			break;
		case 'h':
			*status = vg_command_usage(usage, VG_EXIT_DONE);
			return false;
		case '?':
			*status = vg_command_usage(usage, VG_EXIT_USAGE);
			return false;
		}
	}
	return true;
}

int cmd_resolve(int argc, char **argv)
{
	struct request request = { .command = argv[0] };
	int status;

	if (options_parse(&request, argc, argv, &status)) {
		if (request.stores.count == 0) {
			status = vg_command_misused(argv[0], usage, "needs a store of symbols: -s STORE");
		} else if (argc - optind != 1) {
			status = vg_command_misused(argv[0], usage, "takes one profile");
		} else {
			request.path = argv[optind];
			status = resolve_run(&request);
		}
	}
	vg_array_free(&request.stores);
	return status;
}
