/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_STORE_FILES_H
#define VG_SYMBOLS_STORE_FILES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/build_id.h"

/* Calls visit() for the directory, for each directory below it, and for each regular file below it, except .sym files.
 * `relative` is the end of `path`, below `root`; "" for `root` itself.  visit() is called for a directory before it is
 * read.  Symbolic links are not followed, except `root` itself.  At most 4,000,000 files are visited, at most 64 levels
 * deep.  Stops if visit() does not return 0.  Returns what visit() returned, or -ENOMEM. */
int vg_store_files_walk(const char *root,
			int (*visit)(void *context, const char *path, const char *relative, const struct stat *status),
			void *context);

/* What an ELF file has.  A debug file has no code. */
enum { VG_STORE_FILE_DWARF = 1, VG_STORE_FILE_CODE = 2 };

/* Reads the build id of an ELF file, and sets the bits of *contents.  Returns 0; -ENOENT: no ELF file, or no build id;
 * -ENOMEM. */
int vg_store_file_build_id(const char *path, unsigned char id[VG_BUILD_ID_MAX_BYTES], size_t *bytes,
			   uint32_t *contents);

/* As vg_store_file_build_id(), for an open file, which stays open.  `path` is its name. */
int vg_store_binary_build_id(int fd, const char *path, unsigned char id[VG_BUILD_ID_MAX_BYTES], size_t *bytes);

#endif
