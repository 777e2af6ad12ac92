/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_EXCLUSION_H
#define VG_VGTOOL_EXCLUSION_H

#include <regex.h>

#include "vgtool/analysis/frames.h"

/*
 * Functions and labels that a comparison leaves out, by name: those whose names match one of the patterns.  Zeroed, it
 * leaves out nothing.
 *
 *	vg_exclusion_add(&exclusion, "^\\[epoll_wait\\]$");
 *	if (!vg_exclusion_matches(&exclusion, name))
 *		...
 *	vg_exclusion_free(&exclusion);
 */
struct vg_exclusion {
	VG_ARRAY(regex_t) patterns;
};

/* Adds an extended regular expression.  Returns 0, -ENOMEM, or an error of regcomp(3), which is above 0. */
int vg_exclusion_add(struct vg_exclusion *exclusion, const char *pattern);
void vg_exclusion_free(struct vg_exclusion *exclusion);

bool vg_exclusion_matches(const struct vg_exclusion *exclusion, const char *name);

/* Removes the samples whose leaf frame is a function that matches.  *kept is a copy of the profile's struct, and shares
 * its arrays.  If there are patterns, kept->samples becomes an array of its own, which the caller frees also after a
 * failure.  Addresses have the names that vg_address_groups_merge() gives them.  Returns 0 or -ENOMEM. */
int vg_exclusion_samples(const struct vg_exclusion *exclusion, struct vg_profile *kept);

#endif
