/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_DIFF_PRINT_H
#define VG_VGTOOL_DIFF_PRINT_H

#include "vgtool/analysis/changes.h"

/* Print changes to standard output, as text or JSON.  A failed write sets the stream's error indicator.
 * rows: the limit for rows of each group (struct vg_measure_limit); 0: the default, which is no limit for JSON. */
void vg_diff_text(const struct vg_changes *changes, const struct vg_measures *measures, uint64_t rows);
void vg_diff_json(const struct vg_changes *changes, const struct vg_measures *measures, uint64_t rows);

#endif
