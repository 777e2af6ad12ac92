/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_MISSING_FILE_H
#define VG_SYMBOLS_BREAKPAD_MISSING_FILE_H

#include "symbols/table/missing_file.h"

/* Sets `missing_file` from the fields after INFO MISSING, which are [text, end).  Returns 0;
 * -EBADMSG: bad syntax, or `missing_file` is set already; -ENOMEM. */
int vg_sym_missing_file_read(struct vg_missing_file *missing_file, const char *text, const char *end);

#endif
