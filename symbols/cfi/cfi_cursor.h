/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_CFI_CURSOR_H
#define VG_SYMBOLS_CFI_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of call frame information, read with bounds.  What lies beyond the end reads as 0 and
 * sets `failed`, which stays set.  Internal to symbols/. */
struct vg_cfi_cursor {
	const uint8_t *at, *end;
	bool big_endian, failed;
};

static inline uint64_t vg_cfi_fixed(struct vg_cfi_cursor *cursor, unsigned bytes)
{
	uint64_t value = 0;

	if ((size_t)(cursor->end - cursor->at) < bytes) {
		cursor->failed = true;
		cursor->at = cursor->end;
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)cursor->at[i] << 8 * (cursor->big_endian ? bytes - 1 - i : i);
	cursor->at += bytes;
	return value;
}

static inline uint64_t vg_cfi_byte(struct vg_cfi_cursor *cursor)
{
	return vg_cfi_fixed(cursor, 1);
}

static inline int64_t vg_cfi_sign_extend(uint64_t value, unsigned bytes)
{
	unsigned shift = 64 - 8 * bytes;

	return (int64_t)(value << shift) >> shift;
}

/* Both kinds of LEB128; bits beyond the 64th are an error. */
static inline uint64_t vg_cfi_leb(struct vg_cfi_cursor *cursor, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint64_t byte;

	do {
		byte = vg_cfi_byte(cursor);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		else if ((byte & 0x7f) != 0 && (byte & 0x7f) != 0x7f)
			cursor->failed = true;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && (byte & 0x40))
		value |= UINT64_MAX << shift;
	return value;
}

static inline uint64_t vg_cfi_unsigned(struct vg_cfi_cursor *cursor)
{
	return vg_cfi_leb(cursor, false);
}

static inline int64_t vg_cfi_signed(struct vg_cfi_cursor *cursor)
{
	return (int64_t)vg_cfi_leb(cursor, true);
}

/* A block with its length before it, as a cursor of its own. */
static inline struct vg_cfi_cursor vg_cfi_block(struct vg_cfi_cursor *cursor)
{
	uint64_t bytes = vg_cfi_unsigned(cursor);
	struct vg_cfi_cursor block = *cursor;

	if (bytes > (size_t)(cursor->end - cursor->at)) {
		cursor->failed = true;
		bytes = 0;
	}
	block.end = block.at + bytes;
	cursor->at = block.end;
	return block;
}

#endif
