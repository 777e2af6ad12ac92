/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_BUILD_ID_H
#define VG_BASE_BUILD_ID_H

#include <stddef.h>

/* The longest build id that profiles and symbol files keep.  A longer build id is treated as damage.  Linkers write
 * build ids of 8 to 32 bytes. */
enum { VG_BUILD_ID_MAX_BYTES = 64 };

/* The text id identifies a module without a build id.  It is computed from at most the first VG_TEXT_ID_HASHED_BYTES
 * bytes of .text. */
enum { VG_TEXT_ID_BYTES = 16, VG_TEXT_ID_HASHED_BYTES = 4096 };

/* Computes a text id: the exclusive or of all 16-byte blocks in the first 4,096 bytes of .text, or in all of .text if
 * it is shorter.  An incomplete last block is filled with zeros.  Breakpad's tools compute the same id. */
void vg_text_id(const void *text, size_t text_bytes, unsigned char id[VG_TEXT_ID_BYTES]);

/* The type of the note in .note.go.buildid.  The note's name is "Go", and its contents are Go's build id, a text.  Go's
 * linker wrote no GNU build id before Go 1.24.  If a module has only Go's build id, the module's id is vg_text_id() of
 * that text.  The id is not made of .text, because the first page of .text is almost the same in all programs of one
 * version of Go. */
enum { VG_NOTE_TYPE_GO_BUILD_ID = 4 };

/* Writes the bytes of an id as lower-case hexadecimal digits.  Bytes for which there is no room are left out.  Returns
 * room. */
const char *vg_build_id_hex(char *room, size_t room_bytes, const unsigned char *id, size_t id_bytes);

#endif
