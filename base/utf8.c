/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/utf8.h"

#include <stdint.h>

/* The length of the character at `at`, 0 if there is no valid one. */
static size_t character_bytes(const unsigned char *at, size_t left)
{
	uint32_t point;
	size_t bytes;

	if (at[0] < 0x80)
		return 1;
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return 0;
	bytes = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
	if (bytes > left)
		return 0;
	point = at[0] & (0xff >> (bytes + 1));
	for (size_t i = 1; i < bytes; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (at[i] & 0x3f);
	}
	if (bytes == 3 && (point < 0x800 || (point >= 0xd800 && point < 0xe000)))
		return 0;
	if (bytes == 4 && (point < 0x10000 || point > 0x10ffff))
		return 0;
	return bytes;
}

size_t vg_utf8_valid(const char *text, size_t length)
{
	size_t at = 0;

	while (at < length) {
		size_t bytes = character_bytes((const unsigned char *)text + at, length - at);

		if (bytes == 0)
			break;
		at += bytes;
	}
	return at;
}

void vg_utf8_clean(char *text, size_t length)
{
	for (size_t at = vg_utf8_valid(text, length); at < length;
	     at += vg_utf8_valid(text + at, length - at))
		text[at++] = '?';
}
