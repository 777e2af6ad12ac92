/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/lanes.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/intern.h"
#include "libvgctl/host_ring.h"
#include "libvgctl/process.h"
#include "libvgctl/vgctl.h"

/* If a thread finds no lane at its first event, it searches again at every 64th event. */
enum { RETRY_EVERY = 64 };

unsigned int vgctl_recording;
struct vg_lanes_state *_Atomic vg_lanes_state;
__thread struct vg_producer_local vg_producer_local;

/* Protects everything below.  Exception: a ring's producer belongs to the thread that has the producer's lane. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t thread_key;
static bool prepared;
static uint32_t sessions;
/* All rings of this process and of its ancestors, latest first, linked by `previous`.  They stay mapped, because a
 * thread may still be writing to a ring. */
static struct vg_host_ring *rings;

/* Strings by id - 1.  Kept until the library is unloaded, because ids stay valid in later sessions. */
static struct vg_intern labels;
static size_t labels_bytes;

static struct vg_lanes_state *state_get(void)
{
	return atomic_load_explicit(&vg_lanes_state, memory_order_acquire);
}

/* This process's ring, or NULL. */
static struct vg_host_ring *ring_get(void)
{
	struct vg_lanes_state *state = state_get();

	return state != NULL ? atomic_load_explicit(&state->ring, memory_order_acquire) : NULL;
}

/* ---- end of threads, fork, unloading ---- */

static void thread_end(void *argument)
{
	struct vg_producer *own = argument;

	vg_producer_local.producer = NULL;
	/* In a child of fork(2) the lane is the parent's. */
	if (own == NULL || own->ring != ring_get())
		return;
	atomic_store_explicit(&own->lane->interval, 0, memory_order_relaxed);
	atomic_store_explicit(&own->lane->taken, 0, memory_order_release);
}

/* The signals that were blocked before fork(2).  Protected by the mutex. */
static sigset_t before_fork;

static void fork_prepare(void)
{
	sigset_t before;

	vg_process_lock(&mutex, &before);
	before_fork = before;
}

static void fork_parent(void)
{
	sigset_t before = before_fork;

	vg_process_unlock(&mutex, &before);
}

static void fork_child(void)
{
	vg_process_clear();
	vgctl_recording = 0;
	fork_parent();
}

/* Registers the fork handlers once.  Called under the mutex. */
static void forks_watch(void)
{
	static bool watched;

	if (!watched)
		pthread_atfork(fork_prepare, fork_parent, fork_child);
	watched = true;
}

/* Called under the mutex.  pthread_once(3) is not used, because it calls futex(2): if a system call filter forbids
 * futex(2), the C library aborts the program. */
static bool prepare(void)
{
	struct vg_process *process = vg_process();

	if (prepared || process == NULL || pthread_key_create(&thread_key, thread_end) != 0)
		return prepared;
	forks_watch();
	atomic_store_explicit(&vg_lanes_state, &process->lanes, memory_order_release);
	prepared = true;
	return true;
}

/* Registers the fork handlers when the library is loaded, so that no child of fork(2) finds the mutex locked.  If the
 * program is linked with libvgctl.a, one of its own constructors may already have begun a session and registered
 * the handlers.  Do not call prepare() here: it calls vg_process(), which a constructor must not do. */
__attribute__((constructor)) static void forks_watch_early(void)
{
	sigset_t before;

	vg_process_prepare();
	vg_process_lock(&mutex, &before);
	forks_watch();
	vg_process_unlock(&mutex, &before);
}

/* If the library is being unloaded and has no session, frees its memory. */
__attribute__((destructor)) static void unprepare(void)
{
	struct vg_process *process = vg_process_unloaded();

	if (prepared)
		pthread_key_delete(thread_key);
	if (process == NULL || process->session_list.sessions != NULL)
		return;
	prepared = false;
	atomic_store(&vg_lanes_state, NULL);
	while (rings != NULL) {
		struct vg_host_ring *previous = rings->previous;

		vg_host_ring_free(rings);
		rings = previous;
	}
	vg_intern_free(&labels);
	vg_process_free();
}

/* ---- labels ---- */

/* Adds the labels that the ring does not have yet. */
static void labels_publish(struct vg_host_ring *ring)
{
	size_t length;
	const char *text;

	while (ring->labels_count < labels.count) {
		text = vg_intern_bytes(&labels, ring->labels_count, &length);
		if (!vg_host_ring_add_label(ring, text, length))
			return;
	}
}

static uint32_t label_add(const char *text)
{
	size_t length = strnlen(text, VG_LANES_LABEL_MAX);
	struct vg_host_ring *ring = ring_get();
	uint32_t id;

	if (vg_intern_find(&labels, text, length, &id))
		return id + 1;
	if (labels_bytes + 2 + length > VG_LANES_LABELS_BYTES ||
	    vg_intern(&labels, text, length, &id) < 0)
		return 0;
	labels_bytes += 2 + length;
	if (ring != NULL)
		labels_publish(ring);
	return id + 1;
}

