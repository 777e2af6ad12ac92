/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_NAME_H
#define VG_SYMBOLS_BREAKPAD_NAME_H

#include "symbols/breakpad/breakpad_reader.h"

/* The id of a name in that table of strings; what has none is "<name omitted>".  0 or -ENOMEM. */
int vg_sym_name_keep(struct vg_sym_reader *reader, struct vg_intern *strings,
		     const struct vg_sym_name *name, uint32_t *id);

#endif
