/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/damage.h"

enum { DAMAGE_LISTED_MAX = 1000 };

int vg_damage_add(struct vg_profile *profile, const struct vg_damage *damage)
{
	/* A gap record of a hostile file can contain any number, so the sum may overflow. */
	if (__builtin_add_overflow(profile->damaged_bytes, damage->bytes, &profile->damaged_bytes))
		profile->damaged_bytes = UINT64_MAX;
	if (profile->damage.count >= DAMAGE_LISTED_MAX)
		return 0;
	return vg_array_push(&profile->damage, damage);
}
