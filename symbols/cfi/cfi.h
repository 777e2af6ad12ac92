/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_CFI_H
#define VG_SYMBOLS_CFI_H

#include "symbols/cfi/cfi_cursor.h"
#include "symbols/elf/elf_image.h"

/*
 * Call frame information (DWARF 5, section 6.4, and the LSB's .eh_frame) -> the unwinds of the
 * table.  libdw splits the sections into entries; their programs are run here, once from start to
 * end, because libdw runs one anew for each address that it is asked about.  Internal to symbols/.
 */

/* Unwinds from .eh_frame and .debug_frame of `image`, and of `debug` where that is another file.
 * Of two entries for the same code the first stays, .eh_frame before .debug_frame.  Nothing is
 * read for machines whose registers Breakpad does not name.  Rows that the table's language
 * cannot say are counted in unwinds_left_out, damage in bad_records.  0 or -ENOMEM. */
int vg_cfi_read(const struct vg_elf_image *image, const struct vg_elf_image *debug,
		struct vg_symbols *symbols);

/* The rest is shared by symbols/cfi_*.c. */

#define VG_CFI_COLUMNS_MAX 128          /* registers with names, .cfa and .ra */
#define VG_CFI_REGISTERS_MAX 128        /* DWARF's numbers of registers with names */
#define VG_CFI_SAVED_MAX 16             /* states that a program remembers at a time */

enum vg_cfi_kind {
	VG_CFI_UNSPECIFIED,             /* the ABI decides; most often unchanged */
	VG_CFI_UNDEFINED,               /* lost */
	VG_CFI_SAME,                    /* unchanged */
	VG_CFI_AT_OFFSET,               /* saved at .cfa + offset */
	VG_CFI_IS_OFFSET,               /* is .cfa + offset */
	VG_CFI_REGISTER,                /* is reg + offset; what the CFA most often is */
	VG_CFI_AT_EXPRESSION,           /* saved where the expression says */
	VG_CFI_IS_EXPRESSION,           /* is what the expression says */
};

struct vg_cfi_rule {
	enum vg_cfi_kind kind;
	uint32_t expression_bytes;
	union {
		int64_t offset;
		const uint8_t *expression;      /* borrowed from the section */
	};
	uint64_t reg;                           /* DWARF's number */
};

/* One row of the table that a program describes; columns stand in the order of their names. */
struct vg_cfi_state {
	unsigned __int128 used;                 /* columns that were ever set */
	struct vg_cfi_rule rules[VG_CFI_COLUMNS_MAX];
};

struct vg_cfi_names {
	const char *const *names;               /* by DWARF's number; NULL or "": none */
	unsigned count;
};

/* What the registers of a machine are called in Breakpad's records; count 0: unknown to it
 * (cfi_registers.c). */
struct vg_cfi_names vg_cfi_names_of(unsigned machine);

/* A common information entry and what its program sets. */
struct vg_cfi_common {
	uint64_t offset;                        /* in the section; UINT64_MAX: none read yet */
	uint64_t code_factor, return_register;
	int64_t data_factor;
	uint8_t pointer_encoding;               /* DW_EH_PE_* of addresses */
	bool has_size;                          /* augmentation data with their length before them */
	size_t augmentation_bytes;              /* else: what precedes the program in an FDE */
	struct vg_cfi_state initial;
};

struct vg_cfi_reader {
	struct vg_symbols *symbols;
	const struct vg_elf_image *image;       /* where the code is */
	uint64_t budget;                        /* steps left, by the size of the sections */
	unsigned address_bytes;                 /* 4 or 8 */
	bool big_endian;

	/* the section */
	const uint8_t *data;
	size_t data_bytes;
	uint64_t section_address;

	/* columns */
	struct vg_cfi_names names;
	const char *column_names[VG_CFI_COLUMNS_MAX];
	uint8_t column_of[VG_CFI_REGISTERS_MAX]; /* by DWARF's number; UINT8_MAX: none */
	uint8_t cfa_column, ra_column;
	unsigned column_count;
	uint64_t return_register;               /* the columns are laid out for */

	struct vg_cfi_common common;

	/* the program that runs */
	uint64_t location, end;                 /* virtual addresses */
	struct vg_cfi_state state;
	unsigned __int128 dirty;                /* columns touched since the last row */
	struct vg_cfi_state saved[VG_CFI_SAVED_MAX];
	unsigned saved_count;

	/* what was written of it */
	bool is_open;                           /* the last unwind goes on */
	struct vg_cfi_state written;
	char *text;                             /* scratch, VG_CFI_TEXT_MAX */
};

#define VG_CFI_TEXT_MAX 16384
#define VG_CFI_RULE_TEXT_MAX 240        /* a longer expression is left out */

/* -ENOBUFS once the budget is spent. */
int vg_cfi_spend(struct vg_cfi_reader *reader, uint64_t steps);

/* Lays out the columns for a return address in that register (cfi_rule.c). */
void vg_cfi_lay_out(struct vg_cfi_reader *reader, uint64_t return_register);
/* The column of a register, or UINT8_MAX if it has no name. */
uint8_t vg_cfi_column(const struct vg_cfi_reader *reader, uint64_t reg);

/* An address as the entry's encoding has it; *valid is false if it cannot be told (cfi.c). */
uint64_t vg_cfi_address(const struct vg_cfi_reader *reader, struct vg_cfi_cursor *cursor,
			uint8_t encoding, bool *valid);

/* Runs a program from reader->location on, and writes the rows if `writes` (cfi_program.c).
 * -EBADMSG: damaged at reader->location; what was written before it stands.  -ENOBUFS, -ENOMEM. */
int vg_cfi_run(struct vg_cfi_reader *reader, struct vg_cfi_cursor program, bool writes);

/* Writes the reader's state as the row that begins at `address` (cfi_rule.c).  Without .cfa or
 * .ra in it, the unwind ends there and the next row begins another.  0, -ENOBUFS, -ENOMEM. */
int vg_cfi_write_row(struct vg_cfi_reader *reader, uint64_t address);
/* Ends the open unwind, if any, at the address. */
void vg_cfi_write_end(struct vg_cfi_reader *reader, uint64_t address);

/*
 * A DWARF expression as a postfix one (cfi_expression.c).  with_cfa: the CFA is on the stack when
 * it begins, as for registers.  Returns the length of the text, or 0 if it cannot be said.
 */
size_t vg_cfi_translate(const struct vg_cfi_reader *reader, const uint8_t *expression,
			size_t bytes, bool with_cfa, char text[VG_CFI_RULE_TEXT_MAX]);
/* The register's own name, also where it holds the return address; NULL: none. */
const char *vg_cfi_register_name(const struct vg_cfi_reader *reader, uint64_t reg);

#endif
