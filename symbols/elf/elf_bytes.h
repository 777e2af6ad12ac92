/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_ELF_BYTES_H
#define VG_SYMBOLS_ELF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Bytes of a file, which are read with bounds.  A read beyond the end gives 0, sets `failed`, which
 * stays set, and leaves nothing to read: a caller may look at `failed` once in a while.  Borrowed.
 * Internal to symbols/.
 */
struct vg_elf_bytes {
	const unsigned char *at, *end;  /* what is left */
	bool big_endian, failed;
};

static inline uint64_t vg_elf_left(const struct vg_elf_bytes *bytes)
{
	return (uint64_t)(bytes->end - bytes->at);
}

/* Fails if there are fewer. */
static inline bool vg_elf_has(struct vg_elf_bytes *bytes, uint64_t count)
{
	if (vg_elf_left(bytes) >= count)
		return true;
	bytes->at = bytes->end;
	bytes->failed = true;
	return false;
}

static inline void vg_elf_skip(struct vg_elf_bytes *bytes, uint64_t count)
{
	if (vg_elf_has(bytes, count))
		bytes->at += count;
}

/* An unsigned number of up to 8 bytes, without bounds. */
static inline uint64_t vg_elf_number(const unsigned char *at, unsigned count, bool big_endian)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < count; i++)
		number |= (uint64_t)at[i] << 8 * (big_endian ? count - 1 - i : i);
	return number;
}

static inline uint64_t vg_elf_fixed(struct vg_elf_bytes *bytes, unsigned count)
{
	const unsigned char *at = bytes->at;

	if (!vg_elf_has(bytes, count))
		return 0;
	bytes->at += count;
	return vg_elf_number(at, count, bytes->big_endian);
}

static inline uint8_t vg_elf_byte(struct vg_elf_bytes *bytes)
{
	return vg_elf_has(bytes, 1) ? *bytes->at++ : 0;
}

static inline int64_t vg_sign_extend(uint64_t number, unsigned bytes)
{
	unsigned shift = 64 - 8 * bytes;

	return (int64_t)(number << shift) >> shift;
}

/* Both kinds of LEB128.  Bits beyond the 64th fail. */
static inline uint64_t vg_elf_leb(struct vg_elf_bytes *bytes, bool is_signed)
{
	uint64_t number = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = vg_elf_byte(bytes);
		if (shift < 64)
			number |= (uint64_t)(byte & 0x7f) << shift;
		else if ((byte & 0x7f) != 0 && (byte & 0x7f) != 0x7f)
			bytes->failed = true;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && (byte & 0x40))
		number |= UINT64_MAX << shift;
	return number;
}

static inline uint64_t vg_elf_uleb(struct vg_elf_bytes *bytes)
{
	return vg_elf_leb(bytes, false);
}

static inline int64_t vg_elf_sleb(struct vg_elf_bytes *bytes)
{
	return (int64_t)vg_elf_leb(bytes, true);
}

/* A string with its NUL; NULL, and a failure, if the NUL is missing. */
static inline const char *vg_elf_string(struct vg_elf_bytes *bytes)
{
	const unsigned char *text = bytes->at;
	const unsigned char *end = memchr(text, '\0', vg_elf_left(bytes));

	if (end == NULL) {
		bytes->at = bytes->end;
		bytes->failed = true;
		return NULL;
	}
	bytes->at = end + 1;
	return (const char *)text;
}

/* A block with its length before it; empty, and a failure, if it is cut off. */
static inline struct vg_elf_bytes vg_elf_block(struct vg_elf_bytes *bytes)
{
	uint64_t count = vg_elf_uleb(bytes);
	struct vg_elf_bytes block = *bytes;

	vg_elf_skip(bytes, count);
	block.at = bytes->failed ? bytes->at : block.at;
	block.end = bytes->at;
	return block;
}

#endif
