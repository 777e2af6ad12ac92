/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_CFI_READER_H
#define VG_SYMBOLS_CFI_READER_H

#include "symbols/elf/elf_image.h"
#include "symbols/table/work_limit.h"

/* The state of reading call frame information.  Internal to symbols/. */

#define VG_CFI_COLUMNS_MAX 128          /* columns of a row: .cfa, .ra, and the registers that have names */
#define VG_CFI_REGISTERS_MAX 128        /* DWARF register numbers */
#define VG_CFI_SAVED_MAX 16             /* depth of DW_CFA_remember_state */

/* How to compute a value: the CFA, or the value that a register has in the caller. */
enum vg_cfi_kind {
	VG_CFI_UNSPECIFIED,             /* there is no rule: the value is assumed to be unchanged */
	VG_CFI_UNDEFINED,               /* the value cannot be recovered */
	VG_CFI_SAME_VALUE,              /* the value is unchanged */
	VG_CFI_OFFSET,                  /* the value is saved at .cfa + offset */
	VG_CFI_VAL_OFFSET,              /* the value is .cfa + offset */
	VG_CFI_REGISTER,                /* the value is reg + offset: the usual rule of the CFA */
	VG_CFI_EXPRESSION,              /* the value is saved at the address that the expression gives */
	VG_CFI_VAL_EXPRESSION,          /* the value is the result of the expression */
};

struct vg_cfi_rule {
	enum vg_cfi_kind kind;
	uint32_t expression_bytes;
	union {
		int64_t offset;
		const uint8_t *expression;      /* borrowed from the section */
	};
	uint64_t reg;                           /* DWARF register number */
};

/* One row of the table that a CIE or FDE describes.  The instructions (DW_CFA_*) of a CIE or FDE are called the
 * program of the CIE or FDE.  `rules` is indexed by column. */
struct vg_cfi_state {
	unsigned __int128 used;                 /* bit mask of the columns whose rules were set */
	struct vg_cfi_rule rules[VG_CFI_COLUMNS_MAX];
};

struct vg_cfi_register_table {
	const char *const *names;               /* by DWARF register number; NULL or "": no name */
	unsigned count;
};

/* A CIE and the row that its program sets up. */
struct vg_cfi_cie_state {
	uint64_t offset;                        /* of the CIE in the section; UINT64_MAX: no valid CIE was read yet */
	uint64_t code_factor, return_register;
	int64_t data_factor;
	uint8_t pointer_encoding;               /* DW_EH_PE_* of addresses in FDEs */
	bool has_augmentation_length;           /* the augmentation data of FDEs begin with their length */
	size_t augmentation_bytes;              /* size of the data before an FDE's program; used only if
	                                           has_augmentation_length is false */
	struct vg_cfi_state initial;
};

struct vg_cfi_reader {
	struct vg_symbols *symbols;
	const struct vg_elf_image *image;       /* borrowed; the file with the code */
	struct vg_work_limit work_limit;        /* grows with the size of the sections */
	unsigned address_bytes;                 /* 4 or 8 */
	bool big_endian;

	/* the section that is being read */
	const uint8_t *data;
	size_t data_bytes;
	uint64_t section_address;

	/* see cfi_columns.h */
	struct vg_cfi_register_table names;
	const char *column_names[VG_CFI_COLUMNS_MAX];
	uint8_t columns_by_register[VG_CFI_REGISTERS_MAX]; /* by DWARF register number; UINT8_MAX: none */
	uint8_t cfa_column, ra_column;
	unsigned column_count;
	uint64_t return_register;               /* the return address register for which the columns were set: its
	                                           column is .ra */

	struct vg_cfi_cie_state cie;

	/* the program that is being run */
	uint64_t location, end;                 /* virtual addresses of code: of the current row, and
	                                           of the end of the FDE's range */
	struct vg_cfi_state state;
	unsigned __int128 dirty;                /* bit mask of columns that changed since the last row */
	struct vg_cfi_state saved[VG_CFI_SAVED_MAX];
	unsigned saved_count;

	/* the rows that were written */
	bool is_open;                           /* the last of symbols->cfi_ranges has no end yet: the open range */
	struct vg_cfi_state written;            /* the rules that the open range's rows have set so far */
	char *text;                             /* buffer of VG_CFI_TEXT_MAX bytes */
};

#define VG_CFI_TEXT_MAX 16384
#define VG_CFI_RULE_TEXT_MAX 240        /* a longer expression counts as one that Breakpad's language cannot express */

#endif
