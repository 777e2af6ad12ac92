/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGCTL_COMMANDS_H
#define VG_VGCTL_COMMANDS_H

#include "vgctl/arguments.h"

/* The commands of vgctl(1).  Each prints its result or error and returns the exit status. */

int vg_cmd_list(const struct vg_arguments *arguments);
int vg_cmd_status(const struct vg_arguments *arguments);
int vg_cmd_begin(const struct vg_arguments *arguments);
int vg_cmd_end(const struct vg_arguments *arguments);
int vg_cmd_dump(const struct vg_arguments *arguments);
int vg_cmd_mark(const struct vg_arguments *arguments);

#endif
