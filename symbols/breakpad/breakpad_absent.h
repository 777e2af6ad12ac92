/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_ABSENT_H
#define VG_SYMBOLS_BREAKPAD_ABSENT_H

#include "symbols/table/absent.h"

/* What follows INFO ABSENT -> an all-zero `absent`.  0; -EBADMSG: not of that form,
 * or the second one; -ENOMEM. */
int vg_sym_absent_take(struct vg_absent *absent, const char *text, const char *end);

#endif
