/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DWARF_H
#define VG_SYMBOLS_DWARF_H

#include <elfutils/libdw.h>

#include "symbols/dwarf/dwarf_bytes.h"
#include "symbols/dwarf/dwarf_companion.h"
#include "symbols/elf/elf_image.h"
#include "symbols/table/demangle.h"

/*
 * Reading DWARF, one unit after another.  A unit's DIE tree is walked once into flat arrays
 * (functions, inlines, ranges), its line program once into rows; then each range of each function
 * becomes one function of the table with its share of both.  Internal to symbols/.
 *
 * Names are resolved last: a function may take its name from a DIE further on or in another unit.
 */

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
		struct vg_dwarf_bytes line, line_str, str;
	} sections;                             /* empty where the file has none */
	struct vg_demangler demangler;
	struct vg_dwarf_companions *companions;
	const struct vg_elf_image *debug;       /* where the DWARF is */
	const struct vg_dwarf_split *split;     /* of the unit, if it is one of a package; else NULL */
	const struct vg_dwarf_language *language; /* of the unit, or of the last one that has one */
	uint64_t budget;                        /* steps left: damaged DWARF can go in circles */

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

/* -ENOBUFS once the budget is spent. */
int vg_dwarf_spend(struct vg_dwarf_reader *reader, uint64_t steps);

/* Counts something that had to be left out. */
void vg_dwarf_lost(struct vg_dwarf_reader *reader);

/* DIE tree of a unit -> functions, inlines, ranges (dwarf_walk.c). */
int vg_dwarf_walk(struct vg_dwarf_reader *reader, Dwarf_Die *unit);

/* Line table of a unit -> rows, and its files (dwarf_line.c). */
int vg_dwarf_read_rows(struct vg_dwarf_reader *reader, Dwarf_Die *unit);

/* The files of a line table, at the cursor, or libdw's (dwarf_file.c).  */
int vg_dwarf_read_files(struct vg_dwarf_reader *reader, struct vg_dwarf_bytes bytes,
			unsigned version, bool is_64bit);
void vg_dwarf_set_files(struct vg_dwarf_reader *reader, Dwarf_Files *files, size_t count);
/* The table's file for a file number of the unit; *file is NONE if there is none such. */
int vg_dwarf_file(struct vg_dwarf_reader *reader, uint64_t number, uint32_t *file);

/* What the unit holds -> the table (dwarf_emit.c).  function.name and inline.name are indices in
 * origins until vg_dwarf_resolve_names(). */
int vg_dwarf_emit(struct vg_dwarf_reader *reader);

/* Code that has lines but no function DIE (dwarf_orphan.c): keeps what vg_dwarf_emit() did not use
 * of a unit's rows; in the end makes functions of the publics there.  Names must be resolved by
 * then, for a public's is a string id; publics are sorted by it. */
int vg_dwarf_keep_orphans(struct vg_dwarf_reader *reader);
int vg_dwarf_adopt_orphans(struct vg_dwarf_reader *reader);

/* The language of a unit, if it has one, is reader->language from here on; the first is that of the
 * first unit that has one: 0 or -ENOBUFS.  And the language of a DIE (dwarf_language.c). */
void vg_dwarf_set_language(struct vg_dwarf_reader *reader, Dwarf_Die *unit);
int vg_dwarf_first_language(struct vg_dwarf_reader *reader);
const struct vg_dwarf_language *vg_dwarf_language(const struct vg_dwarf_reader *reader,
						  const Dwarf_Die *die);

/* dwarf_name.c */
int vg_dwarf_origin(struct vg_dwarf_reader *reader, Dwarf_Die *die, uint32_t *origin);
int vg_dwarf_record_scope(struct vg_dwarf_reader *reader, const Dwarf_Die *die, uint32_t scope);
int vg_dwarf_name(struct vg_dwarf_reader *reader, Dwarf_Die *die, uint32_t *name);
/* True if the DIE has a name from which the scope is demangled. */
bool vg_dwarf_has_linkage_name(const struct vg_dwarf_reader *reader, Dwarf_Die *die);
int vg_dwarf_resolve_names(struct vg_dwarf_reader *reader);

#endif
