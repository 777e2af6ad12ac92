/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_ELF_SEPARATE_H
#define VG_SYMBOLS_ELF_SEPARATE_H

#include "base/err.h"
#include "symbols/elf/elf_image.h"
#include "symbols/elf/search.h"

/*
 * Separate debug files, as GDB documents them ("Debugging Information in Separate Files").  A file
 * is used only if its build id or its CRC matches the module: its name alone proves nothing.
 * Internal to symbols/.
 */

/* The i-th directory to search for debug files: the caller's first, then /usr/lib/debug, then NULL. */
const char *vg_debug_dir(const struct vg_symbols_search *search, size_t i);

/* Formats a path, which the caller frees.  NULL if there is no memory. */
char *vg_path_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* DIRECTORY/.build-id/xx/yyyy.debug, which the caller frees; NULL if there is no memory.  `bytes`
 * is 1 to VG_BUILD_ID_MAX_BYTES. */
char *vg_build_id_path(const char *directory, const void *id, size_t bytes);

/* Calls search->open(), if it is set.  Returns what it returns, or -ENOENT. */
int vg_debug_file_request(const struct vg_symbols_search *search, const void *id, size_t bytes, char **path);

/*
 * Finds the debug file of `image` by its build id, then by .gnu_debuglink, then by search->open().  Before the call,
 * set *separate to VG_ELF_IMAGE_CLOSED.
 *
 * Returns 0 if *separate has DWARF.  Returns -ENOENT if no file has DWARF: *separate is then the first
 * file with a symbol table, or VG_ELF_IMAGE_CLOSED if there is none.  Returns -ENOMEM if there is no
 * memory.
 */
int vg_elf_separate_open(const struct vg_elf_image *image, const struct vg_symbols_search *search,
			 struct vg_elf_image *separate);

#endif
