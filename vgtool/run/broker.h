/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_BROKER_H
#define VG_VGTOOL_BROKER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/build_id.h"
#include "base/err.h"
#include "vgtool/run/indexer.h"
#include "vgtool/run/objdump.h"
#include "vgtool/run/servers.h"

/*
 * Opens this machine's executables and libraries for a confined reader, and downloads symbols for it.
 *
 * vg_broker_start() forks.  The child is the reader: it confines itself and reads the profile.  The parent is the
 * broker: it is not confined, and parses nothing except the reader's requests, which are untrusted.  A request names a
 * module by its file name and build id.  The broker sends the descriptor of a file that may be this module.  The reader
 * compares the build id, and asks for the next file if it differs.
 *
 * The broker sends programs, libraries and debug files only (vg_program_open()).  It opens them under these names, in
 * this order:
 *   1. the files in `offers` that have the module's name,
 *   2. NAME in the working directory, if only this user can write there,
 *   3. NAME in the directories of $PATH and $LD_LIBRARY_PATH, and in the library directories of the dynamic linker,
 *   4. .build-id/xx/yyyy.debug in /usr/lib/debug and in $XDG_CACHE_HOME/vignette,
 *   5. the files with the module's name that the recorded process executes, if it still runs (mapped_files.h).  The
 *      request has its pid, in its own namespace.  If the process belongs to another user, only files of this user and
 *      of root count.
 *   6. NAME in another working directory.
 * In the working directory, only files of this user and of root count.  A build id proves nothing about a file:
 * everybody can give a file any build id.
 * It answers at most VG_BROKER_REQUESTS_MAX requests with a file.  If `stores_only` is set, it sends none of these
 * files.
 *
 * One more request is for the index of a symbol store (indexer.h).
 *
 * Three other requests are for servers (servers.h).  For the symbols of a module, the broker downloads the module's
 * symbol file to the server's directory in the cache.  For a debug file or a binary, it sends the descriptor of a file
 * from the cache, or from a debuginfod server.  So a reader that an attacker controls can send names and build ids to
 * the servers that the user has named, at most VG_SERVER_FILES_MAX.
 *
 * If `objdump` is set, another request comes with the descriptor of a binary.  The broker starts objdump, which is
 * confined, and sends the descriptor of its output.
 *
 *	if (vg_broker_start(&broker, &fd, &err) == 0)     (in the child only)
 *		file = vg_broker_ask(fd, pid, "libc.so.6", id, id_bytes, &next, &path);
 */
enum { VG_BROKER_NAME_MAX_BYTES = 255, VG_BROKER_REQUESTS_MAX = 100000, VG_BROKER_MAPPED_MAX = 5000 };

/* A file that the broker may send: for example a file that a process still executes, although it was replaced. */
struct vg_broker_offer {
	char *path;                  /* the module's name is its last part */
	int fd;                      /* open for reading, by vg_program_open() */
};

struct vg_broker {
	const struct vg_broker_offer *offers;
	size_t offer_count;
	/* Called in the broker before it searches a module's first file, to set the two members above again.  For a
	 * process that loads further modules while it is recorded.  NULL: the offers do not change. */
	void (*refresh)(void *context, struct vg_broker *broker);
	void *context;
	struct vg_servers *servers;  /* NULL: none */
	struct vg_objdump *objdump;  /* NULL: nothing is disassembled */
	struct vg_indexer *indexer;  /* NULL: none */
	bool stores_only;            /* send none of this machine's programs, libraries and debug files */
};

enum vg_broker_kind {
	VG_BROKER_MODULE, VG_BROKER_SYMBOLS, VG_BROKER_DEBUG_FILE, VG_BROKER_BINARY, VG_BROKER_DISASSEMBLY,
	VG_BROKER_INDEX,
};

/* The messages.  They are exchanged between two processes of one program, so they need no byte order. */
struct vg_broker_request {
	uint32_t kind;               /* enum vg_broker_kind */
	uint32_t next;               /* number of the first candidate to try, or of the store */
	uint32_t pid;                /* of the process that was recorded, in its namespace; 0: unknown */
	uint32_t build_id_bytes;
	uint64_t begin, end;         /* VG_BROKER_DISASSEMBLY: virtual addresses */
	unsigned char build_id[VG_BUILD_ID_MAX_BYTES];
	char name[VG_BROKER_NAME_MAX_BYTES + 1];
};
struct vg_broker_reply {
	int32_t rc;                  /* 0: a descriptor comes with the message, except for VG_BROKER_SYMBOLS; or a
	                                negative errno */
	uint32_t next;
	char path[PATH_MAX];
};

/* Forks.  In the child returns 0, sets *fd to the socket and closes the child's copies of the offers.  If the parent
 * exits, the child ends.  The parent serves until the child ends, and exits as the child did.  If fork(2) failed,
 * returns a negative errno in the only process. */
int vg_broker_start(const struct vg_broker *broker, int *fd, struct vg_err *err);

/* Serves one reader until it closes its socket. */
void vg_broker_serve(const struct vg_broker *broker, int fd);

/* Asks for the first file, from candidate *next on, that may be the module.  pid: of the process that was recorded, 0:
 * unknown.  Sets *next for the next call.  Returns a descriptor and sets *path, both of which the caller frees; or
 * returns -ENOENT or another negative errno. */
int vg_broker_ask(int fd, uint32_t pid, const char *name, const unsigned char *build_id, size_t build_id_bytes,
		  uint32_t *next, char **path);

/* Asks for the debug file with that build id, from the cache or from a debuginfod server.  Returns as
 * vg_broker_ask(); -EIO: a server failed. */
int vg_broker_ask_debug_file(int fd, const unsigned char *build_id, size_t build_id_bytes, char **path);

/* As vg_broker_ask_debug_file(), for the binary with that build id. */
int vg_broker_ask_binary(int fd, const unsigned char *build_id, size_t build_id_bytes, char **path);

/* Asks the symbol servers for the symbol file of a module.  Returns 0 if the directory of a server in the cache now has
 * the file; -ENOENT or another negative errno. */
int vg_broker_ask_symbols(int fd, const char *name, const unsigned char *build_id, size_t build_id_bytes);

/* Has objdump disassemble a file at the virtual addresses `begin` to `end` - 1.  The next call ends this objdump.  The
 * file stays the caller's.  Returns the descriptor of objdump's output, which the caller closes; or a negative
 * errno. */
int vg_broker_ask_disassembly(int fd, int file, uint64_t begin, uint64_t end);

/* Asks for the index of a store by the store's number.  Returns a descriptor, or -ENOENT or another negative errno. */
int vg_broker_ask_index(int fd, uint32_t store);

#endif
