/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_TABLE_H
#define VG_SYMBOLS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/build_id.h"
#include "base/intern.h"
#include "symbols/table/missing_file.h"

/*
 * The symbols of one module, independent of any file format.
 *
 * Addresses are relative to the p_vaddr of the module's first PT_LOAD segment, like the addresses in
 * a profile.  Names are ids in `strings`.  A reader fills the arrays in any order and then calls
 * vg_symbols_finish().  After that, lookups are possible.
 *
 *     struct vg_symbol_frame frames[64];
 *     size_t count = vg_symbols_lookup(&symbols, address, frames, 64);
 *     if (count > 0)
 *             name = frames[0].function, line = frames[0].line;
 */

#define VG_SYMBOLS_NONE UINT32_MAX      /* no such string, file, function or inline */
#define VG_DEBUG_ID_ROOM 48             /* for 32 digits, an age of up to 8 digits and a NUL; see debug_id.h */

struct vg_symbol_file {
	uint32_t name;                  /* VG_SYMBOLS_NONE: a line refers to the file, but no record names it */
};

/* One contiguous range of code.  A function of several ranges has several entries. */
struct vg_symbol_function {
	uint64_t address, size_bytes;
	uint32_t parameter_bytes;
	uint32_t name;
	uint32_t first_line, line_count;
	uint32_t first_inline, inline_count;
	uint32_t outer;                 /* index of the nearest earlier function whose end is above the end of
					   this function, or VG_SYMBOLS_NONE */
	bool is_multiple;               /* other names are at this address too; Breakpad's "m" */
};

/* One row of a function's line table.  The rows of a function are sorted by address and lie inside
 * it. */
struct vg_symbol_row {
	uint64_t address;
	uint32_t size_bytes;
	uint32_t line;                  /* 0: no line is known */
	uint32_t file;                  /* index in files, or VG_SYMBOLS_NONE */
};

struct vg_symbol_range {
	uint64_t address, size_bytes;
};

/* One inlined call.  The calls of a function are in preorder: the parent of a call is the nearest
 * earlier one whose depth is 1 less. */
struct vg_symbol_inline {
	uint32_t depth;                 /* 0: inlined into the function itself */
	uint32_t call_line;
	uint32_t call_file;             /* index in files, or VG_SYMBOLS_NONE */
	uint32_t name;                  /* of the inlined function */
	uint32_t first_range, range_count;
};

/* A symbol of the linker's symbol tables, or a PUBLIC record.  vg_symbols_finish() sets its size so that it does not
 * reach beyond the beginning of the next symbol. */
struct vg_linker_symbol {
	uint64_t address, size_bytes;
	uint32_t parameter_bytes;
	uint32_t name;
	bool is_multiple;
};

/* CFI rows of one range of code: how to find the caller's registers.  The first row holds from the
 * start of the range; each further row holds from its offset on and gives the rules that changed. */
struct vg_symbol_cfi_range {
	uint64_t address, size_bytes;
	uint32_t first_row, row_count;
};

/* `rules` is "REGISTER: EXPRESSION REGISTER: EXPRESSION ...", in the postfix language of Breakpad's
 * STACK CFI records. */
struct vg_symbol_cfi_row {
	uint32_t offset_bytes;          /* from the start of the range */
	uint32_t rules;
};

struct vg_symbols {
	struct vg_intern strings;
	char *module_name, *os, *arch;          /* owned; for example "libc.so.6", "Linux", "x86_64" */
	char *source;                           /* owned; a description of the files that were read */
	char debug_id[VG_DEBUG_ID_ROOM];        /* see symbols/table/debug_id.h */
	unsigned char build_id[VG_BUILD_ID_MAX_BYTES];
	size_t build_id_bytes;                  /* 0: the module has no build id */
	VG_ARRAY(struct vg_symbol_file) files;
	VG_ARRAY(struct vg_symbol_function) functions;
	VG_ARRAY(struct vg_symbol_row) lines;
	VG_ARRAY(struct vg_symbol_inline) inlines;
	VG_ARRAY(struct vg_symbol_range) ranges;        /* of the inlined calls */
	VG_ARRAY(struct vg_linker_symbol) linker_symbols;
	VG_ARRAY(struct vg_symbol_range) sections;      /* ranges of code; no linker symbol crosses their ends */
	bool wants_cfi;                         /* set by the caller if it wants cfi_ranges */
	VG_ARRAY(struct vg_symbol_cfi_range) cfi_ranges; /* sorted, without overlaps */
	VG_ARRAY(struct vg_symbol_cfi_row) cfi_rows;
	uint64_t cfi_rows_left_out;             /* rows that Breakpad's language cannot express */
	struct vg_intern file_index;            /* string id -> index in files */
	struct vg_missing_file missing_file;    /* a dwz file whose names are not in the table */
	uint64_t bad_records, first_bad_line;   /* number of damaged records that a reader
						   skipped; line number of the first one if
						   the file is text, otherwise 0 */
};

struct vg_symbol_frame {
	const char *function;           /* borrowed from the table; never NULL */
	const char *file;               /* borrowed; NULL if unknown */
	uint32_t line;                  /* 0 if unknown */
	bool is_inline;
};

/*
 * Writes the frames at an address, innermost first: inlined calls, then the function itself.  The
 * innermost frame's line is the line at the address.  Each other frame's line is where it calls the
 * frame before it.  Returns the number of frames, at most `max`, or 0 if no symbol covers the
 * address.  If there are more frames, the outermost inlined calls are left out.
 */
size_t vg_symbols_lookup(const struct vg_symbols *symbols, uint64_t address,
			 struct vg_symbol_frame *frames, size_t max);

/* The range of code that has the address: that of the function, or of the linker symbol if there is no function.
 * Returns false if no symbol covers the address. */
bool vg_symbols_range(const struct vg_symbols *symbols, uint64_t address, struct vg_symbol_range *range);

/* Sets *index to the index of the file with that name.  Adds the file if it is new.  Returns 0 or
 * -ENOMEM. */
int vg_symbols_add_file(struct vg_symbols *symbols, const char *name, uint32_t *index);

/* As vg_symbols_add_file(), for a name that is already in `strings`. */
int vg_symbols_add_file_id(struct vg_symbols *symbols, uint32_t name, uint32_t *index);

/* Sets is_multiple of each function and linker symbol if a linker symbol with another name is at the same address
 * (symbols/table/multiple.c).  Call this before you remove linker symbols at the addresses of functions.
 * Returns 0 or -ENOMEM. */
int vg_symbols_mark_multiple(struct vg_symbols *symbols);

/*
 * Makes the table ready for lookups.  Call it once, after all arrays are filled.  Sorts functions,
 * lines, linker symbols and sections.  If functions have the same address and size, keeps the one
 * that was read first, and sets its is_multiple if the names differ.  Sets the sizes of linker
 * symbols.
 *
 * Returns 0; -ENOMEM; -EINVAL: an array has an index that is beyond the end of another array.
 */
int vg_symbols_finish(struct vg_symbols *symbols);

/* The memory that the table needs, about. */
size_t vg_symbols_bytes(const struct vg_symbols *symbols);

/* Frees the contents and leaves an empty table.  `symbols` may be NULL or an empty table. */
void vg_symbols_free(struct vg_symbols *symbols);

#endif
