/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_MERGE_H
#define VG_PROFILE_MERGE_H

#include "profile/model.h"

/*
 * Makes one profile of the profiles of several processes.  Views then show it like the profile of one file.
 *
 *	struct vg_profile merged = { 0 };
 *	struct vg_merge merge = { .profile = &merged };
 *	vg_merge_add(&merge, &profile, "a.vgp", &err);          (for each profile)
 *	vg_merge_finish(&merge);
 *	vg_merge_free(&merge);
 *	... use the profile ...
 *	vg_profile_free(&merged);
 *
 * Each added profile is one process.  Its threads, stacks and samples follow those of the profiles before it, in their
 * order.  Modules with the same name and build id become one module.  Tokens of intervals get new numbers, because two
 * processes can use the same ones.  Counts become sums.  Times count from the earliest begin of all recordings.  The
 * clocks of the processes are compared by the headers' start times, in microseconds.  (In seconds if a file has no
 * start_us.)
 *
 * The profiles are untrusted.  Time and memory are proportional to what is added.
 */
struct vg_merge {
	struct vg_profile *profile;  /* the caller's; zeroed before the first call */
	/* Private: */
	struct vg_intern modules, functions, tokens; /* keys (see merge.c) -> indices; of tokens: the new token - 1 */
	struct vg_intern lost, stats;        /* strings -> indices in the profile's counts */
	const char *mode_path, *arch_path; /* of the first profile that has a mode, a machine */
};

/* Copies a profile that vg_profile_read() has read.  path: for messages; the caller keeps it until the last call.
 * Returns 0, -ENOMEM, -EFBIG if the profiles together are too large, or -EINVAL if the profile's mode or machine
 * differs from those of an earlier profile.  err names both files then.  After -EINVAL and -EFBIG the merged profile
 * is unchanged. */
int vg_merge_add(struct vg_merge *merge, const struct vg_profile *part, const char *path, struct vg_err *err);

/* Gives the process of a profile that vg_profile_read() has read another name.  The name is stored as UTF-8 without
 * control characters, and truncated to VG_NAME_MAX_BYTES.  Returns 0 or -ENOMEM. */
int vg_merge_rename(struct vg_profile *part, const char *name);

/* Sets the times and the program's name, after the last vg_merge_add().  Returns 0 or -ENOMEM. */
int vg_merge_finish(struct vg_merge *merge);

/* Frees what the struct owns; not the profile. */
void vg_merge_free(struct vg_merge *merge);

#endif
