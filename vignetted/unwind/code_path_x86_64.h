/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CODE_PATH_X86_64_H
#define VG_VIGNETTED_CODE_PATH_X86_64_H

#include "vignetted/unwind/instruction_x86_64.h"

/* A distance is counted from the value that this register had at the path's beginning. */
enum vg_path_base { VG_PATH_FROM_SP, VG_PATH_FROM_FP, VG_PATH_UNKNOWN };

/* Stack pointer and frame pointer along one path of instructions.  All distances are in bytes.  "The first stack
 * pointer" means the stack pointer at the path's beginning. */
struct vg_code_path {
	uint64_t at;                 /* address of the path's next instruction */
	enum vg_path_base sp_base;
	int64_t sp_offset;           /* the stack pointer is sp_base + sp_offset */
	bool fp_saved;               /* the path loaded the caller's frame pointer from fp_base + fp_saved_offset */
	enum vg_path_base fp_base;
	int64_t fp_saved_offset;
	bool fp_pushed;              /* the path saved the frame pointer at the first stack pointer +
					fp_pushed_offset */
	int64_t fp_pushed_offset;
	bool fp_set;                 /* the path set the frame pointer to the first stack pointer + fp_offset */
	int64_t fp_offset;
	bool stack_replaced;         /* the path switched to another stack */
};

/* Applies one instruction.  False: the path ends here without a return. */
bool vg_code_path_apply(struct vg_code_path *path, const struct vg_instruction *instruction);

#endif
