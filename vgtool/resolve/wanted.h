/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_WANTED_H
#define VG_VGTOOL_WANTED_H

#include "profile/model.h"

/*
 * What a profile wants to have named: the modules that any of its stacks goes through, and the
 * addresses in them.  It does not refer to the profile, which may be freed.
 */
struct vg_wanted_module {
	uint32_t id;                 /* the profile file's */
	unsigned char build_id[VG_BUILD_ID_MAX_BYTES];
	size_t build_id_bytes;       /* 0: it has none */
	char *name;                  /* owned */
	uint64_t samples;            /* with a frame in it */
	size_t first, count;         /* in addresses: module-relative, sorted, each once */
};

struct vg_wanted {
	VG_ARRAY(struct vg_wanted_module) modules; /* in the order of the profile */
	VG_ARRAY(uint64_t) addresses;
	uint64_t samples;            /* of the whole profile */
	uint64_t duration_ns;
};

/* *wanted is all zero before.  0 or -ENOMEM; free in either case. */
int vg_wanted_collect(struct vg_wanted *wanted, const struct vg_profile *profile);
void vg_wanted_free(struct vg_wanted *wanted);

/* Sorts and drops what occurs twice; returns how many are left. */
size_t vg_addresses_sort(uint64_t *addresses, size_t count);

#endif
