/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_RESOLVE_H
#define VG_VGTOOL_RESOLVE_H

#include "base/infile.h"
#include "profile/model.h"
#include "profile/writer.h"

/*
 * Puts the names of functions into a profile: a copy of it with FUNCTION and SYMBOL records.  The
 * addresses of a module are sorted first, so that its symbols are read in one pass.
 */
struct vg_resolve {
	const struct vg_infile *file;          /* the caller's, as all of these */
	const struct vg_profile *profile;      /* what was read from file */
	const char *const *stores;
	size_t store_count;

	/* What came of it; freed by vg_resolve_free(). */
	VG_ARRAY(struct vg_resolve_module) modules;  /* those that any stack goes through */
	uint64_t addresses, named;
};

struct vg_resolve_module {
	uint32_t module;             /* index in the profile */
	uint64_t samples;            /* with a frame in it */
	uint64_t addresses, named;
	bool missing;                /* no symbols were found, or they could not be read */
	char *text;                  /* owned; what is wrong with the symbols found, or NULL */
};

/* Missing symbols are no failure.  0 or a negative errno: -ENOMEM, or the writer's. */
int vg_resolve_write(struct vg_resolve *resolve, struct vg_writer *writer);
void vg_resolve_free(struct vg_resolve *resolve);

#endif
