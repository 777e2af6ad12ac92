/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_KERNEL_SYMBOLS_H
#define VG_VIGNETTED_KERNEL_SYMBOLS_H

#include <stdint.h>
#include <stdio.h>

#include "base/array.h"
#include "base/err.h"
#include "base/intern.h"

/*
 * The names of kernel functions, from /proc/kallsyms.  The kernel chooses its own address at each boot, and an attacker
 * must not learn that address from a profile.  So a profile gets the names of functions, and numbers for them.
 * Functions are numbered in the order in which samples find them.
 *
 *     rc = vg_kernel_symbols_open(&symbols, &err);     before the helper gives up CAP_SYSLOG
 *     number = vg_kernel_symbols_number(&symbols, address);
 *     function = vg_kernel_symbols_function(&symbols, number);
 *     vg_kernel_symbols_close(&symbols);
 *
 * All zero is a table that is not open.
 */
struct vg_kernel_symbols {
	FILE *file;                  /* owned; NULL: not open, or already read */
	VG_ARRAY(struct vg_kernel_symbol {
		uint64_t address;
		uint32_t name;       /* offset in `text` */
		uint32_t module;     /* id in `modules` */
		uint32_t number;     /* VG_NONE: no sample has found it */
	}) symbols;                  /* sorted by address; empty: the file has not been read */
	VG_ARRAY(char) text;         /* names, each with its NUL */
	struct vg_intern modules;    /* names; [kernel] has the id 0 */
	VG_ARRAY(uint32_t) found;    /* by number: index in `symbols`, or VG_NONE: unknown code */
};

/* A kernel function. */
struct vg_kernel_function {
	const char *name;            /* "[unknown]": no symbol is known at the address */
	const char *module_name;     /* "[kernel]", or the kernel's module such as "[nf_tables]" */
	uint32_t module;             /* number of this module, from 0 */
};

/* Opens /proc/kallsyms.  Returns 0 or a negative errno: -EACCES if the kernel hides the addresses from us, with a
 * sentence that says how to permit them. */
int vg_kernel_symbols_open(struct vg_kernel_symbols *symbols, struct vg_err *err);

/* Sets *number to that of the function at the address.  Reads the file at the first call, which takes 0.1 s.  Returns 0
 * or -ENOMEM. */
int vg_kernel_symbols_number(struct vg_kernel_symbols *symbols, uint64_t address, uint32_t *number);

/* The function of a number.  The names are valid until vg_kernel_symbols_close(). */
struct vg_kernel_function vg_kernel_symbols_function(const struct vg_kernel_symbols *symbols, uint32_t number);

void vg_kernel_symbols_close(struct vg_kernel_symbols *symbols);

#endif
