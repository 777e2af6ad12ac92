/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_RESOLVE_H
#define VG_VGTOOL_RESOLVE_H

#include "base/infile.h"
#include "profile/writer.h"
#include "symbols/table/symbolization.h"
#include "vgtool/resolve/address_list.h"
#include "vgtool/resolve/symbol_finder.h"

/*
 * Symbolizes one or more profiles.  The addresses of all profiles are collected by module.  Each module's
 * symbols are read once.  Each profile is then copied, with FUNCTION and SYMBOL records added, or symbolized in memory.
 *
 *	struct vg_resolve resolve = { .finder = &finder };
 *	vg_resolve_add(&resolve, &list);                           (for each profile)
 *	vg_resolve_read(&resolve);
 *	vg_resolve_write(&resolve, &file, &list, &writer);         (for each profile; or vg_resolve_into())
 *	vg_resolve_free(&resolve);
 *
 * Memory: all addresses, their symbols, and the whole symbol table of one module at a time.
 */
struct vg_resolve_module {
	char *name;                  /* owned */
	unsigned char build_id[VG_BUILD_ID_MAX_BYTES];
	size_t build_id_bytes;       /* 0: no build id; the module is not symbolized */
	uint64_t samples;            /* number of samples that have a frame in the module, in all profiles */
	VG_ARRAY(uint64_t) addresses;
	size_t sorted;               /* number of addresses at the front that are sorted, without duplicates */
	struct vg_symbolization symbolization;   /* after vg_resolve_read() */
	bool missing;                /* no symbols were found, or they could not be read */
	struct vg_missing_file missing_file; /* set by the caller, see vg_symbol_source_find_missing_file(); owned */
	char *problem;               /* owned; a message about the symbols that were found, or NULL */
};

struct vg_resolve {
	struct vg_symbol_finder *finder; /* the caller's */

	/* Results; freed by vg_resolve_free(). */
	VG_ARRAY(struct vg_resolve_module) modules;
	struct vg_intern keys;       /* '+' and build id, or '-' and name -> index in modules */
	uint64_t samples;            /* number of samples of all profiles */
	uint64_t addresses;          /* number of addresses of all modules */
	uint64_t symbolized;         /* number of these addresses for which a function was found */
};

/* Adds the addresses of a profile.  Returns 0 or -ENOMEM. */
int vg_resolve_add(struct vg_resolve *resolve, const struct vg_address_list *list);

/* Reads the symbols of all modules.  Missing symbols are not a failure.  Returns 0 or -ENOMEM. */
int vg_resolve_read(struct vg_resolve *resolve);

/* Writes the resolved profile.  file: the profile from which the list was collected.  Returns 0, -ENOMEM or the
 * writer's negative errno. */
int vg_resolve_write(const struct vg_resolve *resolve, const struct vg_infile *file,
		     const struct vg_address_list *list, struct vg_writer *writer);

/* Adds the symbols to the profile in memory.  profile: the profile from which the list was collected.  Views then show
 * the same as for the file that vg_resolve_write() writes.  If no symbols were found, profile->resolved stays false.
 * Returns 0 or -ENOMEM. */
int vg_resolve_into(const struct vg_resolve *resolve, const struct vg_address_list *list, struct vg_profile *profile);

void vg_resolve_free(struct vg_resolve *resolve);

/* Returns all modules, sorted by their `samples`, the largest number first.  The caller frees the array.  NULL: memory
 * is exhausted. */
const struct vg_resolve_module **vg_resolve_by_samples(const struct vg_resolve *resolve);

/* Returns true and sets *index, the position in `modules`, if vg_resolve_add() has added the module. */
bool vg_resolve_module_find(const struct vg_resolve *resolve, const struct vg_address_list_module *module,
			    uint32_t *index);

#endif
