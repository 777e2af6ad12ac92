/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/cursor.h"

#include <errno.h>
#include <string.h>

enum { DEPTH_MAX = 32 };

static uint64_t big_endian(const unsigned char *at, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | at[i];
	return value;
}

/* Takes `bytes` bytes off the cursor.  Returns their address, or NULL if fewer are left. */
static const unsigned char *cursor_take(struct vg_cursor *cursor, uint64_t bytes)
{
	const unsigned char *at = cursor->at;

	if (bytes > (uint64_t)(cursor->end - at))
		return NULL;
	cursor->at += bytes;
	return at;
}

static int item_blob(struct vg_cursor *cursor, struct vg_item *item, enum vg_token token,
		     uint64_t length)
{
	item->token = token;
	item->bytes = cursor_take(cursor, length);
	item->length = length;
	return item->bytes != NULL ? 0 : -EBADMSG;
}

/* Rejects a count that is too large for the bytes left: an array element has at least one byte, and a pair of a map at
 * least two bytes. */
static int item_container(struct vg_cursor *cursor, struct vg_item *item, enum vg_token token,
			  uint64_t count)
{
	uint64_t least = token == VG_TOKEN_MAP ? 2 * count : count;

	item->token = token;
	item->number = count;
	return least <= (uint64_t)(cursor->end - cursor->at) ? 0 : -EBADMSG;
}

static int item_number(struct vg_item *item, unsigned char head, const unsigned char *at,
		       size_t bytes)
{
	uint64_t value = big_endian(at, bytes);
	float single;

	if (head <= 0xcb) {                     /* float 32, float 64 */
		uint32_t word = (uint32_t)value;

		item->token = VG_TOKEN_FLOAT;
		memcpy(&single, &word, sizeof single);
		memcpy(&item->real, &value, sizeof item->real);
		if (head == 0xca)
			item->real = (double)single;
		return 0;
	}
	item->token = VG_TOKEN_UINT;
	if (head >= 0xd0) {                     /* int 8 to 64: extend the sign */
		unsigned shift = 64 - 8 * (unsigned)bytes;

		value = (uint64_t)((int64_t)(value << shift) >> shift);
		if ((int64_t)value < 0)
			item->token = VG_TOKEN_INT;
	}
	item->number = value;
	return 0;
}

/* The first byte of an object is its head.  A head from 0xc0 to 0xdf is followed by a length or by a value.
 * size_bytes[] has the size of this length or value in bytes; 0 if there is none. */
static int item_sized(struct vg_cursor *cursor, struct vg_item *item, unsigned char head)
{
	static const uint8_t size_bytes[32] = {
		0, 0, 0, 0, 1, 2, 4, 1, 2, 4, 4, 8, 1, 2, 4, 8,
		1, 2, 4, 8, 0, 0, 0, 0, 0, 1, 2, 4, 2, 4, 2, 4,
	};
	size_t bytes = size_bytes[head - 0xc0];
	const unsigned char *at = cursor_take(cursor, bytes);

	if (at == NULL)
		return -EBADMSG;
	switch (head) {
	case 0xc0: item->token = VG_TOKEN_NIL; return 0;
	case 0xc2: item->token = VG_TOKEN_FALSE; return 0;
	case 0xc3: item->token = VG_TOKEN_TRUE; return 0;
	case 0xc4 ... 0xc6: return item_blob(cursor, item, VG_TOKEN_BIN, big_endian(at, bytes));
	case 0xc7 ... 0xc9: return item_blob(cursor, item, VG_TOKEN_EXT, big_endian(at, bytes) + 1);
	case 0xca ... 0xd3: return item_number(item, head, at, bytes);
	case 0xd4 ... 0xd8: return item_blob(cursor, item, VG_TOKEN_EXT, (1u << (head - 0xd4)) + 1);
	case 0xd9 ... 0xdb: return item_blob(cursor, item, VG_TOKEN_STR, big_endian(at, bytes));
	case 0xdc ... 0xdd: return item_container(cursor, item, VG_TOKEN_ARRAY, big_endian(at, bytes));
	case 0xde ... 0xdf: return item_container(cursor, item, VG_TOKEN_MAP, big_endian(at, bytes));
	}
	return -EBADMSG;                        /* 0xc1 is never used */
}

