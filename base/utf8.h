/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_UTF8_H
#define VG_BASE_UTF8_H

#include <stddef.h>

/* How many bytes at the start of text are whole, valid UTF-8 characters (RFC 3629: no
 * surrogates, no overlong forms). */
size_t vg_utf8_valid(const char *text, size_t length);

/* Replaces every byte that is not part of a valid character by '?', in place. */
void vg_utf8_clean(char *text, size_t length);

#endif
