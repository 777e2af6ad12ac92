/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_ELF_SEPARATE_H
#define VG_SYMBOLS_ELF_SEPARATE_H

#include "base/err.h"
#include "symbols/elf/elf_image.h"
#include "symbols/elf/search.h"

/*
 * The files that debug information was moved to.  None is believed by its name: a build id or a
 * checksum must say that it belongs.  Internal to symbols/.
 */

/* The i-th directory of debug files, the usual one last; NULL behind it. */
const char *vg_debug_dir(const struct vg_symbols_search *search, size_t i);

/* A path that the caller frees, or NULL. */
char *vg_path_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* DIRECTORY/.build-id/xx/yyyy.debug, or NULL.  `bytes` is at most VG_BUILD_ID_MAX_BYTES. */
char *vg_build_id_path(const char *directory, const void *id, size_t bytes);

/* The separate debug file of a module, by its build id or .gnu_debuglink.  *separate is closed before.
 * 0: it has DWARF.  -ENOENT: none has; *separate is then the first one with a symbol table, or closed.
 * -ENOMEM. */
int vg_elf_separate_open(const struct vg_elf_image *image, const struct vg_symbols_search *search,
			 struct vg_elf_image *separate);

/* The same from a debuginfod server (symbols/elf/debuginfod.c), where the search above returned -ENOENT:
 * *separate is replaced by a file with DWARF only, if it is open.  -ENOENT also if the module has no
 * build id.  Other failures: a server or the network. */
int vg_elf_debuginfod_open(const struct vg_elf_image *image, struct vg_elf_image *separate,
			   struct vg_err *err);

/* Asks the servers for the debug file of a build id; *path is the cached file, for the caller to
 * free.  0, -ENOENT, or what went wrong. */
int vg_debuginfod_find(const void *id, size_t bytes, char **path, struct vg_err *err);

#endif
