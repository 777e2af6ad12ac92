/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/process.h"

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

static struct vg_process *_Atomic page;

/* The last token that this process or an ancestor got.  A child inherits the number and continues to count from it. */
static _Atomic uint64_t tokens;

static _Atomic bool exiting;

static void exit_note(void)
{
	atomic_store(&exiting, true);
}

static void (*_Atomic unload)(void);

/* The library is a part of the program, or was loaded with the program.  Then it is never unloaded, and its destructors
 * run only when the program exits.  `exiting` does not suffice: a thread may use the library for the first time while
 * the destructors run. */
static bool loaded_at_start;

bool vg_process_object_has_library(const struct dl_phdr_info *object)
{
	uintptr_t code = (uintptr_t)vg_process_object_has_library - object->dlpi_addr;

	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];

		if (part->p_type == PT_LOAD && code >= part->p_vaddr && code - part->p_vaddr < part->p_memsz)
			return true;
	}
	return false;
}

/* Objects are listed in the order in which they were loaded: first the program, then what it needs, with the dynamic
 * linker among it, then what dlopen(3) has loaded.  If the first object is not the program, the list is that of a
 * namespace of dlmopen(3). */
static int object_visit(struct dl_phdr_info *object, size_t bytes, void *argument)
{
	uintptr_t linker = getauxval(AT_BASE);
	bool *is_first = argument;

	(void)bytes;
	if (*is_first && (uintptr_t)object->dlpi_phdr != getauxval(AT_PHDR))
		return 1;
	if (vg_process_object_has_library(object)) {
		loaded_at_start = true;
		return 1;
	}
	*is_first = false;
	return linker == 0 || object->dlpi_addr == linker;
}

static struct vg_process *page_map(void)
{
	struct vg_process *other = NULL, *process = mmap(NULL, sizeof *process, PROT_READ | PROT_WRITE,
							 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (process == MAP_FAILED)
		return NULL;
	/* The kernel zeroes the page in every child with its own memory, even after clone(2), which does not run the
	 * handlers of pthread_atfork(3). */
	madvise(process, sizeof *process, MADV_WIPEONFORK);
	if (atomic_compare_exchange_strong(&page, &other, process))
		return process;
	munmap(process, sizeof *process);
	return other;
}

void vg_process_prepare(void)
{
	bool is_first = true;

	dl_iterate_phdr(object_visit, &is_first);
	/* A library that dlopen(3) loads while the program runs: this handler runs before the library's destructors. */
	if (!loaded_at_start && atexit(exit_note) != 0)
		exit_note();
	if (atomic_load(&page) == NULL)
		page_map();
}

struct vg_process *vg_process(void)
{
	struct vg_process *process = atomic_load_explicit(&page, memory_order_acquire);
	static _Atomic bool noted;

	if (process == NULL)
		process = page_map();
	if (!atomic_load(&noted) && !atomic_exchange(&noted, true) && atexit(exit_note) != 0)
		exit_note();
	return process;
}

uint64_t vg_process_token(void)
{
	struct vg_process *process = vg_process();
	uint64_t token = process != NULL ? atomic_load(&process->token) : 0, fresh;

	if (process == NULL || token != 0)
		return token;
	fresh = atomic_fetch_add(&tokens, 1) + 1;
	return atomic_compare_exchange_strong(&process->token, &token, fresh) ? fresh : token;
}

void vg_process_clear(void)
{
	struct vg_process *process = atomic_load(&page);

	if (process != NULL)
		memset((void *)process, 0, sizeof *process);
}

void vg_process_at_unload(void (*run)(void))
{
	atomic_store(&unload, run);
}

struct vg_process *vg_process_unloaded(void)
{
	void (*run)(void);

	if (loaded_at_start || atomic_load(&exiting))
		return NULL;
	run = atomic_exchange(&unload, NULL);
	if (run != NULL)
		run();
	return atomic_load(&page);
}

static void signals_block(sigset_t *before)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
	sigset_t others;

	sigfillset(&others);
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		sigdelset(&others, own[i]);
	pthread_sigmask(SIG_BLOCK, &others, before);
}

void vg_process_lock(pthread_mutex_t *mutex, sigset_t *before)
{
	signals_block(before);
	pthread_mutex_lock(mutex);
}

bool vg_process_trylock(pthread_mutex_t *mutex, sigset_t *before)
{
	signals_block(before);
	if (pthread_mutex_trylock(mutex) == 0)
		return true;
	pthread_sigmask(SIG_SETMASK, before, NULL);
	return false;
}

void vg_process_unlock(pthread_mutex_t *mutex, const sigset_t *before)
{
	pthread_mutex_unlock(mutex);
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

void vg_process_free(void)
{
	struct vg_process *process = atomic_exchange(&page, NULL);

	if (process != NULL)
		munmap(process, sizeof *process);
}
