/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_FRAME_H
#define VG_VIGNETTED_FRAME_H

#include "profile/model.h"

/* One frame of a walk. */
struct vg_frame {
	uint64_t address;            /* absolute; the return address - 1, except in the leaf frame and in a frame
					that a signal interrupted.  VG_FOUND_IN_KERNEL: the number of a kernel symbol */
	uint32_t module;             /* index into vg_modules, or VG_NONE; not for VG_FOUND_IN_KERNEL */
	enum vg_found_by found;
};

#endif
