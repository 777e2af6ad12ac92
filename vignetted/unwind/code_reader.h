/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CODE_READER_H
#define VG_VIGNETTED_CODE_READER_H

#include "vignetted/target/memory.h"
#include "vignetted/target/ranges.h"

/* Reads the target's code piece by piece.
 *
 * 	struct vg_code_reader reader = { .memory = memory, .jit = range->module == VG_NONE ? range : NULL };
 * 	count = vg_code_reader_get(&reader, address, 15, &bytes);
 */
struct vg_code_reader {
	struct vg_memory *memory;    /* the caller's */
	const struct vg_code_range *jit; /* the caller's; JIT code, which changes, so it is read without the cache of
					pages.  NULL: code of a module */
	uint64_t piece_at;           /* the address of `piece` */
	size_t piece_bytes;
	unsigned char piece[256];
};

/* The code at the address: up to `most` bytes, valid until the next call.  Fewer at the end of a mapping, and 0 if
 * nothing can be read or too few words are left. */
size_t vg_code_reader_get(struct vg_code_reader *reader, uint64_t address, size_t most, const unsigned char **bytes);

/* Reads `length` bytes.  0 or -EFAULT. */
int vg_code_reader_read(struct vg_code_reader *reader, uint64_t address, void *bytes, size_t length);

#endif
