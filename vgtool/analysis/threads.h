/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_THREADS_H
#define VG_VGTOOL_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/model.h"

/* What a sample counts for. */
enum vg_weight {
	VG_WEIGHT_WALL,              /* time that passed, running or waiting */
	VG_WEIGHT_CPU,               /* time on a CPU */
};

const char *vg_weight_name(enum vg_weight weight);

/* "wall" or "cpu"; false for anything else. */
bool vg_weight_parse(const char *text, enum vg_weight *weight);

/* What the profile was taken for. */
enum vg_weight vg_weight_default(const struct vg_profile *profile);

static inline uint64_t vg_weight_of(const struct vg_sample *sample, enum vg_weight weight)
{
	return weight == VG_WEIGHT_CPU ? sample->cpu_ns : sample->wall_ns;
}

/*
 * The samples of a profile, thread by thread and in order of time within each.  Those of thread
 * t (an index) are order[first[t]] up to before order[first[t + 1]], as indices into samples.
 */
struct vg_threads {
	uint64_t *first;
	uint32_t *order;
};

/* only_tid keeps the threads of that id (a system may have used one twice); -1 keeps all.
 * 0 or -ENOMEM. */
int vg_threads_build(struct vg_threads *threads, const struct vg_profile *profile,
		     int64_t only_tid);

/* Leaves only samples whose entry in keep (by sample) is not 0. */
void vg_threads_keep(struct vg_threads *threads, const struct vg_profile *profile,
		     const unsigned char *keep);
void vg_threads_free(struct vg_threads *threads);

#endif
