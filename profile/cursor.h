/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_CURSOR_H
#define VG_PROFILE_CURSOR_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reads msgpack in place, allocating nothing: a length that the bytes claim is only ever
 * compared with what is left.  (msgpack-c's own unpacker reserves what an array claims: 8 GiB
 * for five bytes.)  Every function returns 0 or -EBADMSG, and leaves the cursor where it was
 * when it fails.
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
	uint64_t number;             /* the value; or the count of an array or map */
	double real;
	const unsigned char *bytes;  /* of STR, BIN and EXT, inside the cursor's range */
	size_t length;
};

/* The next object's head: for arrays and maps the elements follow. */
int vg_cursor_next(struct vg_cursor *cursor, struct vg_item *item);

/* Passes over one whole object, at most 32 deep. */
int vg_cursor_skip(struct vg_cursor *cursor);

/* The next object, which must be of that type. */
int vg_cursor_uint(struct vg_cursor *cursor, uint64_t *value);
int vg_cursor_int(struct vg_cursor *cursor, int64_t *value);
int vg_cursor_array(struct vg_cursor *cursor, uint32_t *count);
int vg_cursor_map(struct vg_cursor *cursor, uint32_t *count);
int vg_cursor_str(struct vg_cursor *cursor, const char **text, size_t *length);
int vg_cursor_bin(struct vg_cursor *cursor, const unsigned char **bytes, size_t *length);

#endif
