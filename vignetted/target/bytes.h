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

/* Read LEB128 numbers (DWARF 5, section 7.6), of at most ten bytes.  Bits beyond 64 are dropped. */
static inline bool vg_bytes_leb(struct vg_bytes *bytes, bool is_signed, uint64_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; bytes->at < bytes->end && shift < 64; shift += 7) {
		unsigned char byte = *bytes->at++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if ((byte & 0x80) == 0) {
			if (is_signed && shift + 7 < 64 && (byte & 0x40) != 0)
				*value |= ~UINT64_C(0) << (shift + 7);
			return true;
		}
	}
	return false;
}

static inline bool vg_bytes_uleb(struct vg_bytes *bytes, uint64_t *value)
{
	return vg_bytes_leb(bytes, false, value);
}

static inline bool vg_bytes_sleb(struct vg_bytes *bytes, int64_t *value)
{
	return vg_bytes_leb(bytes, true, (uint64_t *)value);
}

#endif
