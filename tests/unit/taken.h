/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_TESTS_TAKEN_H
#define VG_TESTS_TAKEN_H

#include <check.h>

#include "base/infile.h"
#include "profile/reader.h"

/* A profile that a test has taken, read back. */
struct taken {
	struct vg_infile file;
	struct vg_profile profile;
};

/* Fails the test if the file is no profile. */
static inline void taken_read(struct taken *taken, const char *path)
{
	struct vg_err err;

	memset(taken, 0, sizeof *taken);
	ck_assert_msg(vg_infile_open(&taken->file, path, &err) == 0, "%s", err.text);
	ck_assert_msg(vg_profile_read(&taken->profile, &taken->file, &err) == 0, "%s", err.text);
}

static inline void taken_free(struct taken *taken)
{
	vg_profile_free(&taken->profile);
	vg_infile_close(&taken->file);
}

#endif
