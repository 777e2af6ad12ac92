/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/table/debug_id.h"

#include <string.h>

#define GUID_BYTES 16

void vg_hex_text(const unsigned char *from, size_t bytes, char *text)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < bytes; i++) {
		*text++ = digits[from[i] >> 4];
		*text++ = digits[from[i] & 15];
	}
	*text = '\0';
}

static int digit_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

bool vg_hex_parse(const char *text, size_t chars, unsigned char *to, size_t room, size_t *bytes)
{
	if (chars % 2 != 0 || chars / 2 > room)
		return false;
	for (size_t i = 0; i < chars; i += 2) {
		int high = digit_value(text[i]), low = digit_value(text[i + 1]);

		if (high < 0 || low < 0)
			return false;
		to[i / 2] = (unsigned char)(high << 4 | low);
	}
	*bytes = chars / 2;
	return true;
}

void vg_debug_id_text(const unsigned char *build_id, size_t build_id_bytes,
		      char text[VG_DEBUG_ID_CHARS + 1])
{
	static const unsigned char order[GUID_BYTES] = {
		3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15
	};
	unsigned char guid[GUID_BYTES];

	for (size_t i = 0; i < GUID_BYTES; i++)
		guid[i] = order[i] < build_id_bytes ? build_id[order[i]] : 0;
	vg_hex_text(guid, sizeof guid, text);
	memcpy(text + 2 * sizeof guid, "0", 2);
}
