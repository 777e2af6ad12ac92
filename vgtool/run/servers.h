/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SERVERS_H
#define VG_VGTOOL_SERVERS_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/err.h"
#include "base/intern.h"
#include "vgtool/run/fetcher.h"
#include "vgtool/run/server_path.h"

/*
 * The symbol servers and debuginfod servers of a command, and the cache of what they sent:
 *
 *	CACHE/servers/HASH/modules/DEBUG_ID/symbols.sym     HASH: of the server's URL
 *	CACHE/.build-id/xx/yyyy.debug                       from any debuginfod server
 *	CACHE/.build-id/xx/yyyy                             the same; a binary
 *
 * CACHE is $XDG_CACHE_HOME/vignette.  A module's name is untrusted, and is in no path of the cache.  CACHE/servers/HASH
 * is a symbol store, and the reader searches it like another store (symbols/store/store.h).
 *
 * The broker downloads, so these functions parse neither the profile nor what a server sent.  A server that fails
 * VG_SERVER_FAILURES_MAX times is asked no more.  The first failure is printed, in one sentence.
 *
 *	struct vg_servers servers = { .command = "vgtool report" };
 *	rc = vg_servers_add(&servers, "https://example.org/symbols", &store, &err);
 *	... fork; in the broker: ...
 *	rc = vg_servers_symbols(&servers, "libc.so.6", id, id_bytes, reader);
 *	vg_servers_end(&servers);
 *	... in both processes: ...
 *	vg_servers_free(&servers);
 */
enum { VG_SERVER_FAILURES_MAX = 3, VG_SERVER_FILES_MAX = 2000, VG_SERVER_SUM_FACTOR = 4 };

struct vg_server {
	char *url;                   /* owned; without a slash at the end */
	char *cache;                 /* owned; directory */
	unsigned failures;
};

struct vg_servers {
	const char *command;         /* begins messages; the caller's */
	/* Private: */
	VG_ARRAY(struct vg_server) symbols;
	VG_ARRAY(struct vg_server) debuginfod;
	char *cache;                 /* owned; NULL: none, see vg_cache_directory() */
	uint32_t timeout_s;          /* of each download */
	uint64_t bytes_max;          /* of each file; of all files: VG_SERVER_SUM_FACTOR times that */
	uint64_t bytes_sum;          /* of the files so far */
	struct vg_fetcher fetcher;
	size_t asked;                /* number of downloads */
	bool is_over;                /* a limit of all downloads was reached, and the message printed */
	struct vg_intern absent;     /* URLs of files that servers do not have: aggregate asks for each profile */
};

/* Sets `cache`.  Call it before the other functions.  Returns 0 or -ENOMEM. */
int vg_servers_open(struct vg_servers *servers, const char *command, struct vg_err *err);

/* Adds a symbol server.  Creates its directory in the cache, and sets *store to the directory's path, which belongs to
 * `servers`.  Returns 0, or a negative errno with a message in err. */
int vg_servers_add(struct vg_servers *servers, const char *url, const char **store, struct vg_err *err);

/* Checks $DEBUGINFOD_URLS.  Returns 0, or -EINVAL with a message in err if the variable names no server. */
int vg_servers_debuginfod_check(struct vg_err *err);

/* Adds the servers of $DEBUGINFOD_URLS.  Returns 0, or a negative errno with a message in err. */
int vg_servers_add_debuginfod(struct vg_servers *servers, struct vg_err *err);

/* Downloads the symbol file of a module to the directory of the first symbol server that has it.  The name is a file
 * name, and not empty.  reader: see vg_fetcher_get().  Returns 0 or -ENOENT. */
int vg_servers_symbols(struct vg_servers *servers, const char *name, const unsigned char *build_id,
		       size_t build_id_bytes, int reader);

/* Opens the debug file or binary with that build id: from the cache, or else from the first debuginfod server that has
 * it.  Returns a descriptor and sets `path`; -ENOENT; or -EIO: a server failed, and no other has the file.  The caller
 * compares the file's build id. */
int vg_servers_file_open(struct vg_servers *servers, enum vg_server_file kind, const unsigned char *build_id,
			 size_t build_id_bytes, int reader, char path[PATH_MAX]);

/* Ends the process that downloads. */
void vg_servers_end(struct vg_servers *servers);

void vg_servers_free(struct vg_servers *servers);

#endif
