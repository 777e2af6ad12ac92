/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CFI_PROGRAM_H
#define VG_VIGNETTED_CFI_PROGRAM_H

#include "vignetted/target/bytes.h"
#include "vignetted/unwind/row.h"

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

/* Whether both programs can be read to their ends, and have nothing that vg_cfi_copy_sound() keeps from libunwind. */
bool vg_cfi_program_is_sound(const struct vg_cfi_program *program, struct vg_bytes initial,
			     struct vg_bytes instructions);

#endif
