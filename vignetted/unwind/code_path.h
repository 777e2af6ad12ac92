/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CODE_PATH_H
#define VG_VIGNETTED_CODE_PATH_H

#include "vignetted/unwind/instruction.h"
#include "vignetted/unwind/row.h"

/* What a path of instructions does to registers and stack.  Values are known relative to the values that the registers
 * had at the path's beginning.  "The first stack pointer" means the stack pointer there.  Only words that mov and push
 * store are known; compilers do not overwrite a saved register before they restore it. */

enum vg_value_base {
	VG_VALUE_UNKNOWN,
	VG_VALUE_AT_BEGIN,           /* the first value of a register, + offset */
	VG_VALUE_CONSTANT,           /* offset */
	VG_VALUE_ALIGNED,            /* the stack pointer after it was aligned, + offset */
	VG_VALUE_LOADED,             /* the word at (first value of a register + at), + offset */
	VG_VALUE_LOADED_TWICE,       /* the word at (the word at (first value of a register + at) + at_2), + offset */
};

struct vg_value {
	uint8_t base;                /* enum vg_value_base */
	uint8_t number;              /* of the register */
	int32_t at, at_2;            /* bytes */
	int64_t offset;
};

/* A word that the path has stored. */
struct vg_stored {
	struct vg_value address, value;
};

/* A function saves at most six registers, and a few words for an aligned stack.  Further words are not kept. */
enum { VG_STORED_MAX = 12 };

struct vg_code_path {
	uint64_t at;                 /* address of the path's next instruction */
	struct vg_value values[VG_REGISTERS];
	struct vg_stored stored[VG_STORED_MAX];
	uint8_t stored_count;
	uint8_t compared;            /* the latest instruction compared this register with the stack pointer */
	bool after_call, after_jump; /* the latest instruction was a call; was a jump */
	bool doubtful;               /* padding followed a call: the call may not return, and the function may end
					there */
	bool stack_replaced;         /* the path switched to another stack */
};

/* A path that begins at the address. */
void vg_code_path_begin(struct vg_code_path *path, uint64_t address);

/* Applies one instruction, and moves path->at to the next one or to the target of a jump whose target is known.  False:
 * the path ends here: a return, a jump to an unknown address, a trap, or an impossible stack pointer. */
bool vg_code_path_apply(struct vg_code_path *path, const struct vg_instruction *instruction);

/* The row at the beginning of a path that ends with a return.  False: the path does not show where the return
 * address is.  *doubtful: the path does not restore the frame pointer, or path->doubtful is set. */
bool vg_code_path_row_at_begin(const struct vg_code_path *path, struct vg_row *row, bool *doubtful);

/* The row at path->at, of a path that began at a function's first instruction. */
bool vg_code_path_row_at_end(const struct vg_code_path *path, struct vg_row *row);

/* Whether a row's CFA is right at path->at, if the path began at a function's first instruction. */
enum vg_code_verdict { VG_CODE_UNDECIDED, VG_CODE_RIGHT, VG_CODE_WRONG };
enum vg_code_verdict vg_code_path_verify(const struct vg_code_path *path, const struct vg_row *row);

/* Whether the stack pointer is below the first one. */
bool vg_code_path_has_frame(const struct vg_code_path *path);

/* Whether the next instruction takes the return address from the stack, where the path has restored the caller's frame
 * pointer.  V8's functions return like this: the number of arguments that they drop is known only at run time. */
bool vg_code_path_pops_return(const struct vg_code_path *path, const struct vg_instruction *instruction);

#endif
