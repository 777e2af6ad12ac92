/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_UTF8_H
#define VG_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* How many bytes at the start of text are whole, valid UTF-8 characters (RFC 3629: no
 * surrogates, no overlong forms). */
size_t vg_utf8_valid(const char *text, size_t length);

/* How many bytes the valid character at the start of text has if a terminal would obey it instead
 * of showing it: control characters (C0, DEL, C1), separators of lines, and marks that turn the
 * direction of writing.  0 if it is another, or no valid one. */
size_t vg_utf8_control(const char *text, size_t length);

/* The number of the valid character at the start of text, which has so many bytes. */
uint32_t vg_utf8_point(const char *text, size_t bytes);

/* How many bytes at the start of text are whole, valid characters, and none of those above. */
size_t vg_utf8_plain(const char *text, size_t length);

/* Replaces every byte that is not part of a valid character by '?', in place. */
void vg_utf8_clean(char *text, size_t length);

/* The same for every byte that is not part of a plain character. */
void vg_utf8_make_plain(char *text, size_t length);

#endif
