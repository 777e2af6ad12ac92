/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_TESTS_RECORDED_H
#define VG_TESTS_RECORDED_H

#include <check.h>

#include "base/infile.h"
#include "profile/reader.h"

/* The profile of a recording that a test made, read back from its file. The caller frees it with recorded_free(). */
struct recorded {
	struct vg_infile file;
	struct vg_profile profile;
};

/* Fails the test if the file is not a profile. */
static inline void recorded_read(struct recorded *recorded, const char *path)
{
	struct vg_err err;

	memset(recorded, 0, sizeof *recorded);
	ck_assert_msg(vg_infile_open(&recorded->file, path, &err) == 0, "%s", err.text);
	ck_assert_msg(vg_profile_read(&recorded->profile, &recorded->file, &err) == 0, "%s", err.text);
}

static inline void recorded_free(struct recorded *recorded)
{
	vg_profile_free(&recorded->profile);
	vg_infile_close(&recorded->file);
}

#endif
