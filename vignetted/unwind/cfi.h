/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CFI_H
#define VG_VIGNETTED_CFI_H

#include "vignetted/target/image.h"
#include "vignetted/target/memory.h"
#include "vignetted/unwind/row.h"

/*
 * Call frame information as it lies in a loaded image: .eh_frame, found through the sorted table
 * of .eh_frame_hdr (Linux Standard Base Core, "Exception Frames").  All is read through the cache
 * of the process's memory; nothing of it is trusted.
 */

/* The sorted table in .eh_frame_hdr: where it starts behind the header, and its entries. */
enum { VG_CFI_TABLE_AT = 12, VG_CFI_TABLE_ENTRY_BYTES = 8 };

/* The last of its entries whose code begins at the address or before.  0 where there is none, or the table is
 * not of the usual form. */
uint64_t vg_cfi_entry(struct vg_memory *memory, const struct vg_image *image, uint64_t address);

/* Longer entries are left out.  The longest FDE that we know takes a third of this: that of the function in GCC that
 * recognises instructions. */
enum { VG_CFI_FDE_MAX_BYTES = 64 * 1024, VG_CFI_CIE_MAX_BYTES = 1024 };

/* A range of the process's memory as it was read, once. */
struct vg_cfi_piece {
	uint64_t address;
	uint32_t length;
	const unsigned char *bytes;  /* in the copy */
};

/* All that an entry of the table leads to.  Too large for a small stack. */
struct vg_cfi_copy {
	struct vg_cfi_piece table, fde, cie;     /* their lengths' fields included */
	unsigned char table_room[VG_CFI_TABLE_ENTRY_BYTES], fde_room[VG_CFI_FDE_MAX_BYTES],
		      cie_room[VG_CFI_CIE_MAX_BYTES];
};

/* Copies what that entry leads to.  Whether libunwind may be given the copy, and nothing but it: information that has
 * been read to its end here, as libunwind reads it, and in which is nothing that would be a danger.  It takes for granted
 * what a CIE says, an expression that jumps can be a loop, and one that divides can raise SIGFPE. */
bool vg_cfi_copy_sound(struct vg_memory *memory, const struct vg_image *image, uint64_t entry,
		       struct vg_cfi_copy *copy);

/* Replaces those bytes of the word at the address that were copied.  Whether any were. */
bool vg_cfi_copy_word(const struct vg_cfi_copy *copy, uint64_t address, uint64_t *word);

/* The row for an absolute address inside the image.  VG_ROW_NONE or VG_ROW_COMPLEX where it
 * cannot be told, malformed information included. */
void vg_cfi_row(struct vg_memory *memory, const struct vg_image *image, uint64_t address,
		struct vg_row *row);

/* Where the code lies that the same entry covers: a function, or a part of one that lies elsewhere. */
bool vg_cfi_function(struct vg_memory *memory, const struct vg_image *image, uint64_t address,
		     uint64_t *first, uint64_t *bytes);

#endif
