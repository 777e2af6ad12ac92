/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_LAUNCH_H
#define VG_VIGNETTED_LAUNCH_H

#include <sys/types.h>

#include "base/err.h"

/* Starts a command, found in $PATH, as our child, with no signal blocked.
 * Returns once it executes: 0 and *pid, or the negative errno of execve(2) with a sentence. */
int vg_launch(char *const *command, pid_t *pid, struct vg_err *err);

#endif
