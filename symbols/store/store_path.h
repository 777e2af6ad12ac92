/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_STORE_PATH_H
#define VG_SYMBOLS_STORE_PATH_H

#include <stdint.h>

#include "symbols/table/table.h"

/* Internal to symbols/. */

#define VG_STORE_NAME_MAX 240   /* leaves room for .sym.part within NAME_MAX */

/* One safe path component from a stranger's name.  to has VG_STORE_NAME_MAX + 1 chars. */
void vg_store_name(const char *from, char *to);

/* How good a .sym file is: 0 if it is not there, UINT64_MAX if it has functions, one less than that if
 * names of them are lost with an absent file, else one more
 * than it has publics.  One that may not be read counts as one without any: whoever opens it then
 * learns why.  vg_store_worth_of() says the same of a table. */
uint64_t vg_store_worth(const char *path);
uint64_t vg_store_worth_of(const struct vg_symbols *symbols);

#endif
