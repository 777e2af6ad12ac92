/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_BUILD_ID_H
#define VG_BASE_BUILD_ID_H

/* The longest build id that a profile or a symbol table keeps.  Linkers make 8 to 32 bytes; a longer one is taken
 * for damage. */
enum { VG_BUILD_ID_MAX_BYTES = 64 };

#endif
