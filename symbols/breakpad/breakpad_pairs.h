/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_PAIRS_H
#define VG_SYMBOLS_BREAKPAD_PAIRS_H

#include "symbols/breakpad/breakpad_reader.h"

/*
 * A function of the symbolization is a pair of name and file.  A FILE or INLINE_ORIGIN record may
 * come after records that refer to it.  So until all records are read, the members of a pair are:
 *
 *     name   a string id; or VG_SYM_ORIGIN | slot of an inline origin
 *     file   slot of a file; or VG_SYM_ORIGIN | slot of an inline origin, for the file of that origin; or
 *            VG_SYMBOLS_NONE
 */

/* Slots are below VG_SYM_SLOTS_MAX, so no slot has this bit.  VG_SYMBOLS_NONE has this bit, so check
 * for VG_SYMBOLS_NONE first. */
#define VG_SYM_ORIGIN (UINT32_C(1) << 31)

/* Sets *index to the index that the pair will have in the functions of the symbolization.  Returns 0
 * or -ENOMEM. */
int vg_sym_pair_index(struct vg_sym_reader *reader, uint32_t name, uint32_t file, uint32_t *index);

/* Fills the functions of the symbolization.  Call it after all records were read.  Returns 0 or
 * -ENOMEM. */
int vg_sym_pairs_finish(struct vg_sym_reader *reader);

#endif
