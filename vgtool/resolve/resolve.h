/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_RESOLVE_H
#define VG_VGTOOL_RESOLVE_H

#include "base/infile.h"
#include "profile/writer.h"
#include "symbols/table/answers.h"
#include "vgtool/resolve/names.h"
#include "vgtool/resolve/wanted.h"

/*
 * Puts the names of functions into profiles, one or many: the addresses of all are gathered by
 * module (vg_resolve_add), each module's symbols are read once (vg_resolve_read), and each profile
 * is copied with FUNCTION and SYMBOL records (vg_resolve_write).
 *
 * Memory: the addresses, what is known of them, and the symbols of one module at a time.
 */
struct vg_resolve_module {
	char *name;                  /* owned */
	unsigned char build_id[VG_BUILD_ID_MAX_BYTES];
	size_t build_id_bytes;       /* 0: it has none, and gets no names */
	uint64_t samples;            /* with a frame in it, of all profiles */
	VG_ARRAY(uint64_t) addresses;
	size_t sorted;               /* of the addresses: the first ones are sorted, each once */
	struct vg_answers answers;   /* after vg_resolve_read() */
	bool missing;                /* no symbols were found, or they could not be read */
	struct vg_absent absent;     /* set by who asks vg_names_find_absent() */
	char *text;                  /* owned; what is wrong with the symbols found, or NULL */
};

struct vg_resolve {
	struct vg_names *names;      /* the caller's */

	/* What came of it; freed by vg_resolve_free(). */
	VG_ARRAY(struct vg_resolve_module) modules;
	struct vg_intern keys;       /* build id, or '-' and name -> index in modules */
	uint64_t samples;            /* of all profiles */
	uint64_t addresses, named;   /* of all modules */
};

/* 0 or -ENOMEM. */
int vg_resolve_add(struct vg_resolve *resolve, const struct vg_wanted *wanted);

/* Missing symbols are no failure.  0 or -ENOMEM. */
int vg_resolve_read(struct vg_resolve *resolve);

/* file is the profile that wanted was collected from.  0 or a negative errno: -ENOMEM, or the
 * writer's. */
int vg_resolve_write(const struct vg_resolve *resolve, const struct vg_infile *file,
		     const struct vg_wanted *wanted, struct vg_writer *writer);

void vg_resolve_free(struct vg_resolve *resolve);

/* All modules, those in most samples first; to be freed.  NULL: no memory. */
const struct vg_resolve_module **vg_resolve_by_samples(const struct vg_resolve *resolve);

/* The module's index, if it was added. */
bool vg_resolve_module_find(const struct vg_resolve *resolve, const struct vg_wanted_module *module,
			    uint32_t *index);

#endif
