/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_BYTES_H
#define VG_SYMBOLS_DWARF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A cursor over DWARF's bytes.  Reading beyond the end gives zeros and leaves the cursor at the
 * end with is_bad set, so that it is enough to look once in a while.
 */
struct vg_dwarf_bytes {
	const unsigned char *at, *end;
	bool is_swapped;        /* of the other byte order */
	bool is_bad;
};

static inline bool vg_dwarf_has(struct vg_dwarf_bytes *bytes, uint64_t count)
{
	if ((uint64_t)(bytes->end - bytes->at) >= count)
		return true;
	bytes->at = bytes->end;
	bytes->is_bad = true;
	return false;
}

static inline void vg_dwarf_skip(struct vg_dwarf_bytes *bytes, uint64_t count)
{
	if (vg_dwarf_has(bytes, count))
		bytes->at += count;
}

/* An unsigned number of 1, 2, 4 or 8 bytes. */
static inline uint64_t vg_dwarf_number(struct vg_dwarf_bytes *bytes, unsigned count)
{
	uint64_t word = 0;

	if (!vg_dwarf_has(bytes, count))
		return 0;
	for (unsigned i = 0; i < count; i++) {
		bool from_end = bytes->is_swapped != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);

		word |= (uint64_t)bytes->at[i] << 8 * (from_end ? count - 1 - i : i);
	}
	bytes->at += count;
	return word;
}

static inline uint8_t vg_dwarf_byte(struct vg_dwarf_bytes *bytes)
{
	return vg_dwarf_has(bytes, 1) ? *bytes->at++ : 0;
}

/* Bits beyond the 64th are dropped. */
static inline uint64_t vg_dwarf_uleb(struct vg_dwarf_bytes *bytes)
{
	uint64_t word = 0;

	for (unsigned shift = 0; vg_dwarf_has(bytes, 1); shift += 7) {
		uint8_t byte = *bytes->at++;

		if (shift < 64)
			word |= (uint64_t)(byte & 0x7f) << shift;
		if ((byte & 0x80) == 0)
			break;
	}
	return word;
}

static inline int64_t vg_dwarf_sleb(struct vg_dwarf_bytes *bytes)
{
	uint64_t word = 0;
	unsigned shift = 0;

	while (vg_dwarf_has(bytes, 1)) {
		uint8_t byte = *bytes->at++;

		if (shift < 64)
			word |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if ((byte & 0x80) == 0) {
			if (shift < 64 && (byte & 0x40))
				word |= ~(uint64_t)0 << shift;
			break;
		}
	}
	return (int64_t)word;
}

/* A string with its NUL; NULL if that is missing.  Borrowed. */
static inline const char *vg_dwarf_string(struct vg_dwarf_bytes *bytes)
{
	const unsigned char *text = bytes->at;
	const unsigned char *end = memchr(text, '\0', (size_t)(bytes->end - text));

	if (end == NULL) {
		bytes->at = bytes->end;
		bytes->is_bad = true;
		return NULL;
	}
	bytes->at = end + 1;
	return (const char *)text;
}

#endif
