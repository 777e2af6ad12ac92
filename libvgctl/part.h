/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_PART_H
#define VG_LIBVGCTL_PART_H

#include "base/outfile.h"

/* As vg_outfile_open(), but waits some seconds for a file that another process is writing.  The failure has its
 * sentence for vgctl_strerror(). */
int vg_part_open(struct vg_outfile *file, const char *path);

#endif
