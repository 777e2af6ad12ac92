/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_REPORT_FUNCTIONS_H
#define VG_VGTOOL_REPORT_FUNCTIONS_H

#include "vgtool/views/report.h"

/* Prints a table of functions, lines, modules or files over all threads, and one for each thread.  Returns 0 or
 * -ENOMEM. */
int vg_report_functions(struct vg_report *report, enum vg_frames_kind kind);

/* Text: prints the line with the names of the columns and a table of functions over these samples, which are indices
 * into the profile's samples.  The table has at most `limit` rows; if there are more, a last line says so.  Does not
 * use report->threads.  Returns 0 or -ENOMEM. */
int vg_report_samples(struct vg_report *report, const uint32_t *samples, size_t count, uint64_t limit);

#endif
