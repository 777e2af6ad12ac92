/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#ifndef VG_MEMORY_PAGES          /* the fuzzer sets fewer */
#define VG_MEMORY_PAGES 1024
#endif
enum { PAGE_BYTES = 4096, PAGE_COUNT = VG_MEMORY_PAGES };

struct vg_memory_page {
	uint64_t number;             /* address / PAGE_BYTES */
	uint64_t epoch;              /* vg_memory.epoch when it was read; 0: empty */
	unsigned char bytes[PAGE_BYTES];
};

int vg_memory_open(struct vg_memory *memory, pid_t pid)
{
	memory->pid = pid;
	memory->words_left = UINT64_MAX;
	memory->epoch = 1;
	/* 4 MiB.  The kernel allocates each page when it is first used: a small program needs few. */
	memory->pages = calloc(PAGE_COUNT, sizeof *memory->pages);
	return memory->pages != NULL ? 0 : -ENOMEM;
}

void vg_memory_free(struct vg_memory *memory)
{
	free(memory->pages);
	memory->pages = NULL;
}

int vg_memory_read(const struct vg_memory *memory, uint64_t address, void *bytes, size_t length)
{
	struct iovec local = { bytes, length }, remote = { (void *)address, length };

	if (process_vm_readv(memory->pid, &local, 1, &remote, 1, 0) != (ssize_t)length)
		return -EFAULT;
	return 0;
}

static const struct vg_memory_page *page_get(struct vg_memory *memory, uint64_t number)
{
	struct vg_memory_page *page = &memory->pages[number % PAGE_COUNT];

	if (page->number == number && page->epoch == memory->epoch)
		return page;
	page->epoch = 0;
	if (!vg_memory_words_use(memory, PAGE_BYTES / sizeof(uint64_t)) ||
	    vg_memory_read(memory, number * PAGE_BYTES, page->bytes, PAGE_BYTES) != 0)
		return NULL;
	page->number = number;
	page->epoch = memory->epoch;
	return page;
}

int vg_memory_read_cached(struct vg_memory *memory, uint64_t address, void *bytes, size_t length)
{
	unsigned char *to = bytes;

	if (!vg_memory_words_use(memory, (length + sizeof(uint64_t) - 1) / sizeof(uint64_t)))
		return -EFAULT;
	while (length > 0) {
		size_t offset = address % PAGE_BYTES;
		size_t piece = PAGE_BYTES - offset < length ? PAGE_BYTES - offset : length;
		const struct vg_memory_page *page = page_get(memory, address / PAGE_BYTES);

		if (page == NULL)
			return -EFAULT;
		memcpy(to, page->bytes + offset, piece);
		to += piece;
		address += piece;
		length -= piece;
	}
	return 0;
}

/* Does not touch the pages: that takes 1 ms, which is much for a process that lives for a short time. */
void vg_memory_cache_drop(struct vg_memory *memory)
{
	memory->epoch++;
}
