/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_FRAMES_H
#define VG_VGTOOL_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model.h"

/*
 * What the views show for a node of the stack tree: one frame for each function that is there,
 * inlined ones included.
 *
 * A function gets a dense number by its name, file and module, so that views count functions and
 * not addresses.  A frame without symbols is a function of its own for each address, named
 * "module+0x1234", or "0x7f..." where no module is known.  The system call that a thread waits in
 * is a frame too, innermost: "[epoll_wait]".
 */
struct vg_frames {
	const struct vg_profile *profile;  /* the caller's; must outlive this */
	uint32_t count;                    /* of functions */
	struct vg_intern keys;             /* struct vg_frame_key -> number */
	struct vg_intern names;            /* those that were made up here */
	struct vg_frame_node { uint32_t first, lines; } *nodes; /* by node: its symbol lines; or
	                                      none, and the number of its one function */
	uint32_t *by_function;             /* index of a profile's function -> number */
};

/* Innermost inlined functions beyond this are all that is kept of one address: only a hostile
 * profile has as many, and each node that uses the address would cost all of them. */
enum { VG_FRAME_INLINES_MAX = 1000 };

struct vg_frame_key {
	uint32_t name;
	uint32_t file;
	uint32_t module;
	uint32_t made_up;
};

/* What a number stands for.  The texts live as long as the struct vg_frames. */
struct vg_function_view {
	const char *name;
	const char *file;                  /* NULL: unknown */
	const char *module;                /* NULL: unknown */
};

struct vg_frame {
	uint32_t function;                 /* number */
	uint32_t line;                     /* 0: unknown */
	bool is_inline;
};

/* 0 or -ENOMEM; free in either case. */
int vg_frames_build(struct vg_frames *frames, const struct vg_profile *profile);
void vg_frames_free(struct vg_frames *frames);

/* How many frames a node shows, one at least; and the i-th, innermost first. */
size_t vg_frames_count(const struct vg_frames *frames, uint32_t node);
struct vg_frame vg_frames_at(const struct vg_frames *frames, uint32_t node, size_t i);

struct vg_function_view vg_frames_function(const struct vg_frames *frames, uint32_t function);

#endif
