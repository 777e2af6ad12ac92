/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_END_REASON_H
#define VG_VIGNETTED_END_REASON_H

#include "vignetted/session/session.h"

/* Returns the end reason of a recording whose program has closed its connection.  The reason is "the process ended" if
 * the process has exited or is exiting; if not, it is the text `otherwise`.  If the process is exiting, waits up to
 * 0.4 s for the exit. */
const char *vg_end_reason(struct vg_session *session, const char *otherwise);

#endif
