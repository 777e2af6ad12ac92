/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_RECORD_VIEW_H
#define VG_VGTOOL_RECORD_VIEW_H

#include "vgtool/commands/record_options.h"

/* The file of the page of vgtool record --view: OUT.html for a profile OUT.vgp that is kept, and otherwise the
 * program's name with ".html", in the current directory.  Must be called while the processes of --pid exist.  The
 * caller frees it.  NULL: no memory. */
char *vg_record_view_path(const struct vg_record_options *options);

/* Checks before the recording that the page can be written, and replaces no file but such a page: nobody has named this
 * file.  Returns 0, or a negative errno with a message in err. */
int vg_record_view_check(const char *path, struct vg_err *err);

/* Opens the page in a browser, if there is one here (run/browser.h), and prints the path of the page.  The calling
 * process must not be confined. */
void vg_record_view_open(const char *command, const char *path);

#endif
