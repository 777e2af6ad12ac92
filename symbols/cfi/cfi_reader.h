/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_CFI_READER_H
#define VG_SYMBOLS_CFI_READER_H

#include "symbols/elf/elf_image.h"
#include "symbols/table/budget.h"

/* The state of reading call frame information.  Internal to symbols/. */

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
	struct vg_budget budget;                /* by the size of the sections */
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

#endif
