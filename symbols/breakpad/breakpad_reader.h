/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_READER_H
#define VG_SYMBOLS_BREAKPAD_READER_H

#include "symbols/breakpad/breakpad_cursor.h"
#include "symbols/breakpad/breakpad_slots.h"
#include "symbols/table/symbolization.h"
#include "symbols/table/table.h"

/*
 * The state of reading one .sym file.  Internal to symbols/.
 *
 * There are two modes.  If symbolization is NULL, the whole file becomes a table.  Otherwise the
 * table holds one function at a time.  When all records of the function were read, function_done()
 * symbolizes the wanted addresses in the function.
 */

/* The value of call_file for an INLINE record in the old grammar, which has no call file. */
#define VG_SYM_FILE_UNRECORDED (VG_SYMBOLS_NONE - 1)

/* A name, borrowed from the file.  A name gets an id only when the id is needed.  Most names never
 * get one. */
struct vg_sym_name {
	const char *text;               /* NULL: a record refers to the file or origin, but no record names it */
	uint32_t length;
	uint32_t id;                    /* string id, or VG_SYMBOLS_NONE if not set yet.  If the whole file becomes a
					   table, the id of a source file is its index in symbols->files instead. */
};

#define VG_SYM_NAME_MAX_CHARS 65536

/* The last pair that vg_sym_pair_index() looked up. */
struct vg_sym_cached_pair {
	uint32_t name, file, index;     /* index VG_SYMBOLS_NONE: no pair yet */
};

struct vg_sym_origin {
	struct vg_sym_name name;
	uint32_t file;                  /* slot of the origin's source file, or VG_SYMBOLS_NONE.  Only the old grammar
					   has this file. */
	struct vg_sym_cached_pair cached;
};

struct vg_sym_linker_symbol {
	uint64_t address;
	struct vg_sym_name name;
};

struct vg_sym_reader {
	struct vg_symbols *symbols;
	struct vg_symbolization *symbolization; /* borrowed; NULL: the whole file becomes a table */
	/* Called when all records of a wanted function were read; NULL if symbolization is NULL.
	 * Returns 0; -ENOMEM; -EBADMSG: functions overlap too much. */
	int (*function_done)(struct vg_sym_reader *reader);
	const uint64_t *wanted;         /* borrowed; sorted, without duplicates; NULL: everything is wanted */
	size_t wanted_count;
	size_t low, high;               /* the wanted addresses in the function that is being read: [low, high) */
	size_t at;                      /* where the last search in `wanted` ended */
	uint64_t line_number;           /* of the line that is being read, from 1 */
	bool has_module;
	bool in_function, function_wanted;
	bool old_grammar;               /* the last INLINE record was in the old grammar */
	struct vg_sym_slots file_slots, origin_slots;
	VG_ARRAY(struct vg_sym_name) files;      /* by slot */
	VG_ARRAY(struct vg_sym_origin) origins;  /* by slot */
	VG_ARRAY(uint32_t) open_calls;  /* inlined calls around the current one, outermost first */
	VG_ARRAY(char) scratch;         /* one name and its NUL */
	uint64_t cached_number;         /* the last file number for which vg_sym_file_slot() was called */
	uint32_t cached_slot;           /* slot of cached_number; VG_SYMBOLS_NONE: none */

	/* For symbolization only. */
	struct vg_sym_name function_name;
	uint32_t first_line_file;       /* slot of the file of the function's first line, or VG_SYMBOLS_NONE */
	VG_ARRAY(struct vg_sym_linker_symbol) linker_symbols;
	VG_ARRAY(struct vg_symbol_range) function_ranges; /* of all functions, in the order of the file */
	struct vg_intern pairs;         /* name and file -> index in symbolization->functions */
	uint32_t *functions_at;         /* by wanted address: index in function_ranges, or VG_SYMBOLS_NONE */
	struct vg_sym_cached_pair cached; /* the last pair with a string id as its name; see breakpad_pairs.h */
	VG_ARRAY(uint32_t) innermost, next_unset; /* by wanted address of the function; see breakpad_inlines.c */
	VG_ARRAY(uint32_t) parents;     /* by inlined call: the index of the call around it, or VG_SYMBOLS_NONE */
	VG_ARRAY(uint32_t) frames;      /* by inlined call: the index of its call site in symbolization->frames, or
					   VG_SYMBOLS_NONE */
	uint64_t covered_count;         /* number of wanted addresses in functions; an address in two functions counts
					   twice */
};

/* The rest of the record as a name. */
static inline struct vg_sym_name vg_sym_rest(const struct vg_sym_cursor *cursor)
{
	size_t length = (size_t)(cursor->end - cursor->at);

	if (length > VG_SYM_NAME_MAX_CHARS)
		length = VG_SYM_NAME_MAX_CHARS;
	return (struct vg_sym_name){ cursor->at, (uint32_t)length, VG_SYMBOLS_NONE };
}

/* Counts a record that cannot be parsed.  Always returns 0. */
int vg_sym_bad_record(struct vg_sym_reader *reader);

/* Each function sets *slot to the slot for `number`, which is the number of a FILE record or of an
 * INLINE_ORIGIN record.  A new number gets a new slot.  Returns 0 or -ENOMEM. */
int vg_sym_file_slot(struct vg_sym_reader *reader, uint64_t number, uint32_t *slot);
int vg_sym_origin_slot(struct vg_sym_reader *reader, uint64_t number, uint32_t *slot);

/* Frees the reader's own arrays, but not `symbols` and `symbolization`. */
void vg_sym_reader_free(struct vg_sym_reader *reader);

#endif
