/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CFI_H
#define VG_VIGNETTED_CFI_H

#include "vignetted/image.h"
#include "vignetted/memory.h"
#include "vignetted/row.h"

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

/* Whether libunwind may be given what that entry leads to: information that has been read to its end here, and in
 * which nothing is that libunwind reads otherwise, or that would be a danger.  It takes for granted what a CIE says,
 * an expression that jumps can be a loop, and one that divides can raise SIGFPE. */
bool vg_cfi_is_sound(struct vg_memory *memory, const struct vg_image *image, uint64_t entry);

/* The row for an absolute address inside the image.  VG_ROW_NONE or VG_ROW_COMPLEX where it
 * cannot be told, malformed information included. */
void vg_cfi_row(struct vg_memory *memory, const struct vg_image *image, uint64_t address,
		struct vg_row *row);

/* Where the code lies that the same entry covers: a function, or a part of one that lies elsewhere. */
bool vg_cfi_function(struct vg_memory *memory, const struct vg_image *image, uint64_t address,
		     uint64_t *first, uint64_t *bytes);

#endif
