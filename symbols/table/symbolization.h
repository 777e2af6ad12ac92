/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_SYMBOLIZATION_H
#define VG_SYMBOLS_SYMBOLIZATION_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/intern.h"
#include "symbols/table/missing_file.h"

struct vg_symbols;

/*
 * The functions, files, lines and inlined calls at a list of addresses of one module.  A
 * symbolization is kept in memory instead of all symbols of the module, because its size depends on
 * the number of addresses, not on the size of the module.
 *
 *     struct vg_symbolized_frame frames[VG_SYMBOLIZED_FRAMES_MAX];
 *     size_t count = vg_symbolization_frames(&symbolization, i, frames);
 *     for (size_t at = 0; at < count; at++)
 *             name = symbolization.functions.items[frames[at].function].name;
 */
#define VG_SYMBOLIZED_NONE UINT32_MAX   /* no such function, file or frame */

struct vg_symbolized_function {
	uint32_t name;                  /* id in strings */
	uint32_t file;                  /* id in strings, or VG_SYMBOLIZED_NONE */
};

/* One frame.  The array `frames` of a symbolization has only the callers of inlined frames.
 * Addresses share callers, so the frames of a module form a forest. */
struct vg_symbolized_frame {
	uint32_t function;              /* index in functions */
	uint32_t line;                  /* 0: unknown */
	uint32_t outer;                 /* the next caller: index in frames; VG_SYMBOLIZED_NONE:
					   this is the outermost */
	uint32_t outermost;             /* the outermost caller: index in frames; VG_SYMBOLIZED_NONE as in `outer` */
};

struct vg_symbolized_address {
	uint32_t function, line, outer; /* of the innermost frame, as in vg_symbolized_frame; function is
					   VG_SYMBOLIZED_NONE if nothing is known about the address */
};

/* Limit of frames at one address.  If there are more, the calls next to the outermost frame are left out. */
enum { VG_SYMBOLIZED_FRAMES_MAX = 256 };

struct vg_symbolization {
	struct vg_intern strings;
	VG_ARRAY(struct vg_symbolized_function) functions;
	VG_ARRAY(struct vg_symbolized_frame) frames;
	struct vg_symbolized_address *items; /* by index of the address */
	size_t count;
	struct vg_missing_file missing_file; /* as in struct vg_symbols */
	uint64_t bad_records, first_bad_line;  /* as in struct vg_symbols */
};

/* Makes room for `count` addresses in a structure that is all zero.  Nothing is known yet about any
 * address.  Returns 0 or -ENOMEM. */
int vg_symbolization_prepare(struct vg_symbolization *symbolization, size_t count);

/* Fills a structure that is all zero with the results of vg_symbols_lookup() for the addresses.  Returns 0 or
 * -ENOMEM.  After a failure the structure is all zero again. */
int vg_symbolization_from_table(struct vg_symbolization *symbolization, const struct vg_symbols *symbols,
				const uint64_t *addresses, size_t count);

/* The frames at the i-th address, innermost first; `outer` and `outermost` are not set.  Returns
 * the number of frames; 0 if nothing is known. */
size_t vg_symbolization_frames(const struct vg_symbolization *symbolization, size_t i,
			       struct vg_symbolized_frame frames[VG_SYMBOLIZED_FRAMES_MAX]);

/* Frees the members and sets them to zero.  `symbolization` may be NULL or all zero. */
void vg_symbolization_free(struct vg_symbolization *symbolization);

#endif
