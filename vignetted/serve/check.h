/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CHECK_H
#define VG_VIGNETTED_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* One question of `vignetted --check` and its answer. */
struct vg_check_line {
	const char *question;
	bool good;
	struct vg_err why;           /* if not good: the reason, and a command that removes it if there is one */
};

enum { VG_CHECK_LINES = 6 };

struct vg_check {
	struct vg_check_line lines[VG_CHECK_LINES];
	size_t count;
	bool possible;               /* a recording is possible, perhaps without timers */
};

/* Finds out what is possible with process `pid`.  If pid is 0, finds out what is possible with a command that vignetted
 * would start.  Stops nothing and starts nothing.  Returns 0, or a negative errno with err set if there is no such
 * process. */
int vg_check_run(struct vg_check *check, pid_t pid, struct vg_err *err);

/* Whether the option --kernel is possible.  Returns 0, or a negative errno with a sentence in err. */
int vg_check_kernel(struct vg_err *err);

#endif
