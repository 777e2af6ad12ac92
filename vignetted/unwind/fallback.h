/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_FALLBACK_H
#define VG_VIGNETTED_FALLBACK_H

#include "vignetted/target/modules.h"
#include "vignetted/unwind/snapshot.h"
#include "vignetted/unwind/walk.h"

/* libunwind over snapshots, for what rows cannot say.  Same parameters and results as vg_unwind(), but slower. */
struct vg_fallback;

int vg_fallback_open(struct vg_fallback **fallback, struct vg_modules *modules);
void vg_fallback_free(struct vg_fallback *fallback);
int vg_fallback_unwind(struct vg_fallback *fallback, const struct vg_snapshot *snapshot,
		       uint32_t max_frames, struct vg_walk *walk);

#endif
