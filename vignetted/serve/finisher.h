/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_FINISHER_H
#define VG_VIGNETTED_FINISHER_H

#include <sys/types.h>

#include "base/err.h"

/*
 * A child process that does one thing at the end which the confined helper may not do: rename or remove a
 * file.  It is made before the helper is confined, knows its file from then on, and reads nothing from the
 * helper but one byte.  So a helper that an attacker controls can have that one file renamed or removed,
 * and no other.  (If the file's name is gone or another's by then, vg_outfile_commit() copies the file.)
 *
 * It also ends a helper that does not: one for which SIGINT, SIGTERM or SIGHUP has waited for 6 to 9 seconds, for
 * example because the memory that it reads never arrives, gets SIGKILL.
 *
 *     rc = vg_finisher_start(&finisher, rename_or_remove, file, &err);
 *     ...                                      the helper is confined, and records
 *     rc = vg_finisher_ask(&finisher, VG_FINISH_KEEP, &err);
 */
enum vg_finish {
	VG_FINISH_NOTHING,           /* the helper is gone without a word, or sent a byte that is none of these */
	VG_FINISH_KEEP,              /* the file is complete: give it its name */
	VG_FINISH_DROP,              /* remove it */
};

struct vg_finisher {
	int socket;                  /* owned; -1: there is none, or it has been asked */
	pid_t child;
};

#define VG_FINISHER_NONE { .socket = -1 }

/*
 * Starts the child, which calls act(context) once, with the memory and descriptors as they are now.  `act` returns 0
 * or a negative errno with a sentence.  0 or a negative errno.
 */
int vg_finisher_start(struct vg_finisher *finisher,
		      int (*act)(void *context, enum vg_finish what, struct vg_err *err), void *context,
		      struct vg_err *err);

/* Asks the child, and waits for its answer, without a limit.  What `act` returned, with its sentence; -ESRCH if somebody killed the
 * child; 0 without a child. */
int vg_finisher_ask(struct vg_finisher *finisher, enum vg_finish what, struct vg_err *err);

#endif
