/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/repeats.h"

uint32_t vg_repeats_max(const struct vg_profile *profile)
{
	uint64_t most = 1000000 + 20 * profile->file_bytes;

	if (profile->samples_total <= most)
		return UINT32_MAX;
	most /= profile->samples.count > 0 ? profile->samples.count : 1;
	return most < 1 ? 1 : most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

uint32_t vg_repeats_of(const struct vg_sample *sample, uint32_t most)
{
	uint32_t repeats = sample->count < most ? sample->count : most;

	return repeats > 0 ? repeats : 1;
}

uint64_t vg_repeat_ns(const struct vg_sample *sample, uint32_t i, uint32_t repeats)
{
	uint64_t back_ns = sample->wall_ns / repeats * (repeats - 1 - i);

	return sample->time_ns > back_ns ? sample->time_ns - back_ns : 0;
}
