/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SAMPLE_FILTER_H
#define VG_VGTOOL_SAMPLE_FILTER_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "profile/model.h"

/* Which samples count, by the state in which they found the thread. */
enum vg_sample_state {
	VG_SAMPLE_ANY,
	VG_SAMPLE_ON_CPU,            /* the sample has CPU time */
	VG_SAMPLE_OFF_CPU,           /* the thread waited, or was in the run queue */
};

/*
 * Selects samples.  A sample must match all parts of the filter that are set.  A zeroed filter with end_ns UINT64_MAX
 * selects all samples.
 *
 *	struct vg_sample_filter filter = { .thread = "worker", .end_ns = UINT64_MAX };
 *	memset(keep, 1, profile->samples.count);
 *	vg_sample_filter_apply(&filter, profile, keep);
 */
struct vg_sample_filter {
	const char *thread;          /* id or name of the thread; NULL: all */
	const char *function;        /* text of `regex`, for messages; NULL: no regex */
	regex_t regex;               /* some function of the stack must match */
	uint64_t begin_ns, end_ns;   /* begin_ns <= time of the sample < end_ns */
	enum vg_sample_state state;
};

/* Parses "A..B", "A.." or "..B", in seconds with up to nine decimals.  False for anything else, and if B <= A. */
bool vg_time_range_parse(const char *text, uint64_t *begin_ns, uint64_t *end_ns);

/* True if the filter may leave samples out. */
bool vg_sample_filter_is_set(const struct vg_sample_filter *filter);

/* Sets keep (by sample) to 0 for the samples that do not match.  by_module: see vg_frames_build_rows(); the regex
 * matches the names that the view shows.  Returns 0 or -ENOMEM. */
int vg_sample_filter_apply(const struct vg_sample_filter *filter, const struct vg_profile *profile, bool by_module,
			   unsigned char *keep);

#endif
