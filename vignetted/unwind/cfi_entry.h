/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CFI_ENTRY_H
#define VG_VIGNETTED_CFI_ENTRY_H

#include "vignetted/target/bytes.h"
#include "vignetted/target/memory.h"
#include "vignetted/unwind/cfi_program.h"

/* Parses the entries of .eh_frame.  An FDE describes a range of code.  It refers to a CIE, which holds what several
 * FDEs share. */

/* Longer entries are not read.  The longest FDE that we know, in GCC, has a third of VG_CFI_FDE_MAX_BYTES. */
enum { VG_CFI_FDE_MAX_BYTES = 64 * 1024, VG_CFI_CIE_MAX_BYTES = 1024 };

/* Bytes of the process's memory, copied once.  The process may change the original later. */
struct vg_cfi_piece {
	uint64_t address;
	uint32_t length;             /* of the entry in bytes, including its length field */
	const unsigned char *bytes;  /* in the caller's buffer */
};

/* The part of an entry that is not parsed yet. */
struct vg_cfi_entry {
	const struct vg_cfi_piece *piece;
	struct vg_bytes bytes;
};

struct vg_cfi_cie {
	uint8_t pointer_encoding;
	bool augmented;              /* its FDEs have augmentation data */
	struct vg_cfi_program program;
	struct vg_bytes initial;     /* initial instructions: they run before those of each FDE */
};

struct vg_cfi_fde {
	struct vg_cfi_entry entry;   /* the rest of the FDE, behind the range of code */
	struct vg_cfi_cie cie;
	uint64_t first, size;        /* the range of code: its first address, and its size in bytes */
};

/* Buffers for an FDE and its CIE: 65 KiB. */
struct vg_cfi_copy {
	struct vg_cfi_piece fde, cie;
	unsigned char fde_buffer[VG_CFI_FDE_MAX_BYTES], cie_buffer[VG_CFI_CIE_MAX_BYTES];
};

/* Copies the CIE at the address into the buffer and parses it.  False: it cannot be read, or is malformed. */
bool vg_cfi_cie_read(struct vg_memory *memory, uint64_t address, unsigned char buffer[VG_CFI_CIE_MAX_BYTES],
		     struct vg_cfi_piece *piece, struct vg_cfi_cie *cie);

/* Copies and parses the FDE at the address and its CIE.  False: one of them cannot be read, or is malformed. */
bool vg_cfi_fde_read(struct vg_memory *memory, uint64_t address, struct vg_cfi_copy *copy, struct vg_cfi_fde *fde);

/* Parses the range of code from an FDE's bytes.  In the target, the first of these bytes is at `address`.  False: the
 * range is malformed. */
bool vg_cfi_range_read(struct vg_bytes *bytes, uint64_t address, uint8_t pointer_encoding, uint64_t *first,
		       uint64_t *size);

/* Finds the FDE's instructions.  False: the FDE is malformed. */
bool vg_cfi_fde_program(struct vg_cfi_fde *fde, struct vg_bytes *instructions);

#endif
