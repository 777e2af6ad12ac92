/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SERVER_PATH_H
#define VG_VGTOOL_SERVER_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "vgtool/run/download.h"

/* The URLs of files on servers, and the paths of their copies in the cache.  Names of modules are untrusted. */
enum { VG_SERVER_URL_MAX_BYTES = 1000 };

/* Sets *path to $XDG_CACHE_HOME/vignette, or else to $HOME/.cache/vignette; NULL if neither variable is an absolute
 * path, or if a part of the path from that variable on belongs to another user, who could put forged symbols there.
 * The caller frees *path.  Returns 0 or -ENOMEM. */
int vg_cache_directory(char **path);

/* Whether the text is the URL of a server, and not a path. */
bool vg_server_is_url(const char *text);

/* Returns 0, or -EINVAL with a message in err.  A path is appended to the URL, so it must have no query. */
int vg_server_url_check(const char *url, struct vg_err *err);

/* Copies the URL for a message, without the name and password of a user. */
void vg_server_url_show(const char *url, char shown[VG_SERVER_URL_MAX_BYTES + 1]);

/* Sets the URL URL/NAME/ID/NAME.sym or NAME.sym.gz, the path CACHE/modules/ID/symbols.sym and the id.  Returns 0 or
 * -ENAMETOOLONG. */
int vg_server_symbols_request(struct vg_download_request *request, const char *url, const char *cache,
			      const char *name, const unsigned char *build_id, size_t build_id_bytes,
			      bool compressed);

/* Files of debuginfod. */
enum vg_server_file {
	VG_SERVER_DEBUG_FILE,
	VG_SERVER_BINARY,
};

/* Sets the URL URL/buildid/ID/debuginfo or URL/buildid/ID/executable.  Returns 0 or -ENAMETOOLONG. */
int vg_server_file_request(struct vg_download_request *request, enum vg_server_file kind, const char *url,
			   const unsigned char *build_id, size_t build_id_bytes);

/* Writes DIRECTORY/.build-id/xx/yyyy.debug or, for a binary, DIRECTORY/.build-id/xx/yyyy to `path`.  The build id has 2
 * to VG_BUILD_ID_MAX_BYTES bytes.  Returns 0 or -ENAMETOOLONG. */
int vg_server_file_path(enum vg_server_file kind, const char *directory, const unsigned char *build_id,
			size_t build_id_bytes, char path[PATH_MAX]);

#endif
