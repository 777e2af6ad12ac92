/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_BLOCKS_H
#define VG_VGTOOL_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/model.h"

/*
 * Blocks of one profile: pieces of the same length in time.  They show how precisely one profile measures a share of
 * the time.  Samples that follow each other are not independent, because a function often runs for many sampling
 * periods.  If a block is longer than such a run of the function, the sums of the blocks are nearly independent.
 */
enum {
	VG_BLOCKS = 20,
	VG_BLOCKS_SAMPLES_MIN = 200, /* a profile with fewer samples is too short for blocks */
	VG_BLOCKS_PART_MIN = 4,      /* with fewer samples in the mean block, the blocks do not show whether samples
	                                are more precise than independent ones */
};

/* The samples of a profile by block: block b has order[first[b]] to order[first[b + 1] - 1], indices into the
 * profile's samples. */
struct vg_block_order {
	uint32_t *order;
	uint64_t first[VG_BLOCKS + 2];
};

static inline bool vg_blocks_suffice(const struct vg_profile *profile)
{
	return profile->samples.count >= VG_BLOCKS_SAMPLES_MIN;
}

/* Returns 0 or -ENOMEM; call vg_block_order_free() in either case.  The profile has at least one sample. */
int vg_block_order_build(struct vg_block_order *blocks, const struct vg_profile *profile);
void vg_block_order_free(struct vg_block_order *blocks);

/*
 * Variance of the share sum(part) / sum(whole), from its times in the VG_BLOCKS blocks.  `samples` is the number of
 * samples in all blocks, 1 or more.
 *
 * It is computed from the differences of neighbouring blocks.  So a program that works in phases does not have a large
 * variance: a phase that begins or ends makes one difference.  It can be much less than that of independent samples:
 * samples have equal distances, so a function that runs for many sampling periods gets nearly the same number of
 * samples each time.  The variance of a part with few samples in each block is at least that of independent samples.
 * The share of one sample is added, because no time is known more precisely.
 */
double vg_blocks_variance(const float *part, const float *whole, double samples);

/* The same for a part that has no time in any block. */
static inline double vg_blocks_variance_of_none(double samples)
{
	return 1 / (samples * samples);
}

#endif
