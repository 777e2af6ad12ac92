/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rows of libdw, for programs that compare vignetted's rows with them.  Both sides compute the CFA and the places of
 * the frame pointer and the return address, from invented registers and memory.  So the form of a rule does not
 * matter. */
#ifndef VG_TESTS_LIBDW_ROWS_H
#define VG_TESTS_LIBDW_ROWS_H

#include <elfutils/libdw.h>
#include <inttypes.h>
#include <stdbool.h>

#include "vignetted/target/image.h"
#include "vignetted/unwind/row.h"

/* A file that is mapped as the loader would map it, and read through the same interface as a sampled process. */
struct file {
	const char *name;            /* the caller's */
	int fd;
	Elf *elf;
	Dwarf_CFI *cfi;
	unsigned char *mapped;
	size_t mapped_bytes;
	uint64_t bias;
	struct vg_image image;
};

/* The results of a row. */
struct outcome {
	bool known;                  /* false: this program cannot compute the row */
	bool root, fp_same, fp_undefined, signal;
	bool refused, ra_in_register;
	bool cfa_usual;              /* the CFA is computed from the stack pointer or the frame pointer */
	int cfa_register;            /* of libdw's rows: the CFA is this register plus a number; -1: it is another
					expression */
	uint64_t cfa, fp_at, sp;
	uint64_t ra_at;              /* where the return address is: an address, or the number of a register */
};

/* `memory` is of this process.  False: the file cannot be read.  Call file_close() in either case. */
bool file_open(struct file *file, struct vg_memory *memory, const char *name);
void file_close(struct file *file, struct vg_memory *memory);

/* What one FDE covers, in addresses of the file. */
struct file_fde {
	uint64_t start, end;
	uint64_t lsda;               /* address of the language-specific data; 0: there is none */
};

/* Calls `visit` for each FDE in .eh_frame, in the section's order.  libdw lists the FDEs from the section, and not from
 * the sorted table or the index that vignetted searches.  False: there is no .eh_frame. */
bool file_fdes_visit(struct file *file, void (*visit)(void *context, const struct file_fde *fde), void *context);

void outcome_of_libdw(struct outcome *outcome, Dwarf_Frame *frame, uint64_t address, bool signal);
void outcome_of_row(struct outcome *outcome, const struct vg_row *row);

/* Spreads the bits of a number. */
uint64_t mixed(uint64_t value);

/* The invented value of the register with this DWARF number; `address` is the value of the instruction pointer. */
uint64_t register_value(uint64_t number, uint64_t address);

#endif
