/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/view.h"

#include "vgtool/output.h"

static int view_write(void *context, const struct vg_profile *profile, struct vg_err *err)
{
	const struct vg_view *view = context;
	struct vg_output output;
	int rc = vg_output_open(&output, view->out, err);

	if (rc != 0)
		return rc;
	rc = view->write(view->context, profile, output.file, err);
	if (rc == 0)
		return vg_output_commit(&output, err);
	vg_output_abandon(&output);
	return rc;
}

int vg_view_run(const struct vg_view *view)
{
	if (vg_command_confine_to(view->command, view->path, view->out) != VG_EXIT_DONE)
		return VG_EXIT_FAILED;
	return vg_command_use(view->command, view->path, view_write, (void *)view);
}
