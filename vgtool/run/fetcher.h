/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_FETCHER_H
#define VG_VGTOOL_FETCHER_H

#include <stdint.h>
#include <sys/types.h>

#include "vgtool/run/download.h"

/*
 * A process that downloads files for the broker (download.h).  The broker itself parses nothing that comes from a
 * server, and a server that crashes libcurl does not end the command.  The process starts with the first request.
 *
 *	struct vg_fetcher fetcher = { 0 };
 *	rc = vg_fetcher_get(&fetcher, &request, reader, &err);
 *	vg_fetcher_end(&fetcher);
 */
struct vg_fetcher {
	int socket;                  /* owned; 0: the process does not run */
	pid_t pid;
};

/* Downloads a file.  reader: if this socket hangs up, nobody waits for the file, and -EPIPE is returned.  Returns what
 * vg_download() returns; -EPIPE; or -EIO with a message in err if the process ended. */
int vg_fetcher_get(struct vg_fetcher *fetcher, const struct vg_download_request *request, int reader,
		   struct vg_err *err);

/* Ends the process, which then removes an incomplete file.  Does not wait for a transfer. */
void vg_fetcher_end(struct vg_fetcher *fetcher);

#endif
