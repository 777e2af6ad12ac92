/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The instructions of the FDEs of a file, and how a program comes to them.  All addresses are those of the file. */
#ifndef VG_TESTS_FDE_CODE_H
#define VG_TESTS_FDE_CODE_H

#include "tests/recording/libdw_rows.h"

/* What one FDE covers.  Compilers move unlikely code of a function to a part with an FDE of its own. */
struct fde {
	uint64_t start, end;
	uint64_t lsda;               /* address of the table of landing pads; 0: there is none */
	uint64_t parent;             /* the FDE of the function that this is a part of; 0: it is not known to be a part */
	bool is_plt;                 /* it covers a procedure linkage table: each 16 bytes are a function */
};

struct instruction {
	uint64_t at, next;
	bool is_call, is_padding;
	bool is_push, pushes_fp;
	bool is_end;                 /* it never goes on to the next instruction */
	uint64_t to;                 /* where a direct jump goes; 0: no direct jump */
};

/* The first of these ways that leads to an instruction. */
enum reach {
	REACH_NONE,                  /* none: padding that is not executed */
	REACH_DIRECT,                /* direct jumps from a function's beginning */
	REACH_INDIRECT,              /* indirect jumps, such as those of switch statements */
	REACH_LANDING_PAD,           /* only by exceptions: the C++ runtime finds landing pads in tables */
	REACHES
};

struct fde_code {
	struct file *file;           /* the caller's */
	struct fde *fdes;            /* sorted */
	size_t count, room;
	unsigned char *reach;        /* enum reach, by address - first */
	uint64_t first, bytes;
	uint64_t *queue;             /* addresses that fde_code_read() has still to follow */
	size_t queued, queue_room;
};

/* Lists the FDEs and follows their instructions.  False: there are none.  Call fde_code_free() in either case. */
bool fde_code_read(struct fde_code *code, struct file *file);
void fde_code_free(struct fde_code *code);

/* Decodes one instruction.  False: it is invalid or longer than `end`. */
bool fde_code_instruction(const struct fde_code *code, uint64_t at, uint64_t end, struct instruction *result);

enum reach fde_code_reach(const struct fde_code *code, uint64_t at);

/* The first instruction of the function that the address in the FDE belongs to. */
uint64_t fde_code_beginning(const struct fde_code *code, const struct fde *fde, uint64_t at);

#endif
