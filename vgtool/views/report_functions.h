/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_REPORT_FUNCTIONS_H
#define VG_VGTOOL_REPORT_FUNCTIONS_H

#include "vgtool/views/report.h"

/* Prints a table of functions, lines, modules or files over all threads, and one for each thread.  Returns 0 or
 * -ENOMEM. */
int vg_report_functions(struct vg_report *report, enum vg_frames_kind kind);

#endif
