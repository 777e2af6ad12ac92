/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CFI_PROGRAM_H
#define VG_VIGNETTED_CFI_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "vignetted/row.h"

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

bool vg_bytes_uleb(struct vg_bytes *bytes, uint64_t *value);
bool vg_bytes_sleb(struct vg_bytes *bytes, int64_t *value);

/* What a CIE says of the programs of its FDEs. */
struct vg_cfi_program {
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t return_column;
	bool signal;
};

/* Runs a CIE's initial instructions, then an FDE's from its first address up to `address`. */
void vg_cfi_program_run(const struct vg_cfi_program *program, struct vg_bytes initial,
			struct vg_bytes instructions, uint64_t first, uint64_t address,
			struct vg_row *row);

#endif
