/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_READER_H
#define VG_SYMBOLS_BREAKPAD_READER_H

#include "symbols/breakpad/breakpad_cursor.h"
#include "symbols/breakpad/breakpad_slots.h"
#include "symbols/table/answers.h"
#include "symbols/table/table.h"

/*
 * The state of reading one .sym file.  Internal to symbols/.
 *
 * Either everything goes into a table (answers is NULL), or only what the wanted addresses need is
 * kept of a function, and turned into answers when the function ends; the table then holds one
 * function at a time.
 */

/* call_file of an inline in the old grammar, which does not say it. */
#define VG_SYM_FILE_OLD (VG_SYMBOLS_NONE - 1)

/* A name as it stands in the file: most of them nobody asks for. */
struct vg_sym_name {
	const char *text;               /* NULL: cited, but never named */
	uint32_t length;
	uint32_t id;                    /* string, or in a table file; NONE: not yet one */
};

#define VG_SYM_NAME_MAX_CHARS 65536

/* A function in the answers, as it was looked up. */
struct vg_sym_look {
	uint32_t name, file, index;     /* index NONE: none yet */
};

struct vg_sym_origin {
	struct vg_sym_name name;
	uint32_t file;                  /* slot, in the old grammar; or NONE */
	struct vg_sym_look last;
};

struct vg_sym_public {
	uint64_t address;
	struct vg_sym_name name;
};

struct vg_sym_reader {
	struct vg_symbols *symbols;
	struct vg_answers *answers;     /* NULL: everything goes into symbols */
	/* Called when all records of a wanted function were read, to turn them into answers; NULL without
	 * answers.  0, -ENOMEM, or -EBADMSG if functions overlap too much. */
	int (*on_function)(struct vg_sym_reader *reader);
	const uint64_t *wanted;         /* sorted and unique, or NULL for everything */
	size_t wanted_count;
	size_t low, high;               /* those in the function that is read */
	size_t at;                      /* where the search was last */
	uint64_t line_number;           /* of the text, from 1 */
	bool has_module;
	bool in_function, keeps_function;
	bool old_inlines;               /* the last INLINE was of the old grammar */
	struct vg_sym_slots file_slots, origin_slots;
	VG_ARRAY(struct vg_sym_name) files;      /* by slot */
	VG_ARRAY(struct vg_sym_origin) origins;  /* by slot */
	VG_ARRAY(uint32_t) open_calls;  /* of one function, outermost first */
	VG_ARRAY(char) scratch;         /* a name with its NUL */
	uint64_t cached_number;         /* the file number of the last line record */
	uint32_t cached_slot;           /* its slot; NONE: nothing cached */

	/* For answers only (symbols/breakpad/breakpad_answer.c). */
	struct vg_sym_name function_name;
	uint32_t first_file;            /* slot of the function's first line, or NONE */
	VG_ARRAY(struct vg_sym_public) publics;
	VG_ARRAY(struct vg_symbol_range) covered;  /* by functions, in the order of the file */
	struct vg_intern pairs;         /* name and file -> index in the answers' functions */
	uint32_t *owners;               /* by wanted address: index in covered, or NONE */
	struct vg_sym_look last;        /* the last look into them, but for origins */
	VG_ARRAY(uint32_t) innermost, skip; /* by wanted address of the function */
	VG_ARRAY(uint32_t) parents, frames; /* by call of the function: index in the calls, and
	                                       of the call site in the answers' frames; or NONE */
	uint64_t answered;              /* addresses, each as often as a function covered it */
};

/* The rest of the record, as it stands in the file. */
static inline struct vg_sym_name vg_sym_rest(const struct vg_sym_cursor *cursor)
{
	size_t length = (size_t)(cursor->end - cursor->at);

	if (length > VG_SYM_NAME_MAX_CHARS)
		length = VG_SYM_NAME_MAX_CHARS;
	return (struct vg_sym_name){ cursor->at, (uint32_t)length, VG_SYMBOLS_NONE };
}

/* Counts it; 0. */
int vg_sym_bad_record(struct vg_sym_reader *reader);

/* The slot of a file's or an inline origin's number, which may be new.  0 or -ENOMEM. */
int vg_sym_file_slot(struct vg_sym_reader *reader, uint64_t number, uint32_t *slot);
int vg_sym_origin_slot(struct vg_sym_reader *reader, uint64_t number, uint32_t *slot);

/* Frees the reader's own arrays, not symbols or answers. */
void vg_sym_reader_free(struct vg_sym_reader *reader);

#endif
