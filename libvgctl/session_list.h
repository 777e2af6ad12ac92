/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_SESSION_LIST_H
#define VG_LIBVGCTL_SESSION_LIST_H

#include "libvgctl/process.h"

/*
 * The sessions of this process.  vgctl_begin(), vgctl_end(), vgctl_listen() and vgctl_unlisten() lock the list, because
 * all sessions share one helper and one event ring.
 *
 *     int cancel_state;
 *     struct vg_session_list *list = vg_session_list_lock(&cancel_state);
 *     vg_session_list_add(list, session);
 *     vg_session_list_unlock(list, cancel_state);
 */

/* Locks the list.  The calling thread cannot be cancelled until it unlocks the list.  NULL: no memory. */
struct vg_session_list *vg_session_list_lock(int *cancel_state);
void vg_session_list_unlock(struct vg_session_list *list, int cancel_state);

void vg_session_list_add(struct vg_session_list *list, struct vgctl_session *session);
void vg_session_list_remove(struct vg_session_list *list, struct vgctl_session *session);

/* Whether a session of the list records events.  `except` is not counted; it may be NULL. */
bool vg_session_list_records_events(const struct vg_session_list *list, const struct vgctl_session *except);

/*
 * Connects a new session to the helper of an existing session, and sets *existing to that session.  The caller owns
 * *socket.  Returns 0, -ENOENT if no session has a live helper, or another negative errno.  After a
 * failure other than -ENOENT, vgctl_strerror() returns a sentence about the failure.
 */
int vg_session_list_connect(struct vg_session_list *list, int *socket, struct vgctl_session **existing);

#endif
