/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_FRAMES_H
#define VG_VGTOOL_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model.h"

/* What the numbers of struct vg_frames stand for.  A view treats every number as a function.  So it can also show
 * modules, for example. */
enum vg_frames_kind {
	VG_FRAMES_FUNCTION,
	VG_FRAMES_LINE,                       /* a source line of a function */
	VG_FRAMES_MODULE,
	VG_FRAMES_FILE,                       /* a source file; frames without one are "[no file]" of their module */
};

/* "function", "line", "module" or "file". */
const char *vg_frames_kind_name(enum vg_frames_kind kind);

/*
 * The frames that views show for each node of the stack tree: one frame for each function at the node's address,
 * inlined functions included.
 *
 * Functions have the numbers 0, 1, 2, ...  Functions with the same name, file and module have the same number, so that
 * views count functions and not addresses.  An address without symbols is a function of its own, named "module+0x1234",
 * or "0x7f..." without a module.  JIT code has its name from the perf map.  The system call that a thread waits in is a
 * leaf frame: "[epoll_wait]".
 *
 *	vg_frames_build(&frames, profile);
 *	for (size_t i = 0; i < vg_frames_count(&frames, node); i++)
 *		puts(vg_frames_function(&frames, vg_frames_at(&frames, node, i).function).name);
 *	vg_frames_free(&frames);
 */
struct vg_frames {
	const struct vg_profile *profile;  /* the caller's; must outlive this */
	uint32_t count;                    /* number of functions */
	struct vg_intern keys;             /* struct vg_frame_key -> function number */
	struct vg_intern names;            /* synthetic names */
	struct vg_frame_node {
		uint32_t first;            /* index of a symbol line; if line_count is 0, the function's number */
		uint32_t line_count;
	} *nodes;                          /* by node */
	uint32_t *by_function;             /* by index of a function in the profile: the function's number; NULL if
	                                      `kind` is VG_FRAMES_LINE */
	uint32_t *by_line;                 /* by index of a symbol line: the number of its row; NULL unless `kind` is
	                                      VG_FRAMES_LINE */
	enum vg_frames_kind kind;
	bool by_module;                    /* addresses of one module without symbols are one function: "[module]" */
};

/* Limit for the functions at one address; the innermost are kept.  No real program reaches it.  In a hostile profile,
 * many nodes can have the same address, and each of these nodes would cost time for all functions at the address. */
enum { VG_FRAME_INLINES_MAX = 1000 };

enum { VG_SYNTHETIC_ADDRESS = 1, VG_SYNTHETIC_MODULE, VG_SYNTHETIC_SYSTEM_CALL };

struct vg_frame_key {
	uint32_t name;                     /* string of the profile; if is_synthetic, id in vg_frames.names */
	uint32_t file;
	uint32_t module;
	uint32_t is_synthetic;             /* 0, VG_SYNTHETIC_ADDRESS, VG_SYNTHETIC_MODULE or VG_SYNTHETIC_SYSTEM_CALL;
	                                      if it is not 0, there is no symbol, and vg_frames_build() made the
	                                      name */
	uint32_t line;                     /* 0, unless the kind is VG_FRAMES_LINE */
};

/* The names of a function number.  The texts live as long as the struct vg_frames. */
struct vg_function_view {
	const char *name;
	const char *file;                  /* NULL: unknown */
	const char *module;                /* NULL: unknown */
	bool is_module;                    /* name is "[module]", for all addresses of the module without symbols */
	bool is_system_call;               /* name is the system call that the thread waited in: "[epoll_wait]" */
	uint32_t line;                     /* 0: unknown, or the kind is not VG_FRAMES_LINE */
};

/* One frame of a node. */
struct vg_frame_view {
	uint32_t function;                 /* number */
	uint32_t line;                     /* 0: unknown */
	bool is_inline;
};

/* Returns 0 or -ENOMEM; call vg_frames_free() in either case. */
int vg_frames_build(struct vg_frames *frames, const struct vg_profile *profile);

/* Like vg_frames_build(), but numbers rows of another kind.  The row of a module or file has the name of this module or
 * file.  If by_module is set, the addresses of a module that have no symbols are one function, named "[module]". */
int vg_frames_build_rows(struct vg_frames *frames, const struct vg_profile *profile, enum vg_frames_kind kind,
			 bool by_module);

/* Like vg_frames_build(), but the caller gives each node its function: `number_of` has a number below `count` for each
 * node.  The functions have no other names than "0", "1", ... */
int vg_frames_build_numbered(struct vg_frames *frames, const struct vg_profile *profile, const uint32_t *number_of,
			     uint32_t count);
void vg_frames_free(struct vg_frames *frames);

/* The number of frames of a node, 1 or more. */
static inline size_t vg_frames_count(const struct vg_frames *frames, uint32_t node)
{
	return frames->nodes[node].line_count > 0 ? frames->nodes[node].line_count : 1;
}

/* The i-th frame of a node, innermost first.  Exporters call it for each frame of each sample, so it is inline. */
static inline struct vg_frame_view vg_frames_at(const struct vg_frames *frames, uint32_t node, size_t i)
{
	const struct vg_frame_node *at = &frames->nodes[node];
	const struct vg_symbol_line *line;

	if (at->line_count == 0)
		return (struct vg_frame_view){ at->first, 0, false };
	line = &frames->profile->symbol_lines.items[at->first + i];
	return (struct vg_frame_view){ frames->by_line != NULL ? frames->by_line[at->first + i] :
				       frames->by_function[line->function], line->line, i + 1 < at->line_count };
}

struct vg_function_view vg_frames_function(const struct vg_frames *frames, uint32_t function);

/* The name of the frame that stands for the unknown callers of an incomplete stack: "[stack incomplete: frame limit]".
 * end: enum vg_walk_end, but not VG_WALK_ROOT.  Returns room->text. */
struct vg_incomplete_name { char text[64]; };
const char *vg_incomplete_name(unsigned end, struct vg_incomplete_name *room);

#endif
