/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_REPORT_INTERVALS_H
#define VG_VGTOOL_REPORT_INTERVALS_H

#include "vgtool/analysis/interval_table.h"
#include "vgtool/views/report.h"

/* `vgtool report --by interval`: prints tables whose rows are intervals, over all threads and for each thread.  Returns
 * 0 or -ENOMEM. */
int vg_report_intervals(struct vg_report *report, const struct vg_intervals *intervals);

#endif
