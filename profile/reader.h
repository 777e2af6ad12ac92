/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_READER_H
#define VG_PROFILE_READER_H

#include "base/infile.h"
#include "profile/model.h"

/*
 * Reads a whole profile into a zeroed model.  Free the model with vg_profile_free(), also after a failure.  The file is
 * untrusted.  The memory for the model is at most a small multiple of the file's length.
 *
 * Damage is skipped and listed in profile->damage.  A record that refers to a lost record is kept.  A placeholder
 * replaces the lost record.
 *
 * Records and fields of later versions are skipped and counted.
 *
 * Returns 0, -ENOMEM, or -EBADMSG for a file without an intact chunk or of an unknown version.
 */
int vg_profile_read(struct vg_profile *profile, const struct vg_infile *file, struct vg_err *err);

/* Sets the error for a file without an intact chunk.  `problem` is the problem at the beginning of the file.  Returns
 * -EBADMSG. */
int vg_profile_format_error(const struct vg_infile *file, const char *problem, struct vg_err *err);

#endif
