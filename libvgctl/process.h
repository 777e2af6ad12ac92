/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_PROCESS_H
#define VG_LIBVGCTL_PROCESS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct dl_phdr_info;
struct vgctl_session;
struct vg_host_ring;

/* The state of lanes.h.  A child process must not inherit this state, because a child must not write to its parent's
 * ring. */
struct vg_lanes_state {
	struct vg_host_ring *_Atomic ring; /* NULL: this process has none */
	_Atomic uint32_t session;    /* number of the session that records, or 0.  While the helper listens, it is not
	                                0, and stays the same from session to session. */
	const _Atomic uint32_t *_Atomic wanted; /* points to `session` during the program's own sessions, otherwise to
	                                vg_lanes.remote of the ring.  Events are recorded while the value is not 0. */
	_Atomic uint32_t overwrite;  /* 1: new records overwrite the oldest ones */
	_Atomic uint32_t listening;  /* 1: the helper listens, so that remote recordings may want events */
};

/* The sessions of session_list.h.  A child process has none of its parent's sessions. */
struct vg_session_list {
	pthread_mutex_t mutex;       /* valid and unlocked when it is all zero, as PTHREAD_MUTEX_INITIALIZER is */
	struct vgctl_session *sessions; /* linked by `next`, in no order */
};

/*
 * State that a child of fork(2) or clone(2) must not inherit.  It is in a page with MADV_WIPEONFORK.  The kernel zeroes
 * that page in every child that gets its own memory.  So a child has no ring and no session, and its session list is
 * unlocked.
 *
 *     struct vg_process *process = vg_process();
 *     if (process != NULL)
 *             pthread_mutex_lock(&process->session_list.mutex);
 */
struct vg_process {
	struct vg_lanes_state lanes;
	struct vg_session_list session_list;
	_Atomic uint64_t token;      /* see vg_process_token(); 0: none yet */
};

/* Returns the state of this process, or NULL if there is no memory.  A constructor of the library must not call this
 * function: the function registers a handler with atexit(3).  The handler sets a flag, and the library's destructors
 * read the flag to find out whether the program exits.  Handlers run in reverse order, so a handler that a constructor
 * registered while the program starts would run after the destructors. */
struct vg_process *vg_process(void);

/* For the library's constructor.  Makes the page of struct vg_process, and finds out whether the library was loaded with
 * the program.  If a thread made the page later, a sanitizer that instruments only the program would report a race. */
void vg_process_prepare(void);

/* True if the library's code is in this object of dl_iterate_phdr(3). */
bool vg_process_object_has_library(const struct dl_phdr_info *object);

/* Returns a number that no ancestor and no descendant of this process has.  The pid is not enough: if a process is pid
 * 1, its child can be pid 1 of another namespace.  0: no memory. */
uint64_t vg_process_token(void);

/* Zeroes the state in a child, for kernels without MADV_WIPEONFORK. */
void vg_process_clear(void);

/*
 * Lock and unlock a mutex that a handler of pthread_atfork(3) also locks.  The calling thread's signals are blocked
 * while it holds the mutex.  Otherwise a signal handler that calls fork(2) would wait for its own thread for ever.
 * Signals such as SIGSEGV, which the thread raises itself, are not blocked: the kernel kills a program that raises
 * such a signal while the signal is blocked.  `before` holds the thread's signal mask from lock to unlock.
 */
void vg_process_lock(pthread_mutex_t *mutex, sigset_t *before);
bool vg_process_trylock(pthread_mutex_t *mutex, sigset_t *before);
void vg_process_unlock(pthread_mutex_t *mutex, const sigset_t *before);

/* For the library's destructors.  If the library is being unloaded, calls the function that vg_process_at_unload() has
 * registered, and returns the state.  Returns NULL if the program exits.  Then free nothing, because other threads may
 * still use the library. */
struct vg_process *vg_process_unloaded(void);

void vg_process_at_unload(void (*run)(void));
void vg_process_free(void);

#endif
