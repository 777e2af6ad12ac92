/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_ANNOTATE_ASM_H
#define VG_VGTOOL_ANNOTATE_ASM_H

#include "base/err.h"
#include "vgtool/analysis/disassembly.h"
#include "vgtool/analysis/thread_samples.h"
#include "vgtool/output/terminal.h"

/* Where an instruction comes from. */
struct vg_asm_line {
	const char *file;            /* NULL: unknown */
	const char *inlined;         /* the inlined function; NULL: the function itself */
	uint32_t line;               /* 0: unknown */
};

/* A function, or a part of it that is contiguous.  The texts are the caller's. */
struct vg_asm_function {
	const char *name, *module;
	uint32_t module_number;      /* see vg_annotate_asm.module_numbers */
	uint64_t begin, end;         /* relative to the module */
	uint64_t load_base;          /* the virtual address of the relative address 0 */
	struct vg_disassembly code;
	struct vg_asm_line *lines;   /* by instruction */
};

/*
 * The instructions of functions, each with its share of the time, and the source lines between them.  Self is the time
 * of the samples in which the thread was at the instruction.  Total includes those in which it was in a function that
 * the instruction calls.
 */
struct vg_annotate_asm {
	const struct vg_asm_function *functions; /* sorted by module number, then by address, without overlaps */
	size_t function_count;
	const uint32_t *module_numbers; /* by module of the profile: equal for modules that are the same binary */
	enum vg_weight weight;
	const char *const *directories; /* source files are looked for here: see vg_source_open() */
	size_t directory_count;
	const struct vg_terminal *terminal;
	bool is_json;
};

/* Prints on standard output.  Returns 0 or -ENOMEM. */
int vg_annotate_asm(const struct vg_profile *profile, const struct vg_annotate_asm *annotate);

#endif
