/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_ADDRESS_GROUPS_H
#define VG_VGTOOL_ADDRESS_GROUPS_H

#include "vgtool/analysis/frames.h"

/*
 * Two builds or two runs do not have the same addresses.  So this function replaces the functions that are named by
 * an address.  All addresses without a symbol become one function "[no symbol]" of their module.  All JIT code becomes
 * "[JIT code]", and other addresses without a module become "[no module]".  System calls keep their names.
 *
 * Returns 0 or -ENOMEM.
 */
int vg_address_groups_merge(struct vg_frames *frames);

#endif
