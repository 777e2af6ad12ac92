/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_ADDRESS_LIST_H
#define VG_VGTOOL_ADDRESS_LIST_H

#include "profile/model.h"

/*
 * The addresses of a profile that need symbols: the modules in its stacks, and the addresses in each module.
 * The list has copies, so the profile may be freed.
 *
 *	struct vg_address_list list = { 0 };
 *	vg_address_list_collect(&list, &profile);
 *	for (size_t i = 0; i < list.modules.count; i++)
 *		addresses = list.addresses.items + list.modules.items[i].first;
 *	vg_address_list_free(&list);
 */
struct vg_address_list_module {
	uint32_t id;                 /* the module's id in the profile */
	unsigned char build_id[VG_BUILD_ID_MAX_BYTES];
	size_t build_id_bytes;       /* 0: no build id */
	char *name;                  /* owned */
	uint64_t samples;            /* number of samples with a frame in the module */
	size_t first, count;         /* range in the list's `addresses`: module-relative, sorted, no duplicates */
};

struct vg_address_list {
	VG_ARRAY(struct vg_address_list_module) modules; /* in the order of the profile */
	VG_ARRAY(uint64_t) addresses;
	uint64_t samples;            /* number of samples of the profile */
	uint64_t duration_ns;        /* of the profile */
};

/* *list must be all zero.  Returns 0 or -ENOMEM; call vg_address_list_free() in either case. */
int vg_address_list_collect(struct vg_address_list *list, const struct vg_profile *profile);
void vg_address_list_free(struct vg_address_list *list);

/* Sorts the addresses and removes duplicates.  Returns the number of addresses left. */
size_t vg_addresses_sort(uint64_t *addresses, size_t count);

#endif
