/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_ANSWERS_H
#define VG_SYMBOLS_ANSWERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/intern.h"
#include "symbols/table/absent.h"

struct vg_symbols;

/*
 * What a list of addresses of one module resolves to: all that is kept of its symbols once they
 * were read.  It grows with what was asked, not with the module.
 */
#define VG_ANSWER_NONE UINT32_MAX

struct vg_answer_function {
	uint32_t name;                  /* id in strings */
	uint32_t file;                  /* the same, or VG_ANSWER_NONE */
};

/* A frame and those outwards of it.  Addresses share the frames into which all of them were
 * inlined: the frames of a module are a forest. */
struct vg_answer_frame {
	uint32_t function;              /* index in functions */
	uint32_t line;                  /* 0: unknown */
	uint32_t outer;                 /* index in frames, or VG_ANSWER_NONE: it is the last */
	uint32_t outermost;             /* the last one's index, or VG_ANSWER_NONE likewise */
};

struct vg_answer {
	uint32_t function, line, outer; /* as above; function VG_ANSWER_NONE: nothing is known */
};

/* More functions inlined into one another than this are cut next to the outermost. */
enum { VG_ANSWER_FRAMES_MAX = 256 };

struct vg_answers {
	struct vg_intern strings;
	VG_ARRAY(struct vg_answer_function) functions;
	VG_ARRAY(struct vg_answer_frame) frames;
	struct vg_answer *items;        /* in the order of the addresses */
	size_t count;
	struct vg_absent absent;        /* of the file, as in struct vg_symbols */
	uint64_t bad_records, first_bad_line;  /* of the file, as in struct vg_symbols */
};

/* Makes room for that many addresses, of which nothing is known yet, in an all-zero one.
 * 0 or -ENOMEM. */
int vg_answers_prepare(struct vg_answers *answers, size_t count);

/* Fills an all-zero one with what vg_symbols_lookup() says of each address.  0 or -ENOMEM. */
int vg_answers_from_table(struct vg_answers *answers, const struct vg_symbols *symbols,
			  const uint64_t *addresses, size_t count);

/* The frames at the i-th address, innermost first, without their links; returns how many, 0 if
 * nothing is known.  Of a deeper stack those next to the outermost are left out. */
size_t vg_answers_at(const struct vg_answers *answers, size_t i,
		     struct vg_answer_frame frames[VG_ANSWER_FRAMES_MAX]);

/* NULL and an all-zero one are allowed; makes it one again. */
void vg_answers_free(struct vg_answers *answers);

#endif
