/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CUT_H
#define VG_VGTOOL_CUT_H

#include "base/infile.h"
#include "profile/writer.h"
#include "vgtool/analysis/part.h"

/*
 * Writes a part of a profile as a profile.  Times still count from the begin of the recording.  Nothing is written that
 * only the rest of the profile needs.  These are copied, and count for the whole recording: lost samples, statistics
 * and damage.  The pause histogram and records of later versions are left out.
 *
 * part: after vg_part_select().  file: from which the profile was read.  writer: after vg_writer_open().  Returns 0,
 * -ENOMEM or the writer's negative errno.
 */
int vg_cut_write(const struct vg_part *part, const struct vg_infile *file, struct vg_writer *writer);

#endif
