/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_FALLBACK_H
#define VG_VIGNETTED_FALLBACK_H

#include "vignetted/target/modules.h"
#include "vignetted/unwind/snapshot.h"
#include "vignetted/unwind/step.h"
#include "vignetted/unwind/walk.h"

/* Unwinds with libunwind, for unwind information that a row cannot express.  Parameters and results are those of
 * vg_unwind().  libunwind is slower than rows. */
struct vg_fallback;

int vg_fallback_open(struct vg_fallback **fallback, struct vg_modules *modules);
void vg_fallback_free(struct vg_fallback *fallback);

/* Sets *goes_on if libunwind does not know the caller of the walk's last frame, or takes that frame for the root frame.
 * libunwind returns the same value for a root frame, for a return address of 0 and for an unknown frame pointer.  So
 * vg_unwind() finds out which case it is.  It takes the last frame off the walk, and goes on with rows from *state,
 * which is the state at that frame.  If *goes_on is false, *state has no meaning. */
int vg_fallback_unwind(struct vg_fallback *fallback, const struct vg_snapshot *snapshot, uint32_t max_frames,
		       struct vg_walk *walk, struct vg_frame_state *state, bool *goes_on);

#endif
