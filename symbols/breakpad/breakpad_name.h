/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_NAME_H
#define VG_SYMBOLS_BREAKPAD_NAME_H

#include "symbols/breakpad/breakpad_reader.h"

/* Adds the name to `strings` and sets *id to its id there.  An empty or missing name becomes
 * "<name omitted>".  Returns 0 or -ENOMEM. */
int vg_sym_name_intern(struct vg_sym_reader *reader, struct vg_intern *strings,
		       const struct vg_sym_name *name, uint32_t *id);

#endif
