/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_RECORD_H
#define VG_SYMBOLS_BREAKPAD_RECORD_H

#include "base/infile.h"
#include "symbols/breakpad/breakpad_reader.h"

/* Reads all records of a file.  Returns 0; -EBADMSG: the first record is not MODULE, or functions overlap
 * too much; -ENOMEM. */
int vg_sym_records(struct vg_sym_reader *reader, const struct vg_infile *file, struct vg_err *err);

#endif
