/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_COMMAND_VIEW_PAGE_H
#define VG_VGTOOL_COMMAND_VIEW_PAGE_H

#include "vgtool/commands/symbolize.h"

/* The default file of a page: the path with ".html" in place of ".vgp", or of slashes at its end.  For "." and ".." the
 * path is the absolute one.  The caller frees it.  NULL: no memory. */
char *vg_view_page_path(const char *path);

/* Writes the page of `vgtool view` with default options to the file `out`.  path: a profile, or a directory of
 * profiles.  `command` is the name in messages.  Confines the process, and frees *symbolize.  Returns the exit
 * status. */
int vg_view_page_run(const char *command, const char *path, const char *out, struct vg_symbolize *symbolize);

#endif
