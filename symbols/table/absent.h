/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_ABSENT_H
#define VG_SYMBOLS_ABSENT_H

#include <stddef.h>

#include "base/build_id.h"
#include "base/err.h"

/* A file with a part of a module's debug information that was not found anywhere: the one that dwz
 * made several modules share.  path is NULL if nothing is absent. */
struct vg_absent {
	char *path;                     /* owned; as the debug information has it */
	unsigned char id[VG_BUILD_ID_MAX_BYTES]; /* its build id */
	size_t id_bytes;
};

/* Fills an all-zero one; a path or id that is too long is cut.  0 or -ENOMEM. */
int vg_absent_set(struct vg_absent *absent, const char *path, const void *id, size_t id_bytes);

/* 0 or -ENOMEM. */
int vg_absent_copy(struct vg_absent *to, const struct vg_absent *from);

/* NULL and an all-zero one are allowed; makes it one again. */
void vg_absent_free(struct vg_absent *absent);

#endif
