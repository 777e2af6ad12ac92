/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_COMPARABLE_H
#define VG_VGTOOL_COMPARABLE_H

#include "vgtool/analysis/thread_samples.h"

/* Properties of the earlier profiles.  Begins zeroed.  Paths belong to the caller. */
struct vg_comparable {
	const char *first_path;      /* of the first profile */
	enum vg_weight weight;       /* the mode of the first profile */
	const char *period_path;     /* of the first profile with samples and a rate */
	uint64_t period_ns;          /* its period */
	const char *symbolized_path, *unsymbolized_path; /* of the first profile with function names; of the first
	                                                    with addresses only */
	const char *timers_path, *stops_path; /* of the first profile whose running threads were sampled by timers;
	                                         of the first whose running threads were sampled by stops */
};

/* Refuses a profile of the other mode, because wall time and CPU time cannot be added or compared.  Returns 0, or
 * -EINVAL with a message that names both files. */
int vg_comparable_weight(struct vg_comparable *earlier, const struct vg_profile *profile, const char *path,
			 struct vg_err *err);

/* Refuses profiles of which some have function names and others addresses only.  Returns 0 or -EINVAL. */
int vg_comparable_symbols(struct vg_comparable *earlier, const struct vg_profile *profile, const char *path,
			  struct vg_err *err);

/* Refuses a profile whose rate is less than half of the first profile's rate, or more than twice that rate.  Refuses
 * profiles of which some were sampled by timers and others by stops, because stops find a thread more often in system
 * calls.  Returns 0 or -EINVAL. */
int vg_comparable_sampling(struct vg_comparable *earlier, const struct vg_profile *profile, const char *path,
			   struct vg_err *err);

#endif
