/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_PAGER_H
#define VG_VGTOOL_PAGER_H

#include "base/err.h"

/*
 * Shows the output of a function in a pager.  The calling process starts two child processes: one runs the
 * function, the other runs the pager.  If the function confines its process, the pager is not confined.
 *
 *	pager = vg_pager_command();
 *	status = pager != NULL ? vg_pager_run(pager, report_run, &report, &err) : report_run(&report);
 */

/* Returns $PAGER, by default "less -FRX" if that program is in $PATH.  Returns NULL if no pager is wanted: $PAGER is
 * empty or "cat". */
const char *vg_pager_command(void);

/*
 * Calls run(context) in a child whose standard output is a pipe to the pager, and waits for both.  Returns the exit
 * status that `run` returned, 0 to 255.  If the pager was left early, returns 0.  Returns a negative errno with a
 * message in err if a process cannot be started or a signal ended the child.
 */
int vg_pager_run(const char *pager, int (*run)(void *context), void *context, struct vg_err *err);

#endif
