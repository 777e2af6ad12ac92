/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_ROWS_H
#define VG_VIGNETTED_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "vignetted/target/modules.h"
#include "vignetted/unwind/code_rows.h"
#include "vignetted/unwind/row.h"

/* What the code around a return address shows about that address. */
enum vg_return_kind {
	VG_RETURN_UNREAD,            /* the code was not read yet */
	VG_RETURN_AFTER_CALL,        /* a call ends there: the usual case */
	VG_RETURN_FUNCTION_BEGIN,    /* a function begins there: the program put the address on the stack itself */
	VG_RETURN_SIGRETURN,         /* sigreturn code: the kernel put the address on the stack for a signal handler */
	VG_RETURN_STACK_BOTTOM,      /* a language runtime put the address at the bottom of a stack */
	VG_RETURN_UNKNOWN,           /* none of these */
};

/* The row for an address. */
struct vg_found_row {
	uint64_t address;
	uint32_t module;             /* index; VG_NONE: JIT code */
	uint32_t place;              /* index in vg_rows.cached; VG_NONE: the row is not cached */
	struct vg_row row;
};

/*
 * The distance in bytes from stack pointer to frame pointer where a function makes a call.  It is constant unless the
 * function allocates stack dynamically (vg_code_frame_is_constant()).  It is learned from stopped threads.  Once it is
 * known, a waiting thread's frame pointer follows from its stack pointer, and the thread needs no stop.
 */
struct vg_frame_size {
	uint32_t bytes : 24;
	uint32_t seen : 2;           /* enum vg_frame_seen */
	uint32_t proven : 1;         /* the function's code was checked as well.  Reading code is expensive, so it is
					checked only when a known size is first used. */
};

/* How many frames had this size.  VG_FRAME_KNOWN: two or more, and no frame had another size. */
enum vg_frame_seen { VG_FRAME_NONE, VG_FRAME_ONCE, VG_FRAME_KNOWN, VG_FRAME_VARIES };

/* Learns from one frame whose stack pointer and frame pointer are known. */
void vg_frame_size_note(struct vg_frame_size *size, uint64_t sp, uint64_t fp);

struct vg_cached_row {
	uint64_t address;            /* 0: empty; address 0 is not cached */
	uint32_t module;             /* index */
	uint8_t return_kind;         /* enum vg_return_kind of the return address, address + 1 */
	struct vg_row row;
	struct vg_frame_size size;   /* for rows that need the frame pointer */
};

/* The number of new rows that one walk can cache. */
enum { VG_ROWS_NEW_MAX = 256 };

/* Rows by address, decoded on demand and cached in a direct-mapped table.  Decoding takes microseconds, and programs
 * are at the same addresses again and again.  The key is address and module.  So the rows of an unloaded module can be
 * used for older samples, and when the module is loaded again. */
struct vg_rows {
	struct vg_modules *modules;  /* the caller's */
	struct vg_cached_row *cached; /* owned */
	struct vg_code_row_cache *code_rows; /* owned; rows of code without unwind information */
	uint64_t generation;         /* modules->generation when code_rows was filled */
	uint32_t new_places[VG_ROWS_NEW_MAX]; /* indices in `cached`: rows that the latest walk decoded */
	size_t new_count;
	uint64_t decoded;            /* statistic: rows that were not in the table */
	struct vg_row sigreturn;     /* the row of sigreturn code without unwind information */
	uint64_t jit_frames, jit_frames_with_fp; /* return addresses in JIT code whose rows were found from
					instructions; how many of their frames have a frame pointer */
};

/* 0 or -ENOMEM.  Call vg_rows_free() in either case. */
int vg_rows_open(struct vg_rows *rows, struct vg_modules *modules);
void vg_rows_free(struct vg_rows *rows);

/* Call it when a walk begins. */
void vg_rows_walk_begin(struct vg_rows *rows);

/* Drops the rows that the latest walk decoded: vg_unwinder_walk_discard() says when. */
void vg_rows_walk_discard(struct vg_rows *rows);

/* Drops all rows. */
void vg_rows_clear(struct vg_rows *rows);

/* Finds the row for an address.  False: no code is known at the address. */
bool vg_rows_get(struct vg_rows *rows, uint64_t address, struct vg_found_row *found);

/* The frame size that was learned for a row.  NULL: the row is not cached, and has none. */
struct vg_frame_size *vg_rows_frame_size(const struct vg_rows *rows, const struct vg_found_row *found);

/* The rows that the instructions give for an address without unwind information (code_rows.h).  NULL: the module was
 * unloaded. */
struct vg_code_row_set *vg_rows_from_code(struct vg_rows *rows, uint32_t module, uint64_t address,
					  enum vg_code_search how);

/* Whether the code at the address switches to another stack at once (vg_code_rows_replaces_stack()). */
bool vg_rows_replaces_stack(struct vg_rows *rows, uint64_t address);

/* What the code shows about the return address found->address + 1. */
enum vg_return_kind vg_rows_return_kind(struct vg_rows *rows, const struct vg_found_row *found);

/* Whether a call ends at the address.  Reads JIT code through the cache, too: for scans of many words. */
bool vg_rows_is_after_call(struct vg_rows *rows, uint64_t pc);

#endif
