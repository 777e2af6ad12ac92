/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_PAIRS_H
#define VG_SYMBOLS_BREAKPAD_PAIRS_H

#include "symbols/breakpad/breakpad_reader.h"

/*
 * A function in the answers is a pair of a name and a file.  Until all names are known, the name is
 * a string's id, or VG_SYM_ORIGIN and the slot of an origin.  The file is a slot, or VG_SYM_ORIGIN
 * and the slot of an origin that names the file, or NONE.
 */

/* No slot is as large (VG_SYM_SLOTS_MAX), and VG_SYMBOLS_NONE is none with it. */
#define VG_SYM_ORIGIN (UINT32_C(1) << 31)

/* The pair's index in the answers' functions.  0 or -ENOMEM. */
int vg_sym_pair_index(struct vg_sym_reader *reader, uint32_t name, uint32_t file, uint32_t *index);

/* Fills the answers' functions; call when all records were read.  0 or -ENOMEM. */
int vg_sym_pairs_finish(struct vg_sym_reader *reader);

#endif
