/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_FIREFOX_COLUMNS_H
#define VG_VGTOOL_FIREFOX_COLUMNS_H

#include "vgtool/views/firefox_tables.h"

/* Writes the tables of a thread, as keys of its object: stacks, frames, functions, resources, native symbols and
 * strings. */
void vg_firefox_columns_write(const struct vg_firefox_tables *tables);

/* Writes the list of categories, as the value of a key. */
void vg_firefox_categories_write(struct vg_json *json);

#endif
