/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CODE_ROWS_H
#define VG_VIGNETTED_CODE_ROWS_H

#include <stddef.h>

#include "vignetted/unwind/code_path.h"
#include "vignetted/unwind/code_reader.h"

/* Finds rows from instructions, for code without unwind information.  Where two paths through a function join, the
 * return address is at the same distance from the stack pointer on both.  So it does not matter which path is followed,
 * as long as it stays in the function.  But a call that does not return looks like any call: the path goes on into the
 * next function, and gives a wrong row.  So there may be several rows.  All are VG_ROW_PLAIN. */
enum { VG_CODE_ROWS_MAX = 4 };

/* How to search, from the cheapest way to the most expensive one. */
enum vg_code_search {
	/* Follows paths from the address to a return instruction.  There the return address is on top of the stack, and
	 * the frame pointer has the caller's value. */
	VG_CODE_FIRST_RETURN,        /* ends with the first row that is not doubtful, or as the next one */
	VG_CODE_ALL_RETURNS,         /* ends when all paths have ended, or a bound is reached */
	/* Follows paths to the address from places where a function may begin, for functions that do not return. */
	VG_CODE_FROM_BEGINNING,
	VG_CODE_SEARCHES,
};

struct vg_code_rows {
	struct vg_row rows[VG_CODE_ROWS_MAX];
	size_t count;
	size_t sure_count;           /* the rows after the first sure_count are doubtful: their paths may have left the
					function */
	uint64_t jump_out;           /* JIT code: the first jump target outside its range, or 0 */
	bool stack_replaced;         /* VG_CODE_FROM_BEGINNING: the path from the nearest likely beginning switches
					stacks; the caller is on another stack */
};

/* Memory for a search, of any contents.  It is not on the stack, because the helper inherits the limit of stacks
 * (RLIMIT_STACK), which may be small. */
enum { VG_CODE_PATHS_MAX = 256, VG_CODE_SEEN_LOG = 13 };
struct vg_code_space {
	struct vg_code_path paths[VG_CODE_PATHS_MAX];
	uint64_t seen[1 << VG_CODE_SEEN_LOG];
};

/* Finds the rows of an address.  In JIT code, which has data between its functions, VG_CODE_FROM_BEGINNING considers
 * only likely beginnings. */
void vg_code_rows_find(struct vg_code_space *space, struct vg_code_reader *reader, uint64_t address,
		       enum vg_code_search how, struct vg_code_rows *found);

/* Whether a row is right for `address`, if `beginning` is the address of the function's first instruction.  Follows the
 * paths from `beginning` to `address`. */
enum vg_code_verdict vg_code_rows_verify(struct vg_code_space *space, struct vg_code_reader *reader,
					 uint64_t beginning, uint64_t address, const struct vg_row *row);

/* Whether the code at the address switches to another stack before its first call, branch or return. */
bool vg_code_rows_replaces_stack(struct vg_code_reader *reader, uint64_t address);

/* Whether this may be the CFA of a function that has been called, or the distance to it from the stack pointer of a
 * function that makes a call: most compilers align the stack at calls. */
bool vg_code_rows_is_aligned(uint64_t cfa);

#endif
