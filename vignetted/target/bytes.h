/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_BYTES_H
#define VG_VIGNETTED_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A cursor over bytes.  The functions below read at the cursor and advance it.  They return false if too few bytes are
 * left.
 *
 * 	struct vg_bytes bytes = { text, text + length };
 * 	uint64_t value;
 * 	if (vg_bytes_uleb(&bytes, &value))
 * 		use(value);
 */
struct vg_bytes {
	const unsigned char *at, *end;
};

/* Reads an unsigned little-endian number of 1 to 8 bytes. */
static inline bool vg_bytes_fixed(struct vg_bytes *bytes, size_t length, uint64_t *value)
{
	if ((size_t)(bytes->end - bytes->at) < length)
		return false;
	*value = 0;
	memcpy(value, bytes->at, length);
	bytes->at += length;
	return true;
}

/* Read LEB128 numbers (DWARF 5, section 7.6).  Bits beyond 64 are dropped. */
bool vg_bytes_uleb(struct vg_bytes *bytes, uint64_t *value);
bool vg_bytes_sleb(struct vg_bytes *bytes, int64_t *value);

#endif
