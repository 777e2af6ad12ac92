/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Samples every thread of this program once and writes the profile once.vgp.  The program has one thread. */
#include <stdio.h>
#include "vgctl.h"

int main(void)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	int rc;

	options.rate_hz = VGCTL_ON_DEMAND;
	rc = vgctl_begin("once.vgp", &options, &session);
	if (rc == 0) {
		rc = vgctl_sample(session);
		int ended = vgctl_end(session, NULL);
		rc = rc != 0 ? rc : ended;
	}
	if (rc < 0)
		fprintf(stderr, "sample_once: %s\n", vgctl_strerror(rc));
	return rc < 0;
}
