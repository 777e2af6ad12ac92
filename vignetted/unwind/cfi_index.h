/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CFI_INDEX_H
#define VG_VIGNETTED_CFI_INDEX_H

#include "vignetted/target/image.h"
#include "vignetted/target/memory.h"

/* Finds the FDE of an address in an image without a sorted table.  The first call builds an index of .eh_frame in
 * image->fde_index.  Building stops when memory->words_left is used up, and continues at the next call.  Returns the
 * FDE's address; 0: there is no FDE, or the index is not complete yet. */
uint64_t vg_cfi_index_find(struct vg_memory *memory, struct vg_image *image, uint64_t address);

#endif
