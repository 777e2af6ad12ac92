/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CODE_ROW_CACHE_H
#define VG_VIGNETTED_CODE_ROW_CACHE_H

#include "vignetted/unwind/code_rows.h"

/* Caches the results of vg_code_rows() and vg_code_rows_backward() by address.  For one address
 * vg_code_rows() takes 3 us, and vg_code_rows_backward() 160 us (measured with busybox).  Programs are sampled at the
 * same addresses again and again. */
struct vg_code_row_cache;

struct vg_code_row_set {
	uint64_t address;            /* 0: empty */
	bool is_backward;            /* the rows are from vg_code_rows_backward() */
	size_t count;
	struct vg_row rows[VG_CODE_ROWS_MAX];
	bool stack_replaced;         /* from vg_code_rows_backward() */
	/* The latest result of vg_code_rows_verify(), and its arguments */
	uint64_t verified_beginning; /* the function's first address; 0: there is no verdict yet */
	size_t verified_row;         /* index in `rows` */
	enum vg_code_verdict verdict;
};

/* 0 or -ENOMEM. */
int vg_code_row_cache_open(struct vg_code_row_cache **cache);
void vg_code_row_cache_free(struct vg_code_row_cache *cache);

/* The rows for an address, valid until the next call.  Never NULL. */
struct vg_code_row_set *vg_code_row_cache_get(struct vg_code_row_cache *cache, struct vg_memory *memory,
					      uint64_t address, bool is_backward);

/* Whether `pc` and `sp`, which set->rows[row] gave, are a caller's.  A row can be wrong: a path through the
 * instructions may continue after a call that does not return, in the next function.  There are three checks:
 * - A call instruction must end at `pc`.
 * - vg_code_rows_verify() follows the paths from the beginning of the called function.  The row is wrong if no path
 *   leads to set->address, or if the path gives another row.
 * - If vg_code_rows_verify() cannot decide, vg_code_rows_is_aligned() must be true for the return address's place. */
bool vg_code_row_set_finds_caller(struct vg_code_row_set *set, struct vg_memory *memory, size_t row, uint64_t pc,
				  uint64_t sp);

/* Empties the cache.  Call it when modules were loaded or unloaded. */
void vg_code_row_cache_clear(struct vg_code_row_cache *cache);

#endif
