/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/build_id.h"

#include <stdio.h>

#include <string.h>

void vg_text_id(const void *text, size_t text_bytes, unsigned char id[VG_TEXT_ID_BYTES])
{
	const unsigned char *bytes = text;

	memset(id, 0, VG_TEXT_ID_BYTES);
	if (text_bytes > VG_TEXT_ID_HASHED_BYTES)
		text_bytes = VG_TEXT_ID_HASHED_BYTES;
	for (size_t i = 0; i < text_bytes; i++)
		id[i % VG_TEXT_ID_BYTES] ^= bytes[i];
}

const char *vg_build_id_hex(char *room, size_t room_bytes, const unsigned char *id, size_t id_bytes)
{
	room[0] = '\0';
	for (size_t i = 0; i < id_bytes && 2 * i + 2 < room_bytes; i++)
		snprintf(room + 2 * i, 3, "%02x", id[i]);
	return room;
}