uint32_t vgctl_intern(const char *text)
{
	sigset_t before;
	uint32_t id;

	if (text == NULL || *text == '\0')
		return 0;
	vg_process_lock(&mutex, &before);
	prepare();
	id = label_add(text);
	vg_process_unlock(&mutex, &before);
	return id;
}

/* ---- the ring ---- */

static struct vg_host_ring *ring_open(void)
{
	struct vg_host_ring *ring;

	/* The latest ring belonged to a parent process, or to a helper that did not answer. */
	if (rings != NULL && vg_host_ring_fd_is_open(rings))
		close(rings->fd);
	ring = vg_host_ring_open();
	if (ring == NULL)
		return NULL;
	ring->previous = rings;
	rings = ring;
	labels_publish(ring);
	return ring;
}

int vg_lanes_fd(void)
{
	struct vg_host_ring *ring = NULL;
	sigset_t before;

	vg_process_lock(&mutex, &before);
	if (prepare()) {
		ring = ring_get();
		if (ring == NULL || !vg_host_ring_fd_is_open(ring)) {
			ring = ring_open();
			atomic_store_explicit(&state_get()->ring, ring, memory_order_release);
		}
	}
	vg_process_unlock(&mutex, &before);
	return ring != NULL ? ring->fd : -1;
}

/* A new number makes all threads forget their open intervals.  So the number stays while the helper listens, because a
 * remote recording may need the ends of these intervals.  Called under the mutex. */
static void session_number(struct vg_lanes_state *state, bool overwrite)
{
	if (atomic_load(&state->listening) != 0)
		return;
	if (++sessions == 0)
		sessions = 1;
	atomic_store_explicit(&state->overwrite, overwrite, memory_order_relaxed);
	atomic_store_explicit(&state->session, sessions, memory_order_release);
}

void vg_lanes_start(bool overwrite)
{
	struct vg_lanes_state *state = state_get();
	sigset_t before;

	vg_process_lock(&mutex, &before);
	if (ring_get() != NULL)
		atomic_store(&ring_get()->lanes->heartbeat_ns, 0);
	session_number(state, overwrite);
	atomic_store_explicit(&state->wanted, &state->session, memory_order_release);
	__atomic_store_n(&vgctl_recording, 1, __ATOMIC_RELEASE);
	vg_process_unlock(&mutex, &before);
}

void vg_lanes_stop(void)
{
	struct vg_lanes_state *state = state_get();
	struct vg_host_ring *ring = ring_get();

	if (ring != NULL && atomic_load(&state->listening) != 0) {
		atomic_store_explicit(&state->wanted, &ring->lanes->remote, memory_order_release);
		return;
	}
	__atomic_store_n(&vgctl_recording, 0, __ATOMIC_RELEASE);
	if (state == NULL)
		return;
	atomic_store(&state->listening, 0);
	atomic_store_explicit(&state->session, 0, memory_order_release);
}

void vg_lanes_listen(bool overwrite)
{
	struct vg_lanes_state *state = state_get();
	struct vg_host_ring *ring = ring_get();
	sigset_t before;

	if (ring == NULL)
		return;
	vg_process_lock(&mutex, &before);
	session_number(state, overwrite);
	atomic_store(&state->listening, 1);
	atomic_store_explicit(&state->wanted, &ring->lanes->remote, memory_order_release);
	__atomic_store_n(&vgctl_recording, 1, __ATOMIC_RELEASE);
	vg_process_unlock(&mutex, &before);
}

void vg_lanes_unlisten(void)
{
	struct vg_lanes_state *state = state_get();

	if (state == NULL || atomic_exchange(&state->listening, 0) == 0)
		return;
	/* A session of the program continues to record. */
	if (atomic_load(&state->wanted) != &state->session)
		vg_lanes_stop();
}

void vg_lanes_release(bool helper_exited)
{
	struct vg_lanes_state *state = state_get();
	struct vg_host_ring *ring = ring_get();
	sigset_t before;

	/* A remote recording or a session of the program may use the ring. */
	if (ring == NULL || atomic_load(&state->session) != 0)
		return;
	vg_process_lock(&mutex, &before);
	/* If the helper was killed, it may run for another moment and write to the ring.  So unless the helper has
	 * exited, do not touch this ring: the next session gets a new ring. */
	if (helper_exited) {
		atomic_store(&ring->lanes->remote, 0); /* a killed helper may have left it set */
		vg_host_ring_release_pages(ring);
	} else {
		atomic_store_explicit(&state->ring, NULL, memory_order_release);
	}
	vg_process_unlock(&mutex, &before);
}

/* ---- the heartbeat ---- */

