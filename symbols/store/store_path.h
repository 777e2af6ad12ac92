/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_STORE_PATH_H
#define VG_SYMBOLS_STORE_PATH_H

#include <stdint.h>

#include "symbols/table/table.h"

/* Names and ranks of files in a store.  Internal to symbols/. */

#define VG_STORE_NAME_MAX 240   /* room for ".sym.part" within NAME_MAX */

/* Writes a safe path component for an untrusted name to `to`, which has room for
 * VG_STORE_NAME_MAX + 1 characters.  Breakpad's tools look for the module's own name, so most bytes stay: only '/',
 * control characters and a '-' at the start become '_'. */
void vg_store_safe_name(const char *from, char *to);

/*
 * Compares files of one module: the file with more symbols has the greater rank.
 *
 *     UINT64_MAX       functions
 *     UINT64_MAX - 1   functions, but a dwz file with some of their names was missing
 *     1 + N            N PUBLIC records and no function
 *     1                unknown: this process may not read the file; the caller opens it and reports the error
 *     0                there is no file
 *
 * vg_store_table_rank() returns the rank that a file would have if the table were written to it.
 */
uint64_t vg_store_rank(const char *path);
uint64_t vg_store_table_rank(const struct vg_symbols *symbols);

#endif
