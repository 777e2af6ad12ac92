/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_MODULES_H
#define VG_VIGNETTED_MODULES_H

#include <stdbool.h>

#include "base/array.h"
#include "vignetted/target/image.h"
#include "vignetted/target/memory.h"

enum { VG_MODULES_MAX_DEFAULT = 16384 };

/* An executable or library in the process's memory, now or earlier in the session. */
struct vg_mapped {
	char name[256];              /* basename, without " (deleted)"; "[vdso]" */
	struct vg_image image;
	uint64_t device, inode;
	bool loaded;                 /* it is there now */
	uint64_t held;               /* vg_modules.doubts when it was last seen to be */
};

struct vg_frame;

/* A range of addresses that can be executed. */
struct vg_code_range {
	uint64_t start, end;
	uint32_t module;             /* index, or UINT32_MAX: no ELF image (JIT code) */
};

/*
 * Where code is in the process.  Reading /proc/PID/maps is dear, so it is read when an address
 * is unknown or when vg_modules_check() or vg_modules_hold() find that what is known is no longer
 * true.
 */
struct vg_modules {
	struct vg_memory *memory;    /* the session's */
	VG_ARRAY(struct vg_mapped) items; /* indices stay valid for the whole session */
	VG_ARRAY(struct vg_code_range) ranges; /* sorted, disjoint */
	uint64_t generation;         /* changes whenever modules came or went */
	uint64_t doubts;             /* how often vg_modules_doubt() was called */
	size_t max;                  /* modules to know, in the whole session; to be set; 0: the default */
	size_t over, over_most;      /* found no place, when the maps were last read and at most */
};

/* Reads the maps.  0 or a negative errno: -ESRCH when the process is gone. */
int vg_modules_refresh(struct vg_modules *modules);

/* Whether every loaded module is still where it was: one process_vm_readv(2) of their marks.
 * Notices dlclose, a dlopen of something else at the same address, and exec. */
bool vg_modules_check(const struct vg_modules *modules);

/*
 * The same of those modules only that a walk has gone through, each once until the next
 * vg_modules_doubt(): stacks go through few of a program's libraries, and each mark is a page of the
 * process that is in no cache.
 */
bool vg_modules_hold(struct vg_modules *modules, const struct vg_frame *frames, size_t count);
void vg_modules_doubt(struct vg_modules *modules);

/* The range that an address is in, or NULL. */
const struct vg_code_range *vg_modules_find(const struct vg_modules *modules, uint64_t address);

void vg_modules_free(struct vg_modules *modules);

#endif
