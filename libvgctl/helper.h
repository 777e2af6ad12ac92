/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_HELPER_H
#define VG_LIBVGCTL_HELPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "libvgctl/vgctl.h"
#include "libvgctl/wire.h"

/* The helper as the host sees it.  What fails has its sentence for vgctl_strerror(). */

/* A helper that says nothing for so long is taken for dead: starting needs an exec. */
enum { VG_START_TIMEOUT_MS = 20 * 1000 };

/*
 * Starts a helper, that which `given` names if it is not NULL, takes its greeting and lets it trace
 * this process.  *socket is the caller's after a failure too, unless negative; *adopted is the
 * helper's pid if it has become a child of this process.  0 or a negative errno.
 */
int vg_helper_open(const char *given, int *socket, pid_t *adopted);

/* After the socket to it was closed: nobody may trace this process any more. */
void vg_helper_leave(pid_t adopted);

/* The sentence for a channel that failed with that errno, which is returned. */
int vg_helper_lost(int rc);

/* Whether the answer is of that kind; else what the helper says failed. */
int vg_answer_check(struct vg_wire_message *answer, enum vg_wire_kind kind);

/* A connection of its own, the caller's, to the helper that listens for this process.  -ENOENT: none
 * does. */
int vg_listening_join(int *socket);

/* This process begins something that no other thread may do at the same time: a session, which keeps
 * it until its end, or listening. */
bool vg_session_claim(void);
void vg_session_unclaim(void);

/* What is asked for in range and with the defaults in place; 0 or -EINVAL.  And for the wire. */
int vg_options_check(const struct vgctl_options *given, struct vgctl_options *options);
void vg_options_begin(const struct vgctl_options *options, struct vg_wire_begin *begin);

#endif
