/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CODE_ROWS_H
#define VG_VIGNETTED_CODE_ROWS_H

#include <stddef.h>

#include "vignetted/target/memory.h"
#include "vignetted/target/ranges.h"
#include "vignetted/unwind/code_path.h"

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

/* Reads the target's code piece by piece. */
struct vg_code_reader {
	struct vg_memory *memory;    /* the caller's */
	const struct vg_code_range *jit; /* the caller's; the range of JIT code that is read; NULL: code of a module */
	uint64_t piece_at;           /* the address of `piece` */
	size_t piece_bytes;
	unsigned char piece[256];
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

enum { VG_CODE_PERIOD_NS = 250 * 1000 * 1000, VG_CODE_AROUND_BYTES = 16, VG_CODE_SETS_LOG = 11 };

struct vg_code_row_set {
	uint64_t address;            /* 0: empty */
	enum vg_code_search how;
	bool counted;                /* for the caller: the frame is in vg_rows.jit_frames */
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

/* Caches the results of vg_code_rows_find().  Programs are sampled at the same addresses again and again.
 *
 * The program can replace JIT code at any time, and the helper gets no notice.  So the code around the address is read
 * again when the cached rows are used in a new period (VG_CODE_PERIOD_NS).  The rows are dropped if that code has
 * changed.
 *
 * An all-zero cache is empty. */
struct vg_code_row_cache {
	struct vg_code_row_set sets[2 << VG_CODE_SETS_LOG]; /* two places for each hash value: the latest result, and
					the one before */
	struct vg_code_space space;
};

/* The rows for an address, valid until the next call.  Never NULL.  `jit`: the range of JIT code at the address;
 * NULL: it is code of a module.  `time_ns`: the time of the sample. */
struct vg_code_row_set *vg_code_row_cache_get(struct vg_code_row_cache *cache, struct vg_memory *memory,
					      uint64_t address, enum vg_code_search how,
					      const struct vg_code_range *jit, uint64_t time_ns);

/* vg_code_rows_verify() for set->found.rows[row], cached.  The set is of code of a module.  `pc` is the return address
 * that the row gave, and there is a call before it, perhaps in JIT code (pc_is_jit): the paths begin at the called
 * function.  Undecided if the call does not show the function. */
enum vg_code_verdict vg_code_row_set_verify(struct vg_code_row_cache *cache, struct vg_code_row_set *set,
					    struct vg_memory *memory, size_t row, uint64_t pc, bool pc_is_jit);

/* Empties the cache.  Call it when modules were loaded or unloaded. */
void vg_code_row_cache_clear(struct vg_code_row_cache *cache);

#endif
