/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CODE_ROW_CACHE_H
#define VG_VIGNETTED_CODE_ROW_CACHE_H

#include "vignetted/unwind/code_rows.h"

/* Caches the results of vg_code_rows_find().  Programs are sampled at the same addresses again and again.
 *
 * The program can replace JIT code at any time, and does not tell the helper.  So the code around the address is read
 * again when the cached rows are used in a new period (VG_CODE_PERIOD_NS).  The rows are dropped if that code has
 * changed. */
struct vg_code_row_cache;

enum { VG_CODE_PERIOD_NS = 250 * 1000 * 1000, VG_CODE_AROUND_BYTES = 16 };

struct vg_code_row_set {
	uint64_t address;            /* 0: empty */
	enum vg_code_search how;
	bool counted;                /* for the caller, see vg_rows_count_jit_frame() */
	struct vg_code_rows found;
	uint64_t period;             /* JIT code: when `around` was last compared */
	unsigned char around[VG_CODE_AROUND_BYTES]; /* JIT code: half before the address, half behind it */
	/* For each row the latest result of vg_code_rows_verify() */
	struct {
		uint64_t pc;         /* the return address; 0: there is no verdict yet */
		uint64_t beginning;  /* of the function that was called; 0: not known */
		enum vg_code_verdict verdict;
	} verified[VG_CODE_ROWS_MAX];
};

/* 0 or -ENOMEM. */
int vg_code_row_cache_open(struct vg_code_row_cache **cache);
void vg_code_row_cache_free(struct vg_code_row_cache *cache);

/* The rows for an address, valid until the next call.  Never NULL.  `jit`: the range of JIT code at the address;
 * NULL: it is code of a module.  `time_ns`: the time of the sample. */
struct vg_code_row_set *vg_code_row_cache_get(struct vg_code_row_cache *cache, struct vg_memory *memory,
					      uint64_t address, enum vg_code_search how,
					      const struct vg_code_range *jit, uint64_t time_ns);

/* vg_code_rows_verify() for set->found.rows[row], cached.  The set is of code of a module.  `pc` is the return address
 * that the row gave, and there is a call before it: the paths begin at the called function.  `caller_jit`: the range of
 * JIT code at `pc`; NULL: code of a module.  Undecided if the call does not show the function. */
enum vg_code_verdict vg_code_row_set_verify(struct vg_code_row_cache *cache, struct vg_code_row_set *set,
					    struct vg_memory *memory, size_t row, uint64_t pc,
					    const struct vg_code_range *caller_jit);

/* Empties the cache.  Call it when modules were loaded or unloaded. */
void vg_code_row_cache_clear(struct vg_code_row_cache *cache);

#endif
