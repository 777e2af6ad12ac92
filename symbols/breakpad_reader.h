/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_READER_H
#define VG_SYMBOLS_BREAKPAD_READER_H

#include "symbols/table.h"

/*
 * The state of reading one .sym file.  Internal to symbols/.
 *
 * Files and inline origins have numbers of their own, which may come in any order: each number
 * seen gets a slot, and lines and inlines hold slots until vg_sym_reader_resolve().
 */
/* call_file of an inline in the old grammar, which does not say it. */
#define VG_SYM_FILE_OLD (VG_SYMBOLS_NONE - 1)

struct vg_sym_origin {
	uint32_t name;          /* string id, or NONE */
	uint32_t file;          /* slot, in the old grammar; or NONE */
};

struct vg_sym_reader {
	struct vg_symbols *symbols;
	const uint64_t *wanted;         /* sorted, or NULL for everything */
	size_t wanted_count;
	uint64_t line_number;           /* of the text, from 1 */
	bool has_module;
	bool in_function, keeps_function;
	struct vg_intern file_slots;    /* file number -> slot */
	VG_ARRAY(uint32_t) slot_files;  /* slot -> index in the table's files, or NONE */
	struct vg_intern origin_slots;  /* origin number -> slot */
	VG_ARRAY(struct vg_sym_origin) origins;
	VG_ARRAY(uint32_t) open_calls;  /* of one function, outermost first */
	VG_ARRAY(char) scratch;         /* a name with its NUL */
	uint64_t cached_number;         /* the file number of the last line record */
	uint32_t cached_slot;           /* its slot; NONE: nothing cached */
};

/* Reads one record, without its line end.  0 or -ENOMEM. */
int vg_sym_record(struct vg_sym_reader *reader, const char *from, const char *end);

/* Slots -> files and names. */
int vg_sym_reader_resolve(struct vg_sym_reader *reader);

#endif
