/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_ROSTER_H
#define VG_LIBVGCTL_ROSTER_H

#include "libvgctl/process.h"

/*
 * The sessions of this process.  Whoever begins or ends one, or has the helper listen, holds the
 * roster meanwhile: there is one helper at a time, and one ring of events.
 */

/* Waits for it.  The calling thread cannot be cancelled until it gives it back.  NULL: no memory. */
struct vg_roster *vg_roster_hold(int *cancel_state);
void vg_roster_release(struct vg_roster *roster, int cancel_state);

void vg_roster_add(struct vg_roster *roster, struct vgctl_session *session);
void vg_roster_remove(struct vg_roster *roster, struct vgctl_session *session);

/*
 * A socket to the helper that serves one of the sessions already, for another; that session.  *socket is
 * the caller's.  -ENOENT: there is none that lives; another negative errno, which vgctl_strerror() knows.
 */
int vg_roster_join(struct vg_roster *roster, int *socket, struct vgctl_session **beside);

#endif
