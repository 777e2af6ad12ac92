/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_BYTES_H
#define VG_VIGNETTED_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A range of bytes that is read from its beginning; readers return false at its end. */
struct vg_bytes {
	const unsigned char *at, *end;
};

/* An unsigned little-endian number of 1 to 8 bytes. */
static inline bool vg_bytes_fixed(struct vg_bytes *bytes, size_t length, uint64_t *value)
{
	if ((size_t)(bytes->end - bytes->at) < length)
		return false;
	*value = 0;
	memcpy(value, bytes->at, length);
	bytes->at += length;
	return true;
}

/* Variable-length numbers (DWARF 5, section 7.6); what goes beyond 64 bits is dropped. */
bool vg_bytes_uleb(struct vg_bytes *bytes, uint64_t *value);
bool vg_bytes_sleb(struct vg_bytes *bytes, int64_t *value);

#endif
