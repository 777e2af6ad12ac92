/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_PROCESS_H
#define VG_LIBVGCTL_PROCESS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct vgctl_session;
struct vg_lanes_host;

/* Of lanes.h.  A child must not write into its parent's ring. */
struct vg_lanes_state {
	struct vg_lanes_host *_Atomic host; /* the ring; NULL: there is none in this process */
	_Atomic uint32_t session;    /* recording, or 0 */
	_Atomic uint32_t overwrite;  /* the oldest records make room */
};

/* Of roster.h.  A child has none of its parent's sessions.  A mutex that another thread of the parent held is free
 * in the child. */
struct vg_roster {
	pthread_mutex_t mutex;       /* all zero is an initialised one */
	struct vgctl_session *sessions; /* by `next`, in no order */
};

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

/* Makes the page, as the library is loaded.  A sanitizer that sees the program and not the library would take a page
 * that is made by one of several threads for a race. */
void vg_process_prepare(void);

/* A number that differs from those of all ancestors and descendants.  A pid is no such number: the child of a pid 1 may
 * be pid 1 of another namespace.  0: no memory. */
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

/* For the library's destructors: the page, if the library is unloaded; NULL if the program exits: then other threads may
 * still use what the library has, and nothing is to be freed. */
struct vg_process *vg_process_unloaded(void);

/* Calls `run`, which is remembered for good, and frees what vg_process() has returned. */
void vg_process_at_unload(void (*run)(void));
void vg_process_free(void);

#endif
