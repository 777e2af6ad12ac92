/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_ELF_BYTES_H
#define VG_SYMBOLS_ELF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A cursor over bytes of a file, with bounds.  A read beyond the end returns 0, sets `failed` and
 * moves the cursor to the end.  `failed` stays set, so that a caller can check once after many
 * reads.  The bytes are borrowed.  Internal to symbols/.
 *
 *     uint64_t length = vg_elf_uleb128(&bytes);
 *     const char *name = vg_elf_string(&bytes);
 *     if (bytes.failed)
 *             return -EBADMSG;
 */
struct vg_elf_bytes {
	const unsigned char *at, *end;  /* the bytes that are left */
	bool big_endian, failed;
};

static inline uint64_t vg_elf_bytes_left(const struct vg_elf_bytes *bytes)
{
	return (uint64_t)(bytes->end - bytes->at);
}

/* Fails if fewer than `count` bytes are left. */
static inline bool vg_elf_bytes_need(struct vg_elf_bytes *bytes, uint64_t count)
{
	if (vg_elf_bytes_left(bytes) >= count)
		return true;
	bytes->at = bytes->end;
	bytes->failed = true;
	return false;
}

static inline void vg_elf_skip(struct vg_elf_bytes *bytes, uint64_t count)
{
	if (vg_elf_bytes_need(bytes, count))
		bytes->at += count;
}

/* An unsigned number of 1 to 8 bytes at `at`; the caller has checked the bounds. */
static inline uint64_t vg_elf_uint_at(const unsigned char *at, unsigned count, bool big_endian)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < count; i++)
		number |= (uint64_t)at[i] << 8 * (big_endian ? count - 1 - i : i);
	return number;
}

static inline uint64_t vg_elf_uint(struct vg_elf_bytes *bytes, unsigned count)
{
	const unsigned char *at = bytes->at;

	if (!vg_elf_bytes_need(bytes, count))
		return 0;
	bytes->at += count;
	return vg_elf_uint_at(at, count, bytes->big_endian);
}

static inline uint8_t vg_elf_byte(struct vg_elf_bytes *bytes)
{
	return vg_elf_bytes_need(bytes, 1) ? *bytes->at++ : 0;
}

static inline int64_t vg_sign_extend(uint64_t number, unsigned bytes)
{
	unsigned shift = 64 - 8 * bytes;

	return (int64_t)(number << shift) >> shift;
}

/* LEB128, signed or unsigned (DWARF 5, 7.6).  A value that needs more than 64 bits fails. */
static inline uint64_t vg_elf_leb128(struct vg_elf_bytes *bytes, bool is_signed)
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

static inline uint64_t vg_elf_uleb128(struct vg_elf_bytes *bytes)
{
	return vg_elf_leb128(bytes, false);
}

static inline int64_t vg_elf_sleb128(struct vg_elf_bytes *bytes)
{
	return (int64_t)vg_elf_leb128(bytes, true);
}

/* A NUL-terminated string.  Fails and returns NULL if there is no NUL. */
static inline const char *vg_elf_string(struct vg_elf_bytes *bytes)
{
	const unsigned char *text = bytes->at;
	const unsigned char *end = memchr(text, '\0', vg_elf_bytes_left(bytes));

	if (end == NULL) {
		bytes->at = bytes->end;
		bytes->failed = true;
		return NULL;
	}
	bytes->at = end + 1;
	return (const char *)text;
}

/* A block: its length as ULEB128, then its bytes.  Fails and returns an empty block if it is
 * truncated. */
static inline struct vg_elf_bytes vg_elf_block(struct vg_elf_bytes *bytes)
{
	uint64_t count = vg_elf_uleb128(bytes);
	struct vg_elf_bytes block = *bytes;

	vg_elf_skip(bytes, count);
	block.at = bytes->failed ? bytes->at : block.at;
	block.end = bytes->at;
	return block;
}

#endif
