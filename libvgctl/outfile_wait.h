/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_OUTFILE_WAIT_H
#define VG_LIBVGCTL_OUTFILE_WAIT_H

#include "base/outfile.h"

/* Like vg_outfile_open().  If another process is writing the file, waits up to 3 seconds for it.  Returns 0 or a
 * negative errno.  After a failure, vgctl_strerror() returns a sentence about the failure. */
int vg_outfile_open_wait(struct vg_outfile *file, const char *path);

#endif
