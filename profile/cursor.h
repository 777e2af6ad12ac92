/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_CURSOR_H
#define VG_PROFILE_CURSOR_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reads msgpack in place, without allocation.  The bytes are untrusted, so every length in them is checked against the
 * number of bytes left.  msgpack-c's own unpacker is not used, because it allocates memory for as many elements as an
 * array claims to have: 8 GiB for an array header of five bytes.
 *
 * Every function returns 0 or -EBADMSG.  After -EBADMSG the cursor is unchanged.
 *
 *     struct vg_cursor cursor = { bytes, bytes + length };
 *     if (vg_cursor_array(&cursor, &count) == 0 && vg_cursor_uint(&cursor, &kind) == 0)
 *             ... an array whose first element is an unsigned integer ...
 */
struct vg_cursor {
	const unsigned char *at, *end;
};

enum vg_token {
	VG_TOKEN_NIL, VG_TOKEN_FALSE, VG_TOKEN_TRUE,
	VG_TOKEN_UINT, VG_TOKEN_INT /* negative */, VG_TOKEN_FLOAT,
	VG_TOKEN_STR, VG_TOKEN_BIN, VG_TOKEN_EXT,
	VG_TOKEN_ARRAY, VG_TOKEN_MAP,
};

struct vg_item {
	enum vg_token token;
	uint64_t number;             /* value of UINT and INT; number of elements of ARRAY, of pairs of MAP */
	double real;                 /* value of FLOAT */
	const unsigned char *bytes;  /* contents of STR, BIN and EXT, inside the cursor's range */
	size_t length;               /* of `bytes`; for EXT, includes the type byte at the start */
};

/* Takes the next object.  If the object is an array or map, takes only its head.  Its elements are then the next
 * objects. */
int vg_cursor_next(struct vg_cursor *cursor, struct vg_item *item);

/* Skips one object with all its elements, nested at most 32 levels deep. */
int vg_cursor_skip(struct vg_cursor *cursor);

/* Each function takes the next object, which must be of the function's type.  vg_cursor_int() also takes a
 * VG_TOKEN_UINT up to INT64_MAX. */
int vg_cursor_uint(struct vg_cursor *cursor, uint64_t *value);
int vg_cursor_int(struct vg_cursor *cursor, int64_t *value);
int vg_cursor_array(struct vg_cursor *cursor, uint32_t *count);
int vg_cursor_map(struct vg_cursor *cursor, uint32_t *count);
int vg_cursor_str(struct vg_cursor *cursor, const char **text, size_t *length);
int vg_cursor_bin(struct vg_cursor *cursor, const unsigned char **bytes, size_t *length);

#endif
