/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_LAUNCH_H
#define VG_VIGNETTED_LAUNCH_H

#include <sys/types.h>

#include "base/err.h"

/* Starts a command as our child, with no signal blocked.  Searches $PATH for the command.  When this function returns,
 * the child is stopped in its execve(2), before the command's first instruction, as a tracee of this thread.
 * waitpid(2) then reports that stop.  A child whose file would give it privileges is stopped as soon as possible, if it
 * may be traced; else it runs.  Returns 0 and sets *pid, or returns a negative errno with a message. */
int vg_launch(char *const *command, pid_t *pid, struct vg_err *err);

#endif
