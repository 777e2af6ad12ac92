/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_STORE_H
#define VG_SYMBOLS_STORE_H

#include <stddef.h>

#include "base/err.h"
#include "symbols/table/table.h"

/*
 * A symbol store: a directory of .sym files in the layout of Breakpad's tools,
 *
 *     <root>/<name>/<DEBUG ID>/<name>.sym
 *
 * Searches find .sym files in <root>/<name>/<BUILD ID>/ too, but vg_store_add() writes none there.
 *
 * Names of modules are untrusted.  In a path, '/' and control characters become '_'; "", "." and
 * ".." become "_"; and a name longer than VG_STORE_NAME_MAX is truncated.  Thus no path leads out
 * of the root.
 *
 *     if (vg_store_add("/srv/symbols", &symbols, &path, &err) >= 0)
 *             free(path);
 */

/*
 * Writes a table to its place in the store.  Makes directories as needed.  The file appears under
 * its name only when it is complete.  Waits up to 10 s for another process that writes the same
 * file.  If path_out is not NULL, sets *path_out to the path, which the caller frees.
 *
 * Returns 0 if the file was written.  Returns 1 if the existing file has the greater vg_store_rank()
 * and was therefore kept: the symbols of a stripped program do not replace those of the unstripped
 * program.  The kept file gets a new mtime, if this user may write it.  Errors: -EBUSY: another process still
 * writes the file; -EINVAL: the table has no debug id; -ENOMEM; or an error of the file system.
 */
int vg_store_add(const char *root, const struct vg_symbols *symbols, char **path_out,
		 struct vg_err *err);

/*
 * Finds the .sym file of a module by its build id.  Searches each root in turn: first in the
 * directory of the module's name, then in all others, because a separate debug file may have
 * another name.  A root may also be a .sym file itself.
 *
 * Prefers a file with functions to a file with PUBLIC records only.  Of two files with PUBLIC records
 * only, prefers the file with more of them.  A file is used only if its own MODULE or INFO CODE_ID
 * record has the id.
 *
 * Returns 0, and sets *path_out to the path, which the caller frees.  Errors: -ENOENT: not found, or
 * the module has no build id; -ESTALE: found only files of other modules, and err names one of them;
 * -ENOMEM.  *has_functions: the file has FUNC records.
 */
int vg_store_find(const char *const *roots, size_t root_count, const char *name,
		  const unsigned char *build_id, size_t build_id_bytes, char **path_out,
		  bool *has_functions, struct vg_err *err);

/* Finds out whether a store has a symbol file of any module with this name, whatever its id is.  Call it
 * after vg_store_find() returned -ENOENT.  If there is such a file, returns true and writes its id to `id`. */
bool vg_store_other_build(const char *const *roots, size_t root_count, const char *name, char id[VG_DEBUG_ID_ROOM]);

#endif
