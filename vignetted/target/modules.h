/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_MODULES_H
#define VG_VIGNETTED_MODULES_H

#include <stdbool.h>

#include "base/array.h"
#include "profile/model.h"
#include "vignetted/target/image.h"
#include "vignetted/target/memory.h"
#include "vignetted/target/ranges.h"

/* The most marks that one process_vm_readv(2) reads.  The kernel allows 1024 (IOV_MAX). */
enum { VG_MARKS_MAX = 256 };

/* The most modules in one session, including unloaded ones.  A frame in a further module has no module. */
enum { VG_MODULES_MAX = 16384 };

/* An executable or library that the process has or had loaded in this session. */
struct vg_process_module {
	char name[256];              /* basename of its file without " (deleted)", or "[vdso]" */
	struct vg_image image;
	uint64_t device, inode;      /* of its file; 0: none */
	uint64_t path_hash;          /* of the file's path; 0: not known */
	bool loaded;                 /* it is loaded now */
	uint64_t confirmed_ns;       /* CLOCK_MONOTONIC when its mark was last seen; 0: never */
	bool check_due;              /* its memory was read after confirmed_ns: rows from that memory may be kept only
					if its mark is seen again */
	uint64_t seen_at_copy;       /* value of vg_modules.copies when its mark was last seen by vg_modules_copied() */
	uint64_t checked_call;       /* value of vg_modules.confirm_calls when its mark was last read */
	bool file_done;              /* its file was read or is not needed */
};

/* One frame of a walk. */
struct vg_frame {
	uint64_t address;            /* absolute; the return address - 1, except in the leaf frame and in a frame
					that a signal interrupted.  VG_FOUND_IN_KERNEL: the number of a kernel symbol */
	uint32_t module;             /* index into vg_modules, or VG_NONE; not for VG_FOUND_IN_KERNEL */
	enum vg_found_by found;
};

/* What proves which modules were loaded when a stack was copied. */
enum vg_evidence {
	VG_EVIDENCE_MARKS,           /* the stack was copied just now: modules were known before the copy, marks are
					checked after it */
	VG_EVIDENCE_MARKS_LATE,      /* the stack was copied earlier: marks are the evidence here too, but an address
					that belonged to several modules in turn, or to one that was first seen less
					than a second before the moment, counts as unknown */
	VG_EVIDENCE_RECORDS,         /* the stack was copied earlier: the kernel has recorded all mappings of code
					since */
};

/* When a stack was copied. */
struct vg_moment {
	uint64_t time_ns;            /* CLOCK_MONOTONIC: the time of the copy, or shortly before it */
	enum vg_evidence evidence;
};

/* The kernel's record that code was mapped, or that a mapping became executable. */
struct vg_mapping {
	uint64_t time_ns;            /* CLOCK_MONOTONIC */
	uint64_t address, bytes;
	uint64_t device, inode;      /* the file's; 0: none */
};

/*
 * Where the process has code, and where it had code before.  Reading /proc/PID/maps is expensive.  So the maps are read
 * only when an address is unknown, or when vg_modules_check() or vg_modules_confirm() finds that they are outdated.
 *
 * 	struct vg_modules modules = { .memory = &memory };
 * 	vg_modules_refresh(&modules);
 * 	modules.moment = (struct vg_moment){ now_ns, VG_EVIDENCE_MARKS };
 * 	range = vg_modules_find(&modules, address);      // modules.items.items[range->module]
 * 	vg_modules_free(&modules);
 */
