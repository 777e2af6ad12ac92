/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CODE_ROWS_H
#define VG_VIGNETTED_CODE_ROWS_H

#include <stddef.h>

#include "vignetted/target/memory.h"
#include "vignetted/unwind/row.h"

/* Finds rows from instructions, for code without unwind information.  code_rows_<machine>.c implements these functions.
 * Where two paths through a function join, the return address is equally far from the stack pointer on both.  So any
 * path within the function gives the row.  But a path may leave the function unnoticed and give a wrong row.  Therefore
 * several rows are possible; the most likely is first.  All are VG_ROW_PLAIN. */
enum { VG_CODE_ROWS_MAX = 4 };

/* Follows paths from the address to a return instruction.  There the return address is on top of the stack, and the
 * frame pointer has the caller's value.  Nothing marks calls that do not return, so a path continues after such a call,
 * in the next function.  Returns the number of rows. */
size_t vg_code_rows(struct vg_memory *memory, uint64_t address, struct vg_row rows[VG_CODE_ROWS_MAX]);

/* Finds rows in functions that do not return: follows paths to the address from places where a function may begin.
 * At some of these places a function begins for certain.  If the path from the nearest of them switches stacks, sets
 * *stack_replaced to true: the caller is then on another stack.  Returns the number of rows. */
size_t vg_code_rows_backward(struct vg_memory *memory, uint64_t address, struct vg_row rows[VG_CODE_ROWS_MAX],
			     bool *stack_replaced);

/* Whether a row is right for `address`, if `beginning` is the address of the function's first instruction.  Follows the
 * paths from `beginning` to `address`. */
enum vg_code_verdict { VG_CODE_UNDECIDED, VG_CODE_RIGHT, VG_CODE_WRONG };

enum vg_code_verdict vg_code_rows_verify(struct vg_memory *memory, uint64_t beginning, uint64_t address,
					 const struct vg_row *row);

/* Whether a return address is likely at this place on the stack: most compilers align the stack at calls. */
bool vg_code_rows_is_aligned(uint64_t return_address_at);

#endif
