/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_FUNCTION_CODE_H
#define VG_VGTOOL_FUNCTION_CODE_H

#include "vgtool/analysis/frames.h"
#include "vgtool/commands/symbolize.h"
#include "vgtool/views/annotate_asm.h"

/*
 * The instructions of the functions of a profile that a person has named, with their source lines.  The functions are
 * those into which the code was compiled: the instructions of an inlined function belong to its caller.
 *
 *	struct vg_function_code code = { .symbolize = &symbolize, .command = "vgtool annotate" };
 *	rc = vg_function_code_read(&code, profile, "parse", &err);
 *	... code.functions ...
 *	vg_function_code_free(&code);
 */
enum { VG_FUNCTION_CODE_MAX = 64 };

struct vg_function_code {
	struct vg_symbolize *symbolize; /* the caller's; broker.objdump is set */
	const char *command;         /* begins warnings; the caller's */
	VG_ARRAY(struct vg_asm_function) functions; /* sorted by module number, then by address */
	uint32_t *module_numbers;    /* by module of the profile; VG_NONE: it has no build id */
	/* Private: */
	struct vg_frames frames;     /* has the names */
	VG_ARRAY(struct vg_symbols *) symbols; /* owned; have the names of the files */
	struct vg_intern build_ids;
};

/* The profile must be symbolized, and must outlive `code`.  A module whose code cannot be read causes a warning, unless
 * there is no other.  Returns 0, or a negative errno with a message in err: -ENOENT: no function matches, or its binary
 * was not found.  Call vg_function_code_free() in either case. */
int vg_function_code_read(struct vg_function_code *code, const struct vg_profile *profile, const char *function,
			  struct vg_err *err);
void vg_function_code_free(struct vg_function_code *code);

#endif