struct vg_modules {
	struct vg_memory *memory;    /* the caller's */
	VG_ARRAY(struct vg_process_module) items; /* indices stay valid for the whole session */
	struct vg_ranges ranges;
	VG_ARRAY(uint64_t) fences;   /* sorted: where a mapping of a file or of shared memory begins at the end of
					another mapping */
	uint64_t stack_end;          /* end of the first thread's stack; 0: not known */
	struct vg_moment moment;     /* set by the caller: the time that vg_modules_find() is asked about */
	uint64_t generation;         /* changes whenever modules were loaded or unloaded */
	uint64_t confirm_calls;      /* calls of vg_modules_confirm() */
	uint64_t copies, copied_ns;  /* calls of vg_modules_copied(), and CLOCK_MONOTONIC of the latest one */
	bool young_are_checked;      /* it has also read the marks of modules that were first seen lately */
	uint32_t searches_left;      /* set by the caller: searches that vg_modules_mapping_add() may still make */
	bool exited;                 /* the process had exited when its maps were last read */
	size_t max;                  /* set by the caller: the most modules in the whole session; 0: VG_MODULES_MAX */
	size_t excess, excess_max;   /* modules beyond `max`: at the latest reading, and the most so far */
	uint32_t fdes_total;         /* entries in all indices of .eh_frame */
	uint64_t files_cpu_ns;       /* CPU time that the current reading has taken for module files */
	size_t links_at;             /* vg_modules_check() next compares the link in /proc/PID/map_files of the range
					ranges.now.items[links_at % ranges.now.count] */
};

/* Reads the maps.  Returns 0, -ESRCH if the process has exited, or another negative errno. */
int vg_modules_refresh(struct vg_modules *modules);

/* Whether every loaded module is still where it was.  Reads all marks.  Notices a dlclose(3), a dlopen(3) of another
 * module at the same address, and an execve(2). */
bool vg_modules_check(struct vg_modules *modules);

/* Returns the number of frames, counted from the leaf, whose modules were certainly loaded at modules->moment.  Reads
 * the marks of the frames' modules only, and skips a mark that was already seen after modules->moment: reading a mark
 * touches a page of the process that is in no CPU cache.  Where another module may have been at the copy, the mark must
 * also have been seen by vg_modules_copied(). */
size_t vg_modules_confirm(struct vg_modules *modules, const struct vg_frame *frames, size_t count);

/* Whether another module may have had the addresses of a module: one was replaced before, or one is new. */
bool vg_modules_may_be_replaced(const struct vg_modules *modules, uint64_t now_ns);

/* Call it after a stack was copied, while its thread certainly does not run: a module that a thread has on its stack is
 * not unloaded.  Reads the marks of the modules whose addresses several modules have had, and of those that were first
 * seen in the last second.  Mostly there are none. */
void vg_modules_copied(struct vg_modules *modules);

/* Call it after the module's memory was read, if results of the read are kept.  The next vg_modules_confirm() then
 * reads the module's mark again. */
void vg_modules_require_check(struct vg_modules *modules, uint32_t module);

/* Cancels what vg_modules_require_check() required, and empties the cache of the target's memory.  Call it when all
 * results that are not confirmed yet were dropped. */
void vg_modules_checks_drop(struct vg_modules *modules);

/* Adds a mapping that the kernel recorded.  The calls must be in order of time.  Returns false if the mapping belongs
 * to a file, but no known module of that file is at the address.  The caller then calls vg_modules_refresh(), and this
 * function again with the same mapping. */
bool vg_modules_mapping_add(struct vg_modules *modules, const struct vg_mapping *mapping);

/* Returns the range that contained the address at modules->moment, or NULL if that is not known. */
const struct vg_code_range *vg_modules_find(const struct vg_modules *modules, uint64_t address);

/* For addresses that vg_modules_find() does not know: whether code is there now; whether a module that is no longer
 * there had code there. */
bool vg_modules_is_code(const struct vg_modules *modules, uint64_t address);
bool vg_modules_was_code(const struct vg_modules *modules, uint64_t address);

/* Where reading upwards from `address` would reach a mapping of a file or of shared memory, as of the latest reading of
 * the maps.  UINT64_MAX: nowhere. */
uint64_t vg_modules_fence(const struct vg_modules *modules, uint64_t address);

/* The number of modules that have too many functions for an index of .eh_frame. */
size_t vg_modules_unindexed(const struct vg_modules *modules);

void vg_modules_free(struct vg_modules *modules);

#endif
