/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_READER_H
#define VG_SYMBOLS_DWARF_READER_H

#include <elfutils/libdw.h>

#include "symbols/dwarf/dwarf_companion.h"
#include "symbols/elf/elf_image.h"
#include "symbols/table/work_limit.h"
#include "symbols/table/demangle.h"

/* The state of reading DWARF.  Internal to symbols/.  NONE is VG_SYMBOLS_NONE. */

/* A function DIE that has code. */
struct vg_dwarf_function {
	uint32_t origin;                        /* index in origins */
	uint32_t first_range, range_count;      /* in ranges */
	uint32_t first_inline, last_inline;     /* list by vg_dwarf_inline.next; or NONE */
};

/* One inlined call. */
struct vg_dwarf_inline {
	uint32_t next;                          /* next of the same function, in preorder; or NONE */
	uint32_t parent;                        /* index in inlines; NONE: inlined into the function */
	uint32_t depth, origin;
	uint32_t call_line, call_file;          /* call_file: index in the table's files, or NONE */
	uint32_t first_range, range_count;
	uint64_t extent_low, extent_high;       /* virtual addresses: lowest and highest address of this call and of
						   the calls inside it, in one range of the function.  dwarf_emit.c
						   sets them again for each range. */
};

/* A row of the line table; virtual addresses. */
struct vg_dwarf_row {
	uint64_t low, high;
	uint32_t line, file;                    /* file: index in the table's files, or NONE */
	bool is_used;                           /* a function covers this row */
};

/* A DIE that names a function or an inlined call. */
struct vg_dwarf_origin {
	Dwarf_Die die;
	uint32_t name;                          /* string id; NONE: not resolved yet */
	uint32_t die_name;                      /* string id of DW_AT_name, if the name is made from
						   it and not from the linkage name; or NONE */
};

/* A file of a line table; borrowed from the section. */
struct vg_dwarf_file_name {
	const char *name;                       /* may be NULL */
	uint64_t directory;                     /* index in directories */
};

/* How functions of a language are named (dwarf_language.c). */
struct vg_dwarf_language {
	const char *separator;          /* between a scope and a name in it */
	bool scope_from_tree;           /* take the scope from the DIE tree, not from the linkage name */
	bool functions_are_scopes;      /* a function is the scope of the functions in it */
	bool is_ada;                    /* names are in GNAT's encoding */
};

struct vg_dwarf_reader {
	struct vg_symbols *symbols;
	const struct vg_elf_image *image;       /* borrowed; the file with the code */
	Dwarf *dwarf;                           /* owned */
	struct {
		struct vg_elf_bytes line, line_str, str;
	} sections;                             /* empty if missing */
	struct vg_demangler demangler;
	struct vg_dwarf_companions *companions;
	const struct vg_elf_image *debug;       /* borrowed; the file with the DWARF */
	const struct vg_dwarf_split *split;     /* of a split unit; else NULL */
	const struct vg_dwarf_language *language; /* of the unit; or of the last unit that had one */
	struct vg_work_limit work_limit;
	uint64_t dies_walked;

	/* of one unit */
	VG_ARRAY(struct vg_dwarf_function) functions;
	VG_ARRAY(struct vg_dwarf_inline) inlines;
	VG_ARRAY(struct vg_symbol_range) ranges; /* virtual addresses */
	VG_ARRAY(struct vg_dwarf_row) rows;
	const char *directory;                  /* DW_AT_comp_dir, or NULL */
	VG_ARRAY(const char *) directories;     /* of the line table */
	VG_ARRAY(struct vg_dwarf_file_name) file_names;
	Dwarf_Files *files;                     /* in a split unit, replaces `directories` and `file_names` */
	VG_ARRAY(uint32_t) file_map;            /* unit's file number -> index in the table's files, or NONE */

	/* of all units */
	VG_ARRAY(struct vg_dwarf_origin) origins;
	struct vg_intern origin_index;          /* pointer to a DIE -> index in origins */
	VG_ARRAY(uint32_t) scopes;              /* string ids; a scope ends with the separator */
	struct vg_intern scope_index;           /* pointer to a DIE -> index in scopes */
	struct vg_intern entry_addresses;       /* the lowest address of each function */
	VG_ARRAY(struct vg_dwarf_row) unused_rows; /* rows that no function covers */
};

#endif
