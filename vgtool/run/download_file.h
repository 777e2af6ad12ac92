/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_DOWNLOAD_FILE_H
#define VG_VGTOOL_DOWNLOAD_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZLIB_CONST                   /* inflate() does not change its input */
#include <zlib.h>

#include "vgtool/run/download.h"

/*
 * The file of a download: decompresses and checks what a server sends, and renames the file when it is complete.
 *
 *	if (vg_download_file_open(&file, request, &err) == 0)
 *		... vg_download_file_take() ...
 *	rc = vg_download_file_commit(&file, &err);
 *	vg_download_file_close(&file);
 */
struct vg_download_file {
	const struct vg_download_request *request; /* the caller's */
	int fd;                      /* owned; -1: closed */
	char part[PATH_MAX];         /* path of the incomplete file; "": renamed or removed */
	uint64_t bytes;              /* written */
	bool begun;                  /* the first byte has come */
	bool is_gzip;                /* `stream` is initialized */
	bool gzip_ended;             /* the last member of the gzip file is complete */
	z_stream stream;
	int rc;                      /* the first error, described by `err` */
	struct vg_err err;
};

int vg_download_file_open(struct vg_download_file *file, const struct vg_download_request *request,
			  struct vg_err *err);

/* Adds bytes.  Returns 0, or file->rc: the rest need not be read. */
int vg_download_file_take(struct vg_download_file *file, const void *bytes, size_t count);

/* Checks that the file is complete and gives it its name.  Returns 0, or a negative errno with a message in err. */
int vg_download_file_commit(struct vg_download_file *file, struct vg_err *err);

/* Removes an incomplete file. */
void vg_download_file_close(struct vg_download_file *file);

#endif
