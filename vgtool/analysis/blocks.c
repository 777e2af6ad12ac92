/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/blocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* The block of a time between begin_ns and end_ns.  Times of a hostile profile can have any value, so they are
 * computed as real numbers. */
static size_t block_of(uint64_t time_ns, uint64_t begin_ns, uint64_t end_ns)
{
	double part = (double)(time_ns - begin_ns) / ((double)(end_ns - begin_ns) + 1);
	size_t block = (size_t)(part * VG_BLOCKS);

	return block < VG_BLOCKS ? block : VG_BLOCKS - 1;
}

int vg_block_order_build(struct vg_block_order *blocks, const struct vg_profile *profile)
{
	uint64_t begin_ns = UINT64_MAX, end_ns = 0;

	*blocks = (struct vg_block_order){ 0 };
	blocks->order = malloc((profile->samples.count + 1) * sizeof *blocks->order);
	if (blocks->order == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < profile->samples.count; i++) {
		uint64_t time_ns = profile->samples.items[i].time_ns;

		begin_ns = time_ns < begin_ns ? time_ns : begin_ns;
		end_ns = time_ns > end_ns ? time_ns : end_ns;
	}
	/* A counting sort.  At first, first[b + 2] is the number of samples of block b.  Then first[b + 1] is the
	 * position where they begin, and at the end the position where they end. */
	for (size_t i = 0; i < profile->samples.count; i++)
		blocks->first[block_of(profile->samples.items[i].time_ns, begin_ns, end_ns) + 2]++;
	for (size_t b = 2; b < VG_BLOCKS + 2; b++)
		blocks->first[b] += blocks->first[b - 1];
	for (size_t i = 0; i < profile->samples.count; i++) {
		size_t block = block_of(profile->samples.items[i].time_ns, begin_ns, end_ns);

		blocks->order[blocks->first[block + 1]++] = (uint32_t)i;
	}
	return 0;
}

void vg_block_order_free(struct vg_block_order *blocks)
{
	free(blocks->order);
	*blocks = (struct vg_block_order){ 0 };
}

double vg_blocks_variance(const float *part, const float *whole, double samples)
{
	double of_part = 0, of_whole = 0, squares = 0, before = 0, share, variance;

	for (size_t b = 0; b < VG_BLOCKS; b++) {
		of_part += part[b];
		of_whole += whole[b];
	}
	share = of_whole > 0 ? fmin(of_part / of_whole, 1) : 0;
	for (size_t b = 0; b < VG_BLOCKS; b++) {
		double excess = part[b] - share * whole[b];

		if (b > 0)
			squares += (excess - before) * (excess - before);
		before = excess;
	}
	if (of_whole <= 0)
		return vg_blocks_variance_of_none(samples);
	variance = squares * VG_BLOCKS / (2.0 * (VG_BLOCKS - 1)) / (of_whole * of_whole);
	if (share * samples < VG_BLOCKS_PART_MIN * VG_BLOCKS)
		variance = fmax(variance, share * (1 - share) / samples);
	return variance + vg_blocks_variance_of_none(samples);
}
