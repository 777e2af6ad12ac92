/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_MEMORY_H
#define VG_VIGNETTED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The memory of the sampled process, read without stopping it.  What does not change while a
 * module is loaded (headers, unwind tables, code) is read through a cache of pages.
 */
struct vg_memory {
	pid_t pid;                   /* of any thread that is alive; may be changed */
	struct vg_memory_page *pages; /* owned; direct-mapped */
	uint64_t words_left;         /* that may be read through the cache, pages that it takes in included; the
	                                caller may set it, else there is no limit */
};

/* Takes that many words off what is left.  False: it is not enough, and nothing is left from now on. */
static inline bool vg_memory_spend(struct vg_memory *memory, uint64_t words)
{
	bool enough = words <= memory->words_left;

	memory->words_left = enough ? memory->words_left - words : 0;
	return enough;
}

/* 0 or -ENOMEM. */
int vg_memory_open(struct vg_memory *memory, pid_t pid);
void vg_memory_free(struct vg_memory *memory);

/* Reads now, all of it.  0 or -EFAULT. */
int vg_memory_read(const struct vg_memory *memory, uint64_t address, void *bytes, size_t length);

/* Reads through the cache, all of it.  0 or -EFAULT, also when too few words are left. */
int vg_memory_read_cached(struct vg_memory *memory, uint64_t address, void *bytes, size_t length);

/* Forgets the cached pages: call it when modules came or went. */
void vg_memory_forget(struct vg_memory *memory);

#endif
