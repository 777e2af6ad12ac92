/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_THREAD_SAMPLES_H
#define VG_VGTOOL_THREAD_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/model.h"

/* Which time of a sample is added up. */
enum vg_weight {
	VG_WEIGHT_WALL,              /* time that passed, running or waiting */
	VG_WEIGHT_CPU,               /* time on a CPU */
};

/* "wall" or "cpu". */
const char *vg_weight_name(enum vg_weight weight);

/* The weight of the mode that the profile was recorded in. */
enum vg_weight vg_weight_default(const struct vg_profile *profile);

static inline uint64_t vg_weight_of(const struct vg_sample *sample, enum vg_weight weight)
{
	return weight == VG_WEIGHT_CPU ? sample->cpu_ns : sample->wall_ns;
}

/*
 * The samples of a profile, sorted by thread and, within a thread, by time.  Thread t (an index) has order[first[t]] to
 * order[first[t + 1] - 1].
 *
 *	vg_thread_samples_build(&samples, profile, -1);
 *	for (uint64_t at = samples.first[t]; at < samples.first[t + 1]; at++)
 *		sum_ns += profile->samples.items[samples.order[at]].cpu_ns;
 *	vg_thread_samples_free(&samples);
 */
struct vg_thread_samples {
	uint64_t *first;
	uint32_t *order;             /* indices into the profile's samples */
};

/* only_tid: keeps only samples of threads with this id; -1: keeps all.  Several threads can have the same id, because
 * the kernel reuses ids.  Returns 0 or -ENOMEM. */
int vg_thread_samples_build(struct vg_thread_samples *threads, const struct vg_profile *profile,
			    int64_t only_tid);

/* Removes the samples whose entry in keep (by sample) is 0. */
void vg_thread_samples_keep(struct vg_thread_samples *threads, const struct vg_profile *profile,
			    const unsigned char *keep);
void vg_thread_samples_free(struct vg_thread_samples *threads);

#endif
