/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_NAMES_H
#define VG_VGTOOL_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbols/store/store_binary.h"
#include "symbols/table/answers.h"

/*
 * Where symbols come from: the one place that knows.  For each module that is a .sym file with
 * functions, else an ELF file with debug information, else a .sym or an ELF file with less.
 */
struct vg_names {
	const char *const *stores;   /* directories and files; the caller's */
	size_t store_count;
	struct vg_store_binaries binaries;
};

/* A module's symbols. */
struct vg_names_place {
	char *path;                  /* owned */
	bool is_binary;
};

/* 0; -ENOENT if no store has the module, or it has no build id; or another failure, which err
 * says. */
int vg_names_find(struct vg_names *names, const char *module, const unsigned char *build_id,
		  size_t build_id_bytes, struct vg_names_place *place, struct vg_err *err);

/* What the file says of those module-relative addresses, sorted and each once.  0, or why it
 * could not be read, which err says. */
int vg_names_answer(const struct vg_names *names, const struct vg_names_place *place,
		    const unsigned char *build_id, size_t build_id_bytes,
		    const uint64_t *addresses, size_t count, struct vg_answers *answers,
		    struct vg_err *err);

/* Fills an all-zero `absent`: the file that some of the names there are in, and that was not found.  0, or
 * why the place could not be read. */
int vg_names_find_absent(const struct vg_names *names, const struct vg_names_place *place,
			 struct vg_absent *absent, struct vg_err *err);

void vg_names_place_free(struct vg_names_place *place);
void vg_names_free(struct vg_names *names);

/* A store that cannot be read would look like an empty one.  0, or why it cannot. */
int vg_names_check(const struct vg_names *names, struct vg_err *err);

#endif
