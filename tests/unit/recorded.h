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

/* Each stack is complete or truncated: fails the test if not. Returns whether few stacks are truncated. A stack that is
 * deeper than the thread's copies is truncated, and the next sample stops the thread. So all truncated stacks are of one
 * fetch. A late fetch has many samples, but a longer recording has few truncated ones. */
static inline bool recorded_few_truncated(const struct vg_profile *profile)
{
	size_t truncated = 0;

	for (size_t i = 0; i < profile->samples.count; i++) {
		truncated += profile->samples.items[i].end == VG_WALK_TRUNCATED;
		if (profile->samples.items[i].end != VG_WALK_TRUNCATED)
			ck_assert_int_eq(profile->samples.items[i].end, VG_WALK_ROOT);
	}
	return truncated <= 1 + profile->samples.count / 50;
}

static inline void recorded_free(struct recorded *recorded)
{
	vg_profile_free(&recorded->profile);
	vg_infile_close(&recorded->file);
}

#endif
