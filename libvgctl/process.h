/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_PROCESS_H
#define VG_LIBVGCTL_PROCESS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
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

/* NULL: no memory. */
struct vg_process *vg_process(void);

/* A number that no process has from which this one descends, and none of its children.  A pid is no such number: the
 * child of a pid 1 may be pid 1 of another namespace.  0: no memory. */
uint64_t vg_process_token(void);

/* The same as the kernel does, for a child whose kernel did not. */
void vg_process_clear(void);

/*
 * For a mutex that a handler of pthread_atfork(3) takes.  The calling thread gets no signal while it holds the mutex: a
 * signal handler may call fork(2), and would wait for its own thread.  Signals for what the thread itself does, such as
 * SIGSEGV, still come: the kernel ends a program that blocks them.
 */
void vg_process_lock(pthread_mutex_t *mutex, sigset_t *before);
bool vg_process_trylock(pthread_mutex_t *mutex, sigset_t *before);
void vg_process_unlock(pthread_mutex_t *mutex, const sigset_t *before);

/* The library is unloaded. */
void vg_process_free(void);

#endif
