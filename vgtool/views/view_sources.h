/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_VIEW_SOURCES_H
#define VG_VGTOOL_VIEW_SOURCES_H

#include "vgtool/output/json.h"
#include "vgtool/views/view_nodes.h"

/* Writes the source lines of the nodes' frames as an array, with a few lines around each: [{"file": 3, "lines": {"12":
 * "text", ...}}, ...].  `file` numbers the names of files.  Source files are looked for in the directories: see
 * vg_source_open().  Returns the number of files that were found, or -ENOMEM. */
int vg_view_sources_write(const struct vg_view_nodes *nodes, const char *const *directories, size_t count,
			  uint32_t (*file)(void *context, const char *name), void *context, struct vg_json *json);

#endif
