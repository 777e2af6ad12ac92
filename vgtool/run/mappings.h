/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_MAPPINGS_H
#define VG_VGTOOL_MAPPINGS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/array.h"
#include "vgtool/run/broker.h"
#include "vgtool/run/mapped_files.h"

/*
 * The files of a process's executable mappings, open for reading.  They have the module's symbols even if the file was
 * removed or replaced, or if the process has another root directory.
 *
 *	struct vg_mappings mappings = { 0 };
 *	vg_mappings_read(&mappings, pid);                 (again, to add modules that were loaded later)
 *	broker.offers = mappings.offers.items;
 *	vg_mappings_free(&mappings);
 */
enum { VG_MAPPINGS_MAX = 500 };

struct vg_mappings {
	struct { struct vg_broker_offer *items; size_t count, capacity; } offers;
	struct vg_mapped_files files; /* that were tried */
	pid_t pid;                   /* the first process that had files; 0: none */
	long user;                   /* of that process; -1: unknown */
	bool is_mixed;               /* there were processes of several users */
};

/* Adds files that are not known yet, at most VG_MAPPINGS_MAX in all.  A file that cannot be opened, or is no program or
 * library, is left out.  An offer serves the modules of all processes.  So if these belong to several users, only files
 * of this user and of root are offered: another user's file could have the name and build id of a module of the other
 * processes. */
void vg_mappings_read(struct vg_mappings *mappings, pid_t pid);

void vg_mappings_free(struct vg_mappings *mappings);

#endif
