/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DEBUG_ID_H
#define VG_SYMBOLS_DEBUG_ID_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Breakpad's id of a module: 32 upper-case hex digits and a number that Breakpad calls the age, which
 * is always 0 on Linux.  The digits are a GUID made of the first 16 bytes of the build id, padded with
 * zeros.  The first three fields of the GUID (4, 2 and 2 bytes) are read as little endian.
 */
#define VG_DEBUG_ID_CHARS 33

/* Writes VG_DEBUG_ID_CHARS characters and a NUL. */
void vg_debug_id_text(const unsigned char *build_id, size_t build_id_bytes,
		      char text[VG_DEBUG_ID_CHARS + 1]);

/* Writes upper-case hex digits and a NUL to `text`, which has room for 2 * bytes + 1 characters. */
void vg_hex_text(const unsigned char *from, size_t bytes, char *text);

/* Reads `chars` hex digits of either case.  Sets *bytes to the number of bytes.  Returns false if a
 * character is no hex digit, if the number of digits is odd, or if they need more than `room` bytes.
 * `to` is then undefined. */
bool vg_hex_parse(const char *text, size_t chars, unsigned char *to, size_t room, size_t *bytes);

#endif
