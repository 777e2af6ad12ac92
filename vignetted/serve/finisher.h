/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_FINISHER_H
#define VG_VIGNETTED_FINISHER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * A child process that does one thing at the end which the confined helper may not do: it renames or removes a file.  A
 * seccomp filter cannot check file names.  Landlock can restrict files, but it forbids tracing (confine.c).  So the
 * helper itself may rename nothing.
 *
 * If the helper listens, the child also switches the host's events on and off (listener.c), any number of times.
 *
 * The child is started before the helper is confined, and knows its file from the start.  It reads only single bytes
 * from the helper.  So an attacker who controls the helper can have that one file renamed or removed, and no other
 * file.  (If the file's name was removed or given to another file by then, vg_outfile_commit() copies the file.)
 *
 * The child also kills a helper that hangs.  A helper hangs, for example, if it reads memory that maps a file, and the
 * file system does not answer.  The helper gets SIGKILL if SIGINT, SIGTERM or SIGHUP is pending for it for 6 to 12
 * seconds in which it uses no CPU time, or for a minute.
 *
 *     rc = vg_finisher_start(&finisher, rename_or_remove, file, &err);
 *     ...                                      the helper is confined, and records
 *     rc = vg_finisher_ask(&finisher, VG_FINISH_KEEP, &err);
 */
enum vg_finish {
	VG_FINISH_NOTHING,           /* the helper exited without asking, or sent an unknown byte */
	VG_FINISH_KEEP,              /* the file is complete: rename it */
	VG_FINISH_DROP,              /* remove the file */
	VG_FINISH_EVENTS_ON,         /* not at the end: the host must record events, */
	VG_FINISH_EVENTS_OFF,        /* or need not */
	VG_FINISH_ACTIONS,
};

struct vg_finisher {
	int socket;                  /* owned; -1: there is no child, or the child was already asked */
	pid_t child;
};

#define VG_FINISHER_NONE { .socket = -1 }

/*
 * Starts the child, which calls act(context) at the end, and for each vg_finisher_events(), with the memory and
 * descriptors as they are now.  `act` returns 0 or a negative errno with a message.  Returns 0 or a negative errno.
 */
int vg_finisher_start(struct vg_finisher *finisher,
		      int (*act)(void *context, enum vg_finish action, struct vg_err *err), void *context,
		      struct vg_err *err);

/* Has the child switch the host's events on or off.  Waits for at most 1 s.  False: they could not be switched. */
bool vg_finisher_events(struct vg_finisher *finisher, bool on);

/* Asks the child, and waits for its answer without a time limit.  Returns what `act` returned, with its message; -ESRCH
 * if the child was killed; 0 if there is no child. */
int vg_finisher_ask(struct vg_finisher *finisher, enum vg_finish action, struct vg_err *err);

#endif
