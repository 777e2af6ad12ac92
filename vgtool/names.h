/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_NAMES_H
#define VG_VGTOOL_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * The symbols of one module as they lie in the stores: the one place that knows where symbols
 * come from.  Only the addresses that were asked for can be looked up.
 */
struct vg_names;

struct vg_name {
	const char *function;        /* borrowed */
	const char *file;            /* borrowed; NULL: unknown */
	uint32_t line;               /* 0: unknown */
};

/* More functions inlined into one another than this are cut at the outer end. */
enum { VG_NAMES_MAX = 256 };

struct vg_names_query {
	const char *const *stores;   /* directories */
	size_t store_count;
	const char *module;          /* basename */
	const unsigned char *build_id;
	size_t build_id_bytes;
	const uint64_t *addresses;   /* module-relative, sorted, each once */
	size_t address_count;
};

/* 0; -ENOENT if no store has the module; or why its file could not be read, which err then says.
 * *names is NULL after a failure. */
int vg_names_open(struct vg_names **names, const struct vg_names_query *query,
		  struct vg_err *err);

/* What is at the address, innermost first; returns how many, 0 if nothing is known. */
size_t vg_names_at(const struct vg_names *names, uint64_t address,
		   struct vg_name found[VG_NAMES_MAX]);

/* How many records of the file made no sense, and the line of the first; and its path. */
uint64_t vg_names_bad_records(const struct vg_names *names, uint64_t *first_line);
const char *vg_names_path(const struct vg_names *names);

/* NULL is allowed. */
void vg_names_close(struct vg_names *names);

#endif
