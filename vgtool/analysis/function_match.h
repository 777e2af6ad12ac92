/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_FUNCTION_MATCH_H
#define VG_VGTOOL_FUNCTION_MATCH_H

#include <regex.h>

#include "vgtool/analysis/frames.h"

/*
 * Functions that a person has named.
 *
 *	vg_function_match_name(&match, &frames, "parse");
 *	printf("%u functions, the first is %s\n", match.count, vg_frames_function(&frames, match.first).name);
 *	vg_function_match_free(&match);
 */
struct vg_function_match {
	unsigned char *marked;       /* by function: 1: it matches */
	uint32_t count;              /* number of functions that match */
	uint32_t first;              /* the first of them, or VG_NONE */
};

/* Selects the functions with this name.  If no function has the name, selects the functions whose names contain it.  If
 * no name contains it either, selects the functions whose names match it as an extended regular expression.  Returns 0
 * or -ENOMEM; call vg_function_match_free() in either case. */
int vg_function_match_name(struct vg_function_match *match, const struct vg_frames *frames, const char *name);

/* Selects the functions whose names match the compiled regular expression.  Returns like vg_function_match_name(). */
int vg_function_match_regex(struct vg_function_match *match, const struct vg_frames *frames, const regex_t *regex);
void vg_function_match_free(struct vg_function_match *match);

#endif