static int item_read(struct vg_cursor *cursor, struct vg_item *item)
{
	const unsigned char *at = cursor_take(cursor, 1);
	unsigned char head;

	memset(item, 0, sizeof *item);
	if (at == NULL)
		return -EBADMSG;
	head = *at;
	switch (head) {
	case 0x00 ... 0x7f:
		item->token = VG_TOKEN_UINT;
		item->number = head;
		return 0;
	case 0x80 ... 0x8f: return item_container(cursor, item, VG_TOKEN_MAP, head & 0x0f);
	case 0x90 ... 0x9f: return item_container(cursor, item, VG_TOKEN_ARRAY, head & 0x0f);
	case 0xa0 ... 0xbf: return item_blob(cursor, item, VG_TOKEN_STR, head & 0x1f);
	case 0xc0 ... 0xdf: return item_sized(cursor, item, head);
	}
	item->token = VG_TOKEN_INT;
	item->number = (uint64_t)(int64_t)(int8_t)head;
	return 0;
}

int vg_cursor_next(struct vg_cursor *cursor, struct vg_item *item)
{
	struct vg_cursor ahead = *cursor;
	int rc = item_read(&ahead, item);

	if (rc == 0)
		*cursor = ahead;
	return rc;
}

static int skip_nested(struct vg_cursor *cursor, int depth)
{
	struct vg_item item;
	uint64_t children = 0;
	int rc = item_read(cursor, &item);

	if (rc == 0 && item.token == VG_TOKEN_ARRAY)
		children = item.number;
	if (rc == 0 && item.token == VG_TOKEN_MAP)
		children = 2 * item.number;
	if (children > 0 && depth == 0)
		return -EBADMSG;
	for (; rc == 0 && children > 0; children--)
		rc = skip_nested(cursor, depth - 1);
	return rc;
}

int vg_cursor_skip(struct vg_cursor *cursor)
{
	struct vg_cursor ahead = *cursor;
	int rc = skip_nested(&ahead, DEPTH_MAX);

	if (rc == 0)
		*cursor = ahead;
	return rc;
}

static int cursor_expect(struct vg_cursor *cursor, enum vg_token token, struct vg_item *item)
{
	struct vg_cursor ahead = *cursor;
	int rc = item_read(&ahead, item);

	if (rc != 0 || item->token != token)
		return -EBADMSG;
	*cursor = ahead;
	return 0;
}

int vg_cursor_uint(struct vg_cursor *cursor, uint64_t *value)
{
	struct vg_item item;
	int rc = cursor_expect(cursor, VG_TOKEN_UINT, &item);

	if (rc == 0)
		*value = item.number;
	return rc;
}

int vg_cursor_int(struct vg_cursor *cursor, int64_t *value)
{
	struct vg_item item;

	if (cursor_expect(cursor, VG_TOKEN_INT, &item) != 0 &&
	    (cursor_expect(cursor, VG_TOKEN_UINT, &item) != 0 || item.number > INT64_MAX))
		return -EBADMSG;
	*value = (int64_t)item.number;
	return 0;
}

int vg_cursor_array(struct vg_cursor *cursor, uint32_t *count)
{
	struct vg_item item;
	int rc = cursor_expect(cursor, VG_TOKEN_ARRAY, &item);

	if (rc == 0)
		*count = (uint32_t)item.number;
	return rc;
}

int vg_cursor_map(struct vg_cursor *cursor, uint32_t *count)
{
	struct vg_item item;
	int rc = cursor_expect(cursor, VG_TOKEN_MAP, &item);

	if (rc == 0)
		*count = (uint32_t)item.number;
	return rc;
}

int vg_cursor_str(struct vg_cursor *cursor, const char **text, size_t *length)
{
	struct vg_item item;
	int rc = cursor_expect(cursor, VG_TOKEN_STR, &item);

	if (rc == 0) {
		*text = (const char *)item.bytes;
		*length = item.length;
	}
	return rc;
}

int vg_cursor_bin(struct vg_cursor *cursor, const unsigned char **bytes, size_t *length)
{
	struct vg_item item;
	int rc = cursor_expect(cursor, VG_TOKEN_BIN, &item);

	if (rc == 0) {
		*bytes = item.bytes;
		*length = item.length;
	}
	return rc;
}
