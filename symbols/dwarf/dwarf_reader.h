/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_READER_H
#define VG_SYMBOLS_DWARF_READER_H

#include <elfutils/libdw.h>

#include "symbols/dwarf/dwarf_companion.h"
#include "symbols/elf/elf_image.h"
#include "symbols/table/budget.h"
#include "symbols/table/demangle.h"

/* The state of reading DWARF.  Internal to symbols/. */

/* One function DIE. */
struct vg_dwarf_function {
	uint32_t origin;                        /* index in origins */
	uint32_t first_range, range_count;      /* in ranges, virtual addresses */
	uint32_t first_inline, last_inline;     /* list through vg_dwarf_inline.next, or NONE */
};

/* One inlined call. */
struct vg_dwarf_inline {
	uint32_t next;                          /* of the same function, in the tree's order */
	uint32_t parent;                        /* index in inlines, or NONE */
	uint32_t depth, origin;
	uint32_t call_line, call_file;          /* file: index in the table's files, or NONE */
	uint32_t first_range, range_count;
	uint64_t hull_low, hull_high;           /* scratch of the writer */
};

/* One row of the line table up to the next, by virtual address. */
struct vg_dwarf_row {
	uint64_t low, high;
	uint32_t line, file;
	bool is_used;                           /* by a function */
};

/* A DIE that gives a name. */
struct vg_dwarf_origin {
	Dwarf_Die die;
	uint32_t name;                          /* string id, or NONE before it is resolved */
	uint32_t plain;                         /* string id of DW_AT_name, where the name is made from it
						   and not from the linker's; or NONE */
};

/* An entry of a line table's list of files; borrowed from its section. */
struct vg_dwarf_file_name {
	const char *name;                       /* or NULL */
	uint64_t directory;                     /* index in directories */
};

/* How a language's functions are named (dwarf_language.c). */
struct vg_dwarf_language {
	const char *separator;          /* between a scope and what is in it */
	bool from_tree;                 /* the scope is not in any name that is demangled here */
	bool within_functions;          /* a function is a scope of those within it */
	bool is_ada;                    /* names are encoded as GNAT does it */
};

struct vg_dwarf_reader {
	struct vg_symbols *symbols;
	const struct vg_elf_image *image;       /* where the code is */
	Dwarf *dwarf;
	struct {
		struct vg_elf_bytes line, line_str, str;
	} sections;                             /* empty where the file has none */
	struct vg_demangler demangler;
	struct vg_dwarf_companions *companions;
	const struct vg_elf_image *debug;       /* where the DWARF is */
	const struct vg_dwarf_split *split;     /* of the unit, if it is one of a package; else NULL */
	const struct vg_dwarf_language *language; /* of the unit, or of the last one that has one */
	struct vg_budget budget;

	/* by unit */
	VG_ARRAY(struct vg_dwarf_function) functions;
	VG_ARRAY(struct vg_dwarf_inline) inlines;
	VG_ARRAY(struct vg_symbol_range) ranges; /* address, and the size up to the end */
	VG_ARRAY(struct vg_dwarf_row) rows;
	const char *directory;                  /* of the compilation, or NULL */
	VG_ARRAY(const char *) directories;     /* of the line table */
	VG_ARRAY(struct vg_dwarf_file_name) file_names;
	Dwarf_Files *files;                     /* instead of these two, in a split unit */
	VG_ARRAY(uint32_t) file_map;            /* unit's file number -> table's, or NONE */

	/* over all units */
	VG_ARRAY(struct vg_dwarf_origin) origins;
	struct vg_intern origin_index;          /* address of a DIE -> index in origins */
	VG_ARRAY(uint32_t) scopes;              /* string id; ends in the separator */
	struct vg_intern scope_index;           /* address of a DIE -> index in scopes */
	struct vg_intern entries;               /* lowest address of each function */
	VG_ARRAY(struct vg_dwarf_row) orphans;  /* rows of no function */
};

#endif
