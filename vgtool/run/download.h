/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_DOWNLOAD_H
#define VG_VGTOOL_DOWNLOAD_H

#include <limits.h>
#include <stdint.h>

#include "base/build_id.h"
#include "base/err.h"

/*
 * Downloads one file after the other with libcurl.  A server is untrusted: bytes, time and redirections have limits,
 * and only HTTP and HTTPS are used.
 *
 * libcurl is loaded with dlopen(3) by vg_downloader_open(): libcurl and its 30 libraries would slow down every run of
 * vgtool.
 *
 *	struct vg_downloader downloader;
 *	if (vg_downloader_open(&downloader, &err) == 0)
 *		rc = vg_download(&downloader, &request, &err);
 *	vg_downloader_close(&downloader);
 */
enum { VG_URL_MAX_BYTES = 4000, VG_DOWNLOAD_ID_CHARS = 40 };

enum vg_download_kind {
	VG_DOWNLOAD_SYMBOLS,         /* a .sym file, also compressed by gzip; `id` must be in its first line */
	VG_DOWNLOAD_ELF,             /* must have the note with `build_id` */
};

/* A message between two processes of one program: it has no pointers. */
struct vg_download_request {
	uint32_t kind;               /* enum vg_download_kind */
	uint32_t timeout_s;          /* for the whole file */
	uint64_t bytes_max;          /* size of the decompressed file */
	char url[VG_URL_MAX_BYTES + 1];
	char directory[PATH_MAX];    /* exists; is for the incomplete file */
	char path[PATH_MAX];         /* of the complete file, below `directory`; its directories are created */
	char id[VG_DOWNLOAD_ID_CHARS + 1];
	unsigned char build_id[VG_BUILD_ID_MAX_BYTES];
	uint32_t build_id_bytes;
};

struct vg_downloader {
	void *library;               /* owned */
	void *curl;                  /* owned; keeps the connections open */
	int parent;                  /* if this socket hangs up, the download ends; -1: none */
};

/* parent: see above; the caller's.  Returns 0; -ENOSYS: vgtool was built without libcurl, or libcurl is not installed;
 * -ENOMEM. */
int vg_downloader_open(struct vg_downloader *downloader, int parent, struct vg_err *err);

/* Downloads a file that only its owner can read.  The file gets its name only when it is complete and has the right
 * kind.  Replaces an older file.  A file compressed by gzip is decompressed.  Returns 0; -ENODATA: the server does not
 * have the file (HTTP status 404 or 410); or another negative errno, with a reason in err that does not name the URL. */
int vg_download(struct vg_downloader *downloader, const struct vg_download_request *request, struct vg_err *err);

void vg_downloader_close(struct vg_downloader *downloader);

#endif
