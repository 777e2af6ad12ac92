/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_STORE_H
#define VG_SYMBOLS_STORE_H

#include <stddef.h>

#include "base/err.h"
#include "symbols/table/table.h"

/*
 * Directories of .sym files, laid out as Breakpad's tools expect them:
 *
 *     <root>/<name>/<DEBUG ID>/<name>.sym
 *
 * and, to be read only, <root>/<name>/<BUILD ID>/, as an older program laid them out.
 *
 * Names come from files and profiles of strangers.  In a path, '/' and control characters become
 * '_', "", "." and ".." become "_", and what is too long for a file's name is cut, the same way
 * when adding and when finding: nothing leads out of the root.
 */

/*
 * Writes the table to its place, making the directories; the file appears when it is whole.
 * *path_out, if not NULL, is the path, for the caller to free.
 *
 * Returns 0; or 1 if the table has no functions, and the file already there has some or has
 * more publics: it is then left as it is, because adding the stripped copy of a program must not
 * lose what the whole one gave.  Waits for another process that writes the same file; -EBUSY after
 * ten seconds of that.  -EINVAL: the table has no debug id; -ENOMEM; or what the file
 * system says.
 */
int vg_store_add(const char *root, const struct vg_symbols *symbols, char **path_out,
		 struct vg_err *err);

/*
 * Looks in each root in turn for the module's .sym, by debug id and then by the whole build id
 * (<root>/<name>/<CODE ID>/), first under its name, then under any: a separate debug file has
 * another name.  One with functions goes before one with publics only, more publics
 * before fewer.  A root may also be a .sym
 * file itself.  A file whose own MODULE or CODE_ID record does not name the module is passed over,
 * whatever the directory's name says.  *path_out is the path, for the caller to free.
 * 0; -ENOENT (also if there is no build id to look for); -ESTALE: all there is was passed over, err
 * names it; -ENOMEM.
 */
int vg_store_find(const char *const *roots, size_t root_count, const char *name,
		  const unsigned char *build_id, size_t build_id_bytes, char **path_out,
		  bool *has_functions, struct vg_err *err);

#endif
