/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DEBUG_ID_H
#define VG_SYMBOLS_DEBUG_ID_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The id Breakpad's tools know a module by: a GUID made of the first 16 bytes of the build id
 * (zeros after a shorter one), its fields of 4, 2 and 2 bytes turned from little endian, in
 * upper-case hex, and the age, which is always 0 on Linux.
 */
#define VG_DEBUG_ID_CHARS 33

/* Writes VG_DEBUG_ID_CHARS characters and a NUL. */
void vg_debug_id_text(const unsigned char *build_id, size_t build_id_bytes,
		      char text[VG_DEBUG_ID_CHARS + 1]);

/* What stands in for a build id where there is none: the exclusive or of the 16-byte blocks in at
 * most the first 4,096 bytes of .text, a last incomplete block filled with zeros. */
void vg_debug_id_from_text(const void *section, size_t section_bytes, unsigned char id[16]);

/* Whole bytes in upper-case hex, NUL-terminated; text has room for 2 * bytes + 1. */
void vg_hex_text(const unsigned char *from, size_t bytes, char *text);

/* Reads an even number of hex digits of either case up to the end of the string.
 * False, with *bytes undefined, if it is anything else or longer than room. */
bool vg_hex_parse(const char *text, size_t chars, unsigned char *to, size_t room, size_t *bytes);

#endif
