/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CHECK_H
#define VG_VIGNETTED_CHECK_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* Prints the questions of `vignetted --check` and their answers.  A no has its reason, and a command that removes the
 * reason if there is one.  The questions are about process `pid`; 0: about a command that vignetted would start.  Stops
 * nothing and starts nothing.  Sets *possible to whether a recording is possible, perhaps without timers.  Returns 0,
 * or a negative errno with err set if there is no such process. */
int vg_check_print(pid_t pid, bool *possible, struct vg_err *err);

/* Whether the option --kernel is possible.  Returns 0, or a negative errno with a sentence in err. */
int vg_check_kernel(struct vg_err *err);

#endif
