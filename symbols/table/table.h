/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_TABLE_H
#define VG_SYMBOLS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/build_id.h"
#include "base/intern.h"
#include "symbols/table/absent.h"

/*
 * The symbols of one module, in no file's format.
 *
 * Every address is relative to the p_vaddr of the module's first PT_LOAD segment, so that a
 * profile's module-relative address is looked up as it stands.  Text lives in `strings`;
 * names below are its ids.  Readers fill the arrays in any order and call vg_symbols_finish().
 */

#define VG_SYMBOLS_NONE UINT32_MAX      /* no such string, file, function or inline */
#define VG_DEBUG_ID_ROOM 48             /* 32 digits, the age, NUL, and room for a longer age */

struct vg_symbol_file {
	uint32_t name;                  /* VG_SYMBOLS_NONE: cited, but never named */
};

/* One contiguous piece of code; a function of several ranges is several of these. */
struct vg_symbol_function {
	uint64_t address, size_bytes;
	uint32_t parameter_bytes;
	uint32_t name;
	uint32_t first_line, line_count;
	uint32_t first_inline, inline_count;
	uint32_t outer;                 /* nearest earlier one that ends later, or NONE */
	bool multiple;                  /* other symbols share this code */
};

/* Sorted by address within a function, and clipped to it. */
struct vg_symbol_row {
	uint64_t address;
	uint32_t size_bytes;
	uint32_t line;                  /* 0: the compiler says no line */
	uint32_t file;                  /* index in files, or VG_SYMBOLS_NONE */
};

struct vg_symbol_range {
	uint64_t address, size_bytes;
};

/* A call that was inlined.  Those of a function stand parent first, children after it: the
 * parent of one is the nearest before it whose depth is one less. */
struct vg_symbol_inline {
	uint32_t depth;                 /* 0: inlined into the function itself */
	uint32_t call_line;
	uint32_t call_file;             /* index in files, or VG_SYMBOLS_NONE */
	uint32_t name;                  /* of the function that was inlined */
	uint32_t first_range, range_count;
};

/* A linker symbol; its size is what vg_symbols_finish() could bound it by. */
struct vg_symbol_public {
	uint64_t address, size_bytes;
	uint32_t parameter_bytes;
	uint32_t name;
	bool multiple;
};

/* How to find the caller's registers, for one stretch of code.  The first row holds where the
 * stretch begins, each further one from where it stands on, with what changed. */
struct vg_symbol_unwind {
	uint64_t address, size_bytes;
	uint32_t first_row, row_count;
};

/* Rules have the form "REGISTER: EXPRESSION REGISTER: EXPRESSION ...", in the postfix language
 * that Breakpad's STACK CFI records are written in. */
struct vg_symbol_unwind_row {
	uint32_t offset_bytes;          /* from the unwind's address */
	uint32_t rules;
};

struct vg_symbols {
	struct vg_intern strings;
	char *module_name, *os, *arch;          /* owned; "Linux", "x86_64" */
	char *source;                           /* owned; where they came from, for people */
	char debug_id[VG_DEBUG_ID_ROOM];        /* Breakpad's, see symbols/table/debug_id.h */
	unsigned char build_id[VG_BUILD_ID_MAX_BYTES];
	size_t build_id_bytes;                  /* 0: the module has none */
	VG_ARRAY(struct vg_symbol_file) files;
	VG_ARRAY(struct vg_symbol_function) functions;
	VG_ARRAY(struct vg_symbol_row) lines;
	VG_ARRAY(struct vg_symbol_inline) inlines;
	VG_ARRAY(struct vg_symbol_range) ranges;        /* of inlines */
	VG_ARRAY(struct vg_symbol_public) publics;
	VG_ARRAY(struct vg_symbol_range) sections;      /* of code with names; they bound the publics */
	bool wants_unwinds;                     /* set by who wants them; not read otherwise */
	VG_ARRAY(struct vg_symbol_unwind) unwinds;      /* sorted, without overlaps */
	VG_ARRAY(struct vg_symbol_unwind_row) unwind_rows;
	uint64_t unwinds_left_out;              /* rows that the language cannot say */
	struct vg_intern file_index;            /* string id -> index in files */
	struct vg_absent absent;                /* names that are in it are lost */
	uint64_t bad_records, first_bad_line;   /* what a reader had to leave out; 0: nothing */
};

struct vg_symbol_frame {
	const char *function;           /* borrowed from the table; never NULL */
	const char *file;               /* borrowed; NULL if unknown */
	uint32_t line;                  /* 0 if unknown */
	bool is_inline;
};

/*
 * The frames at an address, innermost first.  The last is the function itself; an outer frame's
 * line is where its callee was called.  Returns how many were written, at most max: of a deeper
 * stack the frames next to the function are left out.  0 when nothing covers the address.
 */
size_t vg_symbols_lookup(const struct vg_symbols *symbols, uint64_t address,
			 struct vg_symbol_frame *frames, size_t max);

/* The index of the file of that name, added if it is new.  0 or -ENOMEM. */
int vg_symbols_add_file(struct vg_symbols *symbols, const char *name, uint32_t *index);

/* The same for a string of the table. */
int vg_symbols_add_file_id(struct vg_symbols *symbols, uint32_t name, uint32_t *index);

/* Marks the functions, and the publics, at whose address there are publics of other names: one
 * name stands for several there.  Before publics are dropped in favour of functions.  0 or -ENOMEM
 * (symbols/table/multiple.c). */
int vg_symbols_mark_multiple(struct vg_symbols *symbols);

/* Sorts functions, their lines, publics and sections, drops functions that occur twice (same
 * address and name; of those of other names for the same stretch, such as the linker folds, the
 * first read stays, marked), and bounds the publics.  Call once after filling; lookups need it.
 * 0, -ENOMEM, or -EINVAL if an index in the arrays points outside them. */
int vg_symbols_finish(struct vg_symbols *symbols);

/* Frees what it holds and makes it an empty table; NULL and an all-zero one are allowed. */
void vg_symbols_free(struct vg_symbols *symbols);

#endif
