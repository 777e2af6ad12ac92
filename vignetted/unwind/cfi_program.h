/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CFI_PROGRAM_H
#define VG_VIGNETTED_CFI_PROGRAM_H

#include "vignetted/target/bytes.h"
#include "vignetted/unwind/row.h"

/* What the FDEs of one CIE share. */
struct vg_cfi_program {
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t return_column;      /* register number of the return address */
	bool signal;                 /* the FDEs are for signal trampolines */
};

/* Runs the CIE's instructions (`initial`), then the FDE's instructions up to `address`.  `first` is the first address
 * of the FDE's code.  *row is the row at `address`; VG_ROW_COMPLEX if an instruction is malformed. */
void vg_cfi_program_run(const struct vg_cfi_program *program, struct vg_bytes initial,
			struct vg_bytes instructions, uint64_t first, uint64_t address,
			struct vg_row *row);

/* Whether the CIE's and the FDE's instructions can be parsed to their ends, and libunwind can run them safely: see
 * vg_cfi_copy_safe(). */
bool vg_cfi_program_is_safe(const struct vg_cfi_program *program, struct vg_bytes initial,
			    struct vg_bytes instructions);

#endif
