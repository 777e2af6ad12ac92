/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_MEMORY_H
#define VG_VIGNETTED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The memory of the target, read while it runs.  Memory that does not change while a module is loaded (headers, unwind
 * information, code) is read through a cache of pages.
 *
 * 	vg_memory_open(&memory, pid);
 * 	memory.words_left = 100000;      // limits the work for one sample
 * 	if (vg_memory_read_cached(&memory, address, &word, sizeof word) != 0)
 * 		the address is not mapped, or no words are left
 */
struct vg_memory {
	pid_t pid;                   /* a live thread of the target; the caller may change it */
	struct vg_memory_page *pages; /* owned; the cache, direct-mapped */
	uint64_t epoch;              /* older pages of the cache are not used */
	uint64_t words_left;         /* set by the caller: 8-byte words that may still be read through the cache.  A
					page that is read into the cache counts as a whole. */
};

/* Subtracts `words` from words_left.  If too few are left, sets words_left to 0 and returns false. */
static inline bool vg_memory_words_use(struct vg_memory *memory, uint64_t words)
{
	bool enough = words <= memory->words_left;

	memory->words_left = enough ? memory->words_left - words : 0;
	return enough;
}

/* Returns 0 or -ENOMEM. */
int vg_memory_open(struct vg_memory *memory, pid_t pid);
void vg_memory_free(struct vg_memory *memory);

/* Reads without the cache.  Returns 0, or -EFAULT if not all bytes can be read. */
int vg_memory_read(const struct vg_memory *memory, uint64_t address, void *bytes, size_t length);

/* Reads through the cache.  Returns 0, or -EFAULT if not all bytes can be read or too few words are left. */
int vg_memory_read_cached(struct vg_memory *memory, uint64_t address, void *bytes, size_t length);

/* Empties the cache.  Call it when modules were loaded or unloaded. */
void vg_memory_cache_drop(struct vg_memory *memory);

#endif
