/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_FRAME_CLASS_H
#define VG_VGTOOL_FRAME_CLASS_H

#include "vgtool/analysis/frames.h"

/*
 * What kind of code the frames of a node are, for the colours and categories of pictures.
 *
 *	vg_frame_classes_build(&classes, profile);
 *	name = vg_frame_class_name(classes[node]);
 *	free(classes);
 */
enum vg_frame_class {
	VG_CLASS_PROGRAM,            /* the main executable */
	VG_CLASS_LIBRARY,
	VG_CLASS_JIT,                /* no module is known, but the perf map has a name */
	VG_CLASS_KERNEL,
	VG_CLASS_UNKNOWN,            /* no module is known */
	/* The system calls in which threads wait, by what they wait for.  The lists are in frame_class.c. */
	VG_CLASS_WAIT_LOCK,
	VG_CLASS_WAIT_EVENT,         /* for one of several descriptors */
	VG_CLASS_WAIT_IO,
	VG_CLASS_WAIT_TIME,
	VG_CLASS_WAIT_PROCESS,
	VG_CLASS_WAIT_OTHER,
	VG_CLASS_COUNT,
};

/* "program", "library", ..., "wait: lock", ... */
const char *vg_frame_class_name(enum vg_frame_class class);

/* Sets *classes to an array with the class of each node (enum vg_frame_class), which the caller frees.  Returns 0 or
 * -ENOMEM. */
int vg_frame_classes_build(unsigned char **classes, const struct vg_profile *profile);

/* The same by function of `frames`: the class of the function's last node.  Inlined functions have the class of the
 * node.  A function without a node is VG_CLASS_UNKNOWN. */
int vg_function_classes_build(unsigned char **classes, const struct vg_frames *frames);

/* The module of a process's main executable, an index: that of the process's stacks that has the name of its program.
 * Without such a module, the lowest one in memory that is no shared library: the kernel maps the main executable below
 * its libraries.  VG_NONE: the stacks have no such module. */
uint32_t vg_program_module(const struct vg_profile *profile, size_t process);

/* The class of a system call, by its name. */
enum vg_frame_class vg_frame_class_of_call(const char *name);

#endif
