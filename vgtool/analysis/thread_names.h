/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_THREAD_NAMES_H
#define VG_VGTOOL_THREAD_NAMES_H

#include "profile/model.h"

/*
 * The names of threads in views: "worker"; "worker (4711)" if several threads have that name;
 * "thread 4711" if the thread has no name.  If the profile has several processes, the name and id of the process come
 * first: "make 4700: worker".
 */
struct vg_thread_names {
	const struct vg_profile *profile;  /* the caller's; must outlive this */
	struct vg_intern names;            /* string -> index in name_counts */
	VG_ARRAY(uint32_t) name_counts;    /* number of threads that have the name */
	bool without_process;              /* set by the caller: never with the process */
};

struct vg_thread_name {
	char text[2 * VG_NAME_MAX_BYTES + 64];
};

/* Returns 0 or -ENOMEM; call vg_thread_names_free() in either case. */
int vg_thread_names_build(struct vg_thread_names *names, const struct vg_profile *profile);
void vg_thread_names_free(struct vg_thread_names *names);

/* Writes the name of the thread (an index) to *room and returns room->text. */
const char *vg_thread_name(const struct vg_thread_names *names, uint32_t thread,
			   struct vg_thread_name *room);

/* The text that views show after a thread's id: the name of the thread, if it has one.  If the profile has several
 * processes, also the process: "worker [make 4700]", or "[make]" for the main thread.  `thread` is an index.  Returns
 * room->text or the name. */
const char *vg_thread_label(const struct vg_profile *profile, uint32_t thread, struct vg_thread_name *room);

/* True if the text is the thread's id in digits, or its name. */
bool vg_thread_matches(const char *text, int32_t tid, const char *name);

#endif
