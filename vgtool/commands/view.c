/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/commands/view.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

#include "vgtool/commands/command_line.h"
#include "vgtool/output/bounded.h"
#include "vgtool/output/gzip.h"
#include "vgtool/output/output.h"

/* A failed write to `to` only sets the error indicator of `to`; vg_output_commit() reports it. */
static int bounded_write(const struct vg_view *view, const struct vg_profile *profile, FILE *to,
			 struct vg_err *err)
{
	struct vg_bounded bounded;
	FILE *file = vg_bounded_open(&bounded, to, (uint64_t)VG_VIEW_GIB_MAX << 30);
	uint64_t written_bytes;
	int rc;

	if (file == NULL)
		return -ENOMEM;
	rc = view->write(view->context, profile, file, err);
	fclose(file);
	written_bytes = ((uint64_t)VG_VIEW_GIB_MAX << 30) - bounded.left_bytes;
	if (rc == 0 && !bounded.exceeded && written_bytes > (uint64_t)VG_VIEW_MIB_READABLE << 20)
		vg_command_warn(view->command, "%s: the output has %" PRIu64 " MiB, and a browser reads at most %d",
				view->profiles.title, written_bytes >> 20, VG_VIEW_MIB_READABLE);
	if (rc == -EFBIG || (rc == 0 && bounded.exceeded))
		rc = vg_err_set(err, -EFBIG, "%s: the output would be larger than %d GiB", view->profiles.title,
				VG_VIEW_GIB_MAX);
	return rc;
}

static int compressed_write(const struct vg_view *view, const struct vg_profile *profile, FILE *to, struct vg_err *err)
{
	struct vg_gzip gzip;
	FILE *file = vg_gzip_open(&gzip, to);
	int rc;

	if (file == NULL)
		return -ENOMEM;
	rc = bounded_write(view, profile, file, err);
	/* A failed write sets the error indicator of `to`. */
	vg_gzip_close(&gzip, file);
	return rc;
}

static int view_write(void *context, struct vg_profile *profile, struct vg_err *err)
{
	struct vg_view *view = context;
	struct vg_output output;
	int rc = vg_symbolize_profile(&view->symbolize, view->command, profile, err);

	if (rc == 0)
		rc = vg_output_open(&output, view->out, err);
	if (rc != 0)
		return rc;
	rc = view->compressed ? compressed_write(view, profile, output.file, err) :
	     bounded_write(view, profile, output.file, err);
	if (rc == 0)
		return vg_output_commit(&output, err);
	vg_output_abandon(&output);
	return rc;
}

static int view_run(struct vg_view *view)
{
	struct vg_err err;
	int status;

	if (view->compressed && vg_output_check_terminal(view->out, &err) != 0)
		return vg_command_fail(view->command, &err);
	/* The profiles' list has room for their paths only, so the directories have a list that gets the paths, too. */
	for (size_t i = 0; i < view->profiles.paths.count; i++) {
		if (vg_array_push(&view->sources, &view->profiles.paths.items[i]) != 0)
			return VG_EXIT_FAILED;
	}
	view->profiles.names = view->names.items;
	view->profiles.name_count = view->names.count;
	status = vg_symbolize_confine(&view->symbolize, view->command, (struct vg_confinement){
		.paths = view->sources.items, .path_count = view->sources.count,
		.writes = view->out != NULL && strcmp(view->out, "-") != 0 ? view->out : NULL,
	});

	if (status == VG_EXIT_DONE)
		status = vg_profiles_use(view->command, &view->profiles, view_write, view);
	return status;
}

int vg_view_option_set(struct vg_view *view, const struct vg_option_value *value, struct vg_err *err)
{
	if (value->key == 'o')
		view->out = value->text;
	if (value->key == 'b' && vg_array_push(&view->base, &value->text) != 0)
		return vg_err_sys(err, -ENOMEM, "--base %s", value->text);
	if (value->key == 'N' && vg_array_push(&view->names, &value->text) != 0)
		return vg_err_sys(err, -ENOMEM, "--name %s", value->text);
	return vg_symbolize_set(&view->symbolize, value, err);
}

/* Lists the profiles of --base, and then those of the arguments. */
static int profiles_list(struct vg_view *view, const char *const *arguments, size_t count, struct vg_err *err)
{
	int rc = 0;

	if (view->base.count > 0)
		rc = vg_profiles_list(&view->profiles, view->base.items, view->base.count, err);
	view->profiles.base_paths = view->profiles.paths.count;
	return rc != 0 ? rc : vg_profiles_list(&view->profiles, arguments, count, err);
}

void vg_view_free(struct vg_view *view)
{
	vg_profiles_free(&view->profiles);
	vg_array_free(&view->base);
	vg_array_free(&view->sources);
	vg_array_free(&view->names);
	vg_symbolize_free(&view->symbolize);
}

int vg_view_run_paths(struct vg_view *view, const char *const *paths, size_t count)
{
	struct vg_err err;
	int status = profiles_list(view, paths, count, &err) != 0 ? vg_command_fail(view->command, &err) : view_run(view);

	vg_view_free(view);
	return status;
}

int vg_view_run_on(struct vg_view *view, const char *usage, int argc, char **argv)
{
	int count = argc - optind, status;

	if (count > 0 && view->names.count <= (size_t)count)
		return vg_view_run_paths(view, (const char *const *)argv + optind, (size_t)count);
	status = count == 0 ? vg_command_usage_error(view->command, usage, "expected a PROFILE") :
		 vg_command_usage_error(view->command, usage, "--name: more names (%zu) than profiles (%d)",
					view->names.count, count);
	vg_view_free(view);
	return status;
}

/* ---- compressed views ---- */

struct export {
	struct vg_view view;
	int (*write)(const struct vg_profile *profile, uint32_t base_processes, const char *exporter, FILE *file);
};

static int export_write(void *context, const struct vg_profile *profile, FILE *file, struct vg_err *err)
{
	const struct export *export = context;

	(void)err;
	return export->write(profile, export->view.profiles.base_processes, vg_command_exporter(), file);
}

static int export_option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	struct export *export = context;

	return vg_view_option_set(&export->view, value, err);
}

int vg_view_run_compressed(const char *usage, int argc, char **argv,
			   int (*write)(const struct vg_profile *profile, uint32_t base_processes, const char *exporter,
					FILE *file))
{
	static const struct vg_option options[] = {
		VG_VIEW_OPTION_OUTPUT,
		VG_VIEW_OPTION_BASE,
		VG_VIEW_OPTION_NAME,
		VG_SYMBOLIZE_TABLE,
		VG_OPTION_HELP,
	};
	struct export export = { { .command = argv[0], .write = export_write, .context = &export,
					   .compressed = true }, write };
	const struct vg_command_line line = { usage, options, sizeof options / sizeof *options, export_option_set,
					      &export };
	int status = vg_command_line_read(&line, argc, argv);

	return status != VG_COMMAND_LINE_READ ? status : vg_view_run_on(&export.view, usage, argc, argv);
}
