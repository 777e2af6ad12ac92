/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_READER_H
#define VG_SYMBOLS_BREAKPAD_READER_H

#include "base/infile.h"
#include "symbols/breakpad/breakpad_cursor.h"
#include "symbols/table/answers.h"
#include "symbols/table/table.h"

/*
 * The state of reading one .sym file.  Internal to symbols/.
 *
 * Either everything goes into a table (answers is NULL), or only what the wanted addresses need is
 * kept of a function, and turned into answers when the function ends; the table then holds one
 * function at a time.
 */

/* Files and inline origins have numbers of their own, which may come in any order: each number
 * seen gets a slot, and lines and inlines hold slots until the end. */
struct vg_sym_slots {
	VG_ARRAY(uint32_t) dense;       /* number -> slot, or NONE */
	struct vg_intern sparse;        /* numbers that are far beyond what was counted so far */
	VG_ARRAY(uint32_t) sparse_slots;
	uint32_t count;
};
#define VG_SYM_SLOTS_MAX (UINT32_C(1) << 30)

/* 1 if the number is new, 0 if not, -ENOMEM. */
int vg_sym_slot(struct vg_sym_slots *slots, uint64_t number, uint32_t *slot);
void vg_sym_slots_free(struct vg_sym_slots *slots);

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
	struct vg_intern pairs;         /* struct vg_sym_pair -> index in the answers' functions */
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

/* The slot of a file's or an origin's number.  0 or -ENOMEM. */
int vg_sym_file_slot(struct vg_sym_reader *reader, uint64_t number, uint32_t *slot);
int vg_sym_origin_slot(struct vg_sym_reader *reader, uint64_t number, uint32_t *slot);

/* Records behind their first word; errors as of vg_sym_record(). */
int vg_sym_function_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor);
int vg_sym_inline_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor);
int vg_sym_line_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor);

/* What follows INFO ABSENT -> an all-zero `absent` (symbols/breakpad/breakpad_absent.c).  0; -EBADMSG: not of
 * that form, or the second one; -ENOMEM. */
int vg_sym_absent_take(struct vg_absent *absent, const char *text, const char *end);

/* Reads one record, without its line end.  0, or vg_sym_function_end()'s. */
int vg_sym_record(struct vg_sym_reader *reader, const char *from, const char *end);

/* Reads all of them.  The first must be MODULE: whatever else there is, is no .sym. */
int vg_sym_records(struct vg_sym_reader *reader, const struct vg_infile *file, struct vg_err *err);

size_t vg_sym_wanted_search(struct vg_sym_reader *reader, uint64_t address);

/* The first wanted address of the function that is not below; reader->high if there is none. */
static inline size_t vg_sym_wanted_from(struct vg_sym_reader *reader, uint64_t address)
{
	size_t at = reader->at;

	if (at >= reader->low && at <= reader->high &&
	    (at == reader->low || reader->wanted[at - 1] < address) &&
	    (at == reader->high || reader->wanted[at] >= address))
		return at;
	return vg_sym_wanted_search(reader, address);
}

/* Whether the range holds a wanted address. */
static inline bool vg_sym_is_wanted(struct vg_sym_reader *reader, uint64_t address,
				    uint64_t size_bytes)
{
	size_t at;

	if (reader->wanted == NULL)
		return true;
	at = vg_sym_wanted_from(reader, address);
	return at < reader->high && reader->wanted[at] - address < size_bytes;
}

/* The id of a name in that table of strings; what has none is "<name omitted>".  0 or -ENOMEM. */
int vg_sym_name_keep(struct vg_sym_reader *reader, struct vg_intern *strings,
		     const struct vg_sym_name *name, uint32_t *id);

/* What the records since the last FUNC answer.  0, -ENOMEM, or -EBADMSG if functions overlap
 * beyond all sense. */
int vg_sym_function_end(struct vg_sym_reader *reader);

void vg_sym_reader_free(struct vg_sym_reader *reader);

#endif
