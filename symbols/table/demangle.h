/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DEMANGLE_H
#define VG_SYMBOLS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Source names from linker names, C++, Rust and Ada, by libiberty.  One of these is reused for many
 * names; all zero is a new one.
 */
struct vg_demangler {
	char *text;     /* owned; the last result */
	size_t used, capacity;
};

/*
 * The source name, or `name` itself when it is no mangled name or does not demangle.  Names from
 * damaged files can demand exponential work: both the input (8 KiB) and the output (64 KiB) are
 * bounded, and what exceeds them stays mangled.  Valid until the next call.
 */
const char *vg_demangle(struct vg_demangler *demangler, const char *name);

/* True if the name looks like one that vg_demangle() knows. */
bool vg_is_mangled(const char *name);

/* The same for GNAT's encoding of Ada's names, `shapes__fill`: a C name may look the same. */
const char *vg_demangle_ada(struct vg_demangler *demangler, const char *name);

void vg_demangler_free(struct vg_demangler *demangler);

#endif
