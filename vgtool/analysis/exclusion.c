/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/exclusion.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vgtool/analysis/address_groups.h"

int vg_exclusion_add(struct vg_exclusion *exclusion, const char *pattern)
{
	int rc = vg_array_reserve(&exclusion->patterns, 1);

	if (rc == 0)
		rc = regcomp(&exclusion->patterns.items[exclusion->patterns.count], pattern, REG_EXTENDED | REG_NOSUB);
	exclusion->patterns.count += rc == 0;
	return rc;
}

void vg_exclusion_free(struct vg_exclusion *exclusion)
{
	for (size_t i = 0; i < exclusion->patterns.count; i++)
		regfree(&exclusion->patterns.items[i]);
	vg_array_free(&exclusion->patterns);
}

bool vg_exclusion_matches(const struct vg_exclusion *exclusion, const char *name)
{
	bool found = false;

	for (size_t i = 0; !found && i < exclusion->patterns.count; i++)
		found = regexec(&exclusion->patterns.items[i], name, 0, NULL, 0) == 0;
	return found;
}

/* excluded: by function: 1: its name matches. */
static int samples_keep(const struct vg_frames *frames, const unsigned char *excluded, struct vg_profile *kept)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < frames->profile->samples.count; i++) {
		const struct vg_sample *sample = &frames->profile->samples.items[i];

		if (sample->stack == VG_NONE || !excluded[vg_frames_at(frames, sample->stack, 0).function])
			rc = vg_array_push(&kept->samples, sample);
	}
	return rc;
}

int vg_exclusion_samples(const struct vg_exclusion *exclusion, struct vg_profile *kept)
{
	const struct vg_profile profile = *kept;
	unsigned char *excluded = NULL;
	struct vg_frames frames;
	int rc;

	if (exclusion->patterns.count == 0)
		return 0;
	rc = vg_frames_build(&frames, &profile);
	memset(&kept->samples, 0, sizeof kept->samples);
	if (rc == 0)
		rc = vg_address_groups_merge(&frames);
	if (rc == 0)
		excluded = calloc((size_t)frames.count + 1, 1);
	if (rc == 0 && excluded == NULL)
		rc = -ENOMEM;
	for (uint32_t i = 0; rc == 0 && i < frames.count; i++)
		excluded[i] = vg_exclusion_matches(exclusion, vg_frames_function(&frames, i).name);
	if (rc == 0)
		rc = samples_keep(&frames, excluded, kept);
	free(excluded);
	vg_frames_free(&frames);
	return rc;
}