void vg_lanes_heartbeat(uint64_t time_ns)
{
	struct vg_producer_local *own = &vg_producer_local;
	struct vg_host_ring *ring = ring_get();

	if (ring == NULL)
		return;
	if (own->tid_ring != ring) {
		own->tid = (int32_t)syscall(SYS_gettid); /* gettid(3) needs glibc 2.30 */
		own->tid_ring = ring;
	}
	atomic_store_explicit(&ring->lanes->heartbeat_tid, own->tid, memory_order_relaxed);
	atomic_store_explicit(&ring->lanes->heartbeat_ns, time_ns, memory_order_release);
}

uint32_t vg_lanes_stalls_written(void)
{
	struct vg_host_ring *ring = ring_get();

	return ring != NULL ? atomic_load_explicit(&ring->lanes->stalls_written, memory_order_acquire) : 0;
}

/* ---- lanes ---- */

void vg_lanes_count_dropped(uint64_t records)
{
	struct vg_host_ring *ring = ring_get();

	if (ring != NULL)
		atomic_fetch_add_explicit(&ring->lanes->refused, records, memory_order_relaxed);
}

static bool lane_take(struct vg_lane *lane)
{
	uint32_t no = 0;

	/* The lane is free only if the helper has fetched all records of its last owner. */
	return atomic_load_explicit(&lane->taken, memory_order_relaxed) == 0 &&
	       atomic_compare_exchange_strong(&lane->taken, &no, 1) &&
	       (atomic_load(&lane->tail) == atomic_load(&lane->head) ||
		(atomic_store(&lane->taken, 0), false));
}

static struct vg_producer *lane_claim(struct vg_host_ring *ring)
{
	for (uint32_t i = 0; i < VG_LANES; i++) {
		struct vg_producer *own = &ring->producers[i];
		uint32_t used = atomic_load(&ring->lanes->used);

		if (!lane_take(&ring->lanes->lanes[i]))
			continue;
		own->lane = &ring->lanes->lanes[i];
		own->records = vg_host_ring_records(ring, i);
		if (own->records == NULL) {
			atomic_store(&own->lane->taken, 0);
			return NULL;
		}
		own->ring = ring;
		own->index = i;
		own->session = 0;
		atomic_store_explicit(&own->lane->interval, 0, memory_order_relaxed);
		atomic_store_explicit(&own->lane->owner, (int32_t)syscall(SYS_gettid),
				      memory_order_relaxed);
		atomic_store_explicit(&own->lane->name, vg_producer_local.name,
				      memory_order_relaxed);
		atomic_fetch_add_explicit(&own->lane->claims, 1, memory_order_release);
		while (used < i + 1 && !atomic_compare_exchange_weak(&ring->lanes->used, &used, i + 1))
			;
		vg_producer_local.producer = own;
		pthread_setspecific(thread_key, own);
		return own;
	}
	return NULL;
}

/* Returns the calling thread's lane, even if there is no session. */
static struct vg_producer *lane_get(void)
{
	struct vg_producer *own = vg_producer_local.producer;
	struct vg_host_ring *ring = ring_get();

	if (ring == NULL || (own != NULL && own->ring == ring))
		return ring != NULL ? own : NULL;
	if (vg_producer_local.retry_count++ % RETRY_EVERY != 0)
		return NULL;
	own = lane_claim(ring);
	if (own != NULL)
		vg_producer_local.retry_count = 0;
	return own;
}

struct vg_producer *vg_producer_get(void)
{
	struct vg_lanes_state *state = state_get();
	struct vg_producer *own;
	uint32_t session;

	if (ring_get() == NULL)                  /* a child process that inherited the flag */
		__atomic_store_n(&vgctl_recording, 0, __ATOMIC_RELAXED);
	session = atomic_load_explicit(&state->session, memory_order_acquire);
	if (session == 0)
		return NULL;
	own = lane_get();
	if (own == NULL || own->session == session)
		return own;
	own->depth = own->untracked = 0;
	atomic_store_explicit(&own->lane->interval, 0, memory_order_relaxed);
	own->head_limit = atomic_load_explicit(&state->overwrite, memory_order_relaxed) ? UINT64_MAX :
		     atomic_load_explicit(&own->lane->tail, memory_order_acquire) + VG_LANE_RECORDS;
	own->session = session;
	return own;
}

void vgctl_thread_name(const char *name)
{
	struct vg_producer *own;
	/* A signal handler may call this while the thread writes a record. */
	uint32_t busy = vg_producer_local.busy;

	vg_producer_local.name = vgctl_intern(name);
	if (vg_lanes_fd() < 0)
		return;
	vg_producer_local.busy = 1;
	own = lane_get();
	if (own != NULL)
		atomic_store_explicit(&own->lane->name, vg_producer_local.name,
				      memory_order_release);
	vg_producer_local.busy = busy;
}
