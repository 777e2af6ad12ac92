/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_PROCESS_H
#define VG_LIBVGCTL_PROCESS_H

#include <stdint.h>

#include "libvgctl/lanes.h"
#include "libvgctl/roster.h"

/*
 * What belongs to this process alone, in a page that the kernel clears in every child, however that is made: a child
 * has no ring, no session and no mutex that another thread of its parent held.
 */
struct vg_process {
	struct vg_lanes_state lanes;
	struct vg_roster roster;
	_Atomic uint64_t token;      /* see vg_process_token(); 0: it has none yet */
};

/* NULL: no memory.  Not to be called by the library's constructors: at exit the library's destructors would then run
 * before the handler by which they know that the program exits. */
struct vg_process *vg_process(void);

/* A number that differs from those of all ancestors and descendants.  A pid is no such number: the child of a pid 1 may
 * be pid 1 of another namespace.  0: no memory. */
uint64_t vg_process_token(void);

/* The same as the kernel does, for a child whose kernel did not. */
void vg_process_clear(void);

/* For the library's destructors: what vg_process() has returned, if the library is unloaded.  NULL if nothing has called
 * it yet, or if the program exits: then other threads may still use what the library has, and nothing is to be freed. */
struct vg_process *vg_process_unloaded(void);

/* Calls `run`, which is remembered for good, and frees what vg_process() has returned. */
void vg_process_at_unload(void (*run)(void));
void vg_process_free(void);

#endif
