/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_DEMANGLE_H
#define VG_SYMBOLS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Uses libiberty to demangle linker names of C++, of Rust and of D's main function, and names in
 * Ada's encoding.  A new demangler is all zero.  Its buffer is reused for many names.
 *
 *     struct vg_demangler demangler = { 0 };
 *     const char *name = vg_demangle(&demangler, "_Z4pushi");  // push(int)
 *     vg_demangler_free(&demangler);
 */
struct vg_demangler {
	char *text;     /* owned; the last result */
	size_t used, capacity;
};

/*
 * Returns the source name, or `name` itself if it is not mangled or cannot be demangled.  The result is
 * valid until the next call.  A hostile name can take exponential time, so input is limited to 8 KiB
 * and output to 64 KiB.  A name beyond these limits stays mangled.
 */
const char *vg_demangle(struct vg_demangler *demangler, const char *name);

/* True if vg_demangle() would try to demangle the name. */
bool vg_is_mangled(const char *name);

/* As vg_demangle(), for Ada names in GNAT's encoding (`shapes__fill`).  Call it only for Ada, because a C name can look
 * like such a name. */
const char *vg_demangle_ada(struct vg_demangler *demangler, const char *name);

void vg_demangler_free(struct vg_demangler *demangler);

#endif
