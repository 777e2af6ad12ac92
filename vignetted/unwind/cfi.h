/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CFI_H
#define VG_VIGNETTED_CFI_H

#include "vignetted/target/bytes.h"
#include "vignetted/target/image.h"
#include "vignetted/target/memory.h"
#include "vignetted/unwind/cfi_program.h"
#include "vignetted/unwind/row.h"

/*
 * Reads call frame information from a loaded image: .eh_frame, through the sorted table of .eh_frame_hdr (Linux
 * Standard Base Core, "Exception Frames").  For an image without such a table, an index of .eh_frame is made.
 *
 * All bytes are read through the cache of the target's memory.  If unwind information is malformed,
 * frames are missing, but no other harm is done.
 *
 * 	struct vg_row row;
 * 	vg_cfi_row(&memory, &image, pc, &row);   // row.kind == VG_ROW_PLAIN: how to find the caller
 */

/* Longer entries are not read.  The longest FDE that we know, in GCC, has a third of VG_CFI_FDE_MAX_BYTES. */
enum { VG_CFI_FDE_MAX_BYTES = 64 * 1024, VG_CFI_CIE_MAX_BYTES = 1024 };

/* Bytes of the process's memory, copied once.  The process may change the original later. */
struct vg_cfi_piece {
	uint64_t address;
	uint32_t length;             /* of the entry in bytes, including its length field */
	const unsigned char *bytes;  /* in the caller's buffer */
};

/* Buffers for an FDE and its CIE: 65 KiB. */
struct vg_cfi_copy {
	struct vg_cfi_piece fde, cie;
	unsigned char fde_buffer[VG_CFI_FDE_MAX_BYTES], cie_buffer[VG_CFI_CIE_MAX_BYTES];
};

/* Finds the FDE whose code begins nearest to `address`, at or before it.  The code may end before `address`.  Returns
 * the FDE's address; 0: none, or the table cannot be read.
 *
 * If the image has no sorted table, the first call makes an index in image->fde_index.  It stops when
 * memory->words_left is used up, and the next call continues.  Returns 0 as long as the index is not complete. */
uint64_t vg_cfi_fde(struct vg_memory *memory, struct vg_image *image, uint64_t address);

/* Copies the FDE and its CIE.  Returns whether libunwind can parse the copy safely.  libunwind does not check its
 * input: it trusts the lengths in a CIE.  An expression with a jump can be an endless loop, and an expression that
 * divides can raise SIGFPE. */
bool vg_cfi_copy_safe(struct vg_memory *memory, uint64_t fde, struct vg_cfi_copy *copy);

/* Sets those bytes of *word whose addresses (`address` to `address` + 7) are in the copy, and leaves the other bytes as
 * they are.  Returns whether a byte was set. */
bool vg_cfi_copy_word(const struct vg_cfi_copy *copy, uint64_t address, uint64_t *word);

/* Finds the row for an absolute address in the image.  VG_ROW_NONE: no entry covers the address.  VG_ROW_COMPLEX: a row
 * cannot express the entry, or the entry is malformed. */
void vg_cfi_row(struct vg_memory *memory, struct vg_image *image, uint64_t address,
		struct vg_row *row);

/* Finds the code that the FDE of the address covers: a function, or the cold part of a function.  False: no FDE covers
 * the address, or the FDE is malformed. */
bool vg_cfi_function(struct vg_memory *memory, struct vg_image *image, uint64_t address,
		     uint64_t *first, uint64_t *bytes);

#endif
