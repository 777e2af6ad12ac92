/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_THREAD_NAMES_H
#define VG_VGTOOL_THREAD_NAMES_H

#include "profile/model.h"

/*
 * What the views call a thread: its name, with its id where others have the same, or "thread ID"
 * where it has none.
 */
struct vg_thread_names {
	const struct vg_profile *profile;  /* the caller's; must outlive this */
	struct vg_intern names;            /* string -> how many have it */
	VG_ARRAY(uint32_t) named;          /* by id in names */
};

struct vg_thread_name {
	char text[VG_NAME_MAX_BYTES + 32];
};

/* 0 or -ENOMEM; free in either case. */
int vg_thread_names_build(struct vg_thread_names *names, const struct vg_profile *profile);
void vg_thread_names_free(struct vg_thread_names *names);

/* Writes the name of that thread (an index) into the caller's room and returns it. */
const char *vg_thread_name(const struct vg_thread_names *names, uint32_t thread,
			   struct vg_thread_name *room);

/* Whether a thread is meant by that text: its id in digits, or its name. */
bool vg_thread_is(const char *text, int32_t tid, const char *name);

#endif
