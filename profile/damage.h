/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_DAMAGE_H
#define VG_PROFILE_DAMAGE_H

#include "profile/model.h"

/* Adds damage to profile->damaged_bytes and, up to 1000 items, to profile->damage.  Returns 0 or -ENOMEM. */
int vg_damage_add(struct vg_profile *profile, const struct vg_damage *damage);

#endif
