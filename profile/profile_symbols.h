/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_PROFILE_SYMBOLS_H
#define VG_PROFILE_PROFILE_SYMBOLS_H

#include "profile/model.h"

/*
 * Adds symbols to a profile in memory.  The profile is then the same as if its file had the FUNCTION and SYMBOL records
 * of vgp(5).
 *
 *	vg_profile_add_function(&profile, "work", "work.c", module, &line.function);
 *	vg_profile_add_symbol(&profile, module, 0x1234, &line, 1);
 *
 * Modules and functions are indices.  Each function returns 0 or -ENOMEM.
 */

/* Copies the texts; file: NULL: unknown.  Sets *function. */
int vg_profile_add_function(struct vg_profile *profile, const char *name, const char *file, uint32_t module,
			    uint32_t *function);

/* Adds the functions at an address, innermost first.  Ignores an address that has symbols already. */
int vg_profile_add_symbol(struct vg_profile *profile, uint32_t module, uint64_t address,
			  const struct vg_symbol_line *lines, size_t count);

#endif
