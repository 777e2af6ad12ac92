/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/end_reason.h"

#include "vignetted/session/threads.h"

const char *vg_end_reason(struct vg_session *session, const char *otherwise)
{
	return session->exited || vg_threads_all_exit(session) ? "the process ended" : otherwise;
}
