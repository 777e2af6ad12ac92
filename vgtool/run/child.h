/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CHILD_H
#define VG_VGTOOL_CHILD_H

#include <sys/types.h>

/*
 * Child processes, which get the signals SIGINT, SIGTERM and SIGHUP in place of this process.  The terminal sends its
 * signals to all these processes.  A signal that kill(2) sent to this process only is passed on to all children.
 *
 *	vg_child_signals();
 *	pid = vg_child_fork();
 *	if (pid == 0)
 *		_exit(work());
 *	status = vg_child_wait(pid);
 */

enum { VG_CHILDREN_MAX = 256 };

/* From now on the three signals do not end this process.  A signal that is ignored stays ignored. */
void vg_child_signals(void);

/* Returns the latest of these signals that came, or 0. */
int vg_child_signal(void);

/* Like fork(2).  Fails with EAGAIN if there are VG_CHILDREN_MAX children.  The child has the signal actions from before
 * vg_child_signals(), and gets SIGTERM if this process ends. */
pid_t vg_child_fork(void);

/* Waits until the child ends.  Returns its exit status as a shell does: 128 + signal if a signal ended it.  If a signal
 * came while there was no child, returns 128 + signal, even if the child was successful. */
int vg_child_wait(pid_t pid);

#endif
