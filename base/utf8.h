/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_UTF8_H
#define VG_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Length of the valid UTF-8 at the start of the text, in bytes (RFC 3629: no surrogates, no overlong forms). */
size_t vg_utf8_valid(const char *text, size_t length);

/* If the character at the start of the text controls a terminal, returns its length in bytes, otherwise 0.  Such
 * characters are control characters (C0, DEL, C1), line separators, marks that change the direction of writing, and
 * characters without a width: with these, two names could look the same. */
size_t vg_utf8_control(const char *text, size_t length);

/* The code point of the valid character at the start of the text.  `bytes` is the length of this character. */
uint32_t vg_utf8_code_point(const char *text, size_t bytes);

/* Length in bytes of the beginning of the text that is valid UTF-8 without the characters of vg_utf8_control(). */
size_t vg_utf8_printable(const char *text, size_t length);

/* Replaces each byte that is not valid UTF-8 by '?', in place. */
void vg_utf8_make_valid(char *text, size_t length);

/* Replaces each byte that is not printable in the sense of vg_utf8_printable() by '?', in place. */
void vg_utf8_make_printable(char *text, size_t length);

#endif
