/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>

#include "libvgctl/failure.h"
#include "libvgctl/outfile_wait.h"
#include "libvgctl/session.h"
#include "libvgctl/vgctl.h"

static int dump(struct vgctl_session *session, const char *path)
{
	struct vg_wire_message message = { 0 };
	struct vg_outfile file;
	struct vg_err err;
	int rc = vg_outfile_open_wait(&file, path);

	if (rc != 0)
		return rc;
	rc = vg_session_ask(session, VG_WIRE_DUMP, file.fd, VG_WIRE_DUMPED, &message);
	if (rc == 0) {
		rc = vg_outfile_commit(&file, &err);
		return rc == 0 ? 0 : vg_failure(rc, "%s", err.text);
	}
	/* Remove the partial file.  The flight recorder still has its contents, so the caller can repeat the dump. */
	vg_outfile_abandon(&file);
	return rc;
}

int vgctl_dump(struct vgctl_session *session, const char *path)
{
	int cancel_state, rc = vg_session_check(session);

	if (rc == 0 && (path == NULL || *path == '\0'))
		rc = vg_failure(-EINVAL, "vgctl_dump: path is NULL or empty");
	if (rc != 0)
		return rc;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	rc = dump(session, path);
	pthread_setcancelstate(cancel_state, NULL);
	return rc;
}
