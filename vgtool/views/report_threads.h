/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_REPORT_THREADS_H
#define VG_VGTOOL_REPORT_THREADS_H

#include "vgtool/views/report.h"

/* `vgtool report --by thread` and `--by process`: prints the threads with samples, or the processes that have such
 * threads, the heaviest first.  Returns 0 or -ENOMEM. */
int vg_report_threads(struct vg_report *report, bool by_process);

#endif
