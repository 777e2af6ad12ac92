/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_ADDRESS_GROUPS_H
#define VG_VGTOOL_ADDRESS_GROUPS_H

#include "vgtool/analysis/frames.h"

/*
 * Replaces the functions of frames that two builds or two runs do not have in common.  All addresses of a module that
 * have no symbol become the module's function "[no symbol]".  All JIT code becomes "[JIT code]", and other addresses
 * without a module become "[no module]".  System calls keep their names.
 *
 * Returns 0 or -ENOMEM.
 */
int vg_address_groups_merge(struct vg_frames *frames);

#endif
