/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_READER_H
#define VG_PROFILE_READER_H

#include "base/infile.h"
#include "profile/model.h"

/*
 * Reads a whole profile into a zeroed model, to be freed with vg_profile_free() whatever is
 * returned.  Memory is bounded by a small multiple of the file's length.
 *
 * Damage is skipped and listed in profile->damage; a record that refers to a lost one is kept
 * with a placeholder.  0; -EBADMSG for a file without one good chunk, or of a version that this
 * reader does not know; -ENOMEM.
 */
int vg_profile_read(struct vg_profile *profile, const struct vg_infile *file, struct vg_err *err);

/* Says that the file has not one good chunk, and what is wrong at its beginning. */
int vg_profile_refuse(const struct vg_infile *file, const char *what, struct vg_err *err);

#endif
