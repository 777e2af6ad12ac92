/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/lanes.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/intern.h"
#include "libvgctl/own_ring.h"
#include "libvgctl/process.h"
#include "libvgctl/vgctl.h"

/* A thread without a lane looks for one at the first of so many events. */
enum { RETRY_EVERY = 64 };

unsigned int vgctl_recording;
struct vg_lanes_state *_Atomic vg_lanes_state;
__thread struct vg_producer_local vg_producer_local;

/* All under the mutex, but for producers, which belong to who has the lane. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t thread_key;
static bool prepared;
static uint32_t sessions;
/* The latest ring, whether it is this process's or a parent's; and by `before` all others.  They stay mapped: a
 * thread may be in the middle of writing to one. */
static struct vg_lanes_host *rings;

/* Strings by id - 1.  Kept for ever: an id must stay valid in every later session. */
static struct vg_intern labels;
static size_t labels_bytes;

static struct vg_lanes_state *state_get(void)
{
	return atomic_load_explicit(&vg_lanes_state, memory_order_acquire);
}

/* This process's ring, or NULL. */
static struct vg_lanes_host *host_get(void)
{
	struct vg_lanes_state *state = state_get();

	return state != NULL ? atomic_load_explicit(&state->host, memory_order_acquire) : NULL;
}

/* ---- threads and processes that go ---- */

static void thread_end(void *argument)
{
	struct vg_producer *own = argument;

	vg_producer_local.producer = NULL;
	/* A child of fork(2) has this too, and the lane is its parent's. */
	if (own == NULL || own->host != host_get())
		return;
	atomic_store_explicit(&own->lane->interval, 0, memory_order_relaxed);
	atomic_store_explicit(&own->lane->taken, 0, memory_order_release);
}

/* Under the mutex: the signals that were blocked before fork(2). */
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

/* Under the mutex, once. */
static void forks_watch(void)
{
	static bool watched;

	if (!watched)
		pthread_atfork(fork_prepare, fork_parent, fork_child);
	watched = true;
}

/* Under the mutex.  Not by pthread_once(3): that calls futex(2), and the C library ends a program whose filter of
 * system calls forbids it. */
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

/* As the library is loaded, so that no fork(2) meets the mutex held.  A program that is linked with the archive may
 * have begun a session before: in a constructor of its own.  Nothing more is done here, see vg_process(). */
__attribute__((constructor)) static void forks_watch_early(void)
{
	sigset_t before;

	vg_process_prepare();
	vg_process_lock(&mutex, &before);
	forks_watch();
	vg_process_unlock(&mutex, &before);
}

/* Frees what the library has, if it is unloaded. */
__attribute__((destructor)) static void unprepare(void)
{
	struct vg_process *process = vg_process_unloaded();

	if (prepared)
		pthread_key_delete(thread_key);
	if (process == NULL || process->roster.sessions != NULL)
		return;
	prepared = false;
	atomic_store(&vg_lanes_state, NULL);
	while (rings != NULL) {
		struct vg_lanes_host *before = rings->before;

		vg_own_ring_free(rings);
		rings = before;
	}
	vg_intern_free(&labels);
	vg_process_free();
}

/* ---- labels ---- */

/* Those that the ring lacks. */
static void labels_publish(struct vg_lanes_host *host)
{
	size_t length;
	const char *text;

	while (host->labels_count < labels.count) {
		text = vg_intern_bytes(&labels, host->labels_count, &length);
		if (!vg_own_ring_label(host, text, length))
			return;
	}
}

static uint32_t label_add(const char *text)
{
	size_t length = strnlen(text, VG_LANES_LABEL_MAX);
	struct vg_lanes_host *host = host_get();
	uint32_t id;

	if (vg_intern_find(&labels, text, length, &id))
		return id + 1;
	if (labels_bytes + 2 + length > VG_LANES_LABELS_BYTES ||
	    vg_intern(&labels, text, length, &id) < 0)
		return 0;
	labels_bytes += 2 + length;
	if (host != NULL)
		labels_publish(host);
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

static struct vg_lanes_host *ring_open(void)
{
	struct vg_lanes_host *host;

	/* That of a parent process, or of a helper that did not answer. */
	if (rings != NULL && vg_own_ring_holds(rings))
		close(rings->fd);
	host = vg_own_ring_open();
	if (host == NULL)
		return NULL;
	host->before = rings;
	rings = host;
	labels_publish(host);
	return host;
}

int vg_lanes_fd(void)
{
	struct vg_lanes_host *host = NULL;
	sigset_t before;

	vg_process_lock(&mutex, &before);
	if (prepare()) {
		host = host_get();
		if (host == NULL || !vg_own_ring_holds(host)) {
			host = ring_open();
			atomic_store_explicit(&state_get()->host, host, memory_order_release);
		}
	}
	vg_process_unlock(&mutex, &before);
	return host != NULL ? host->fd : -1;
}

void vg_lanes_start(bool overwrite)
{
	struct vg_lanes_state *state = state_get();
	sigset_t before;

	vg_process_lock(&mutex, &before);
	atomic_store_explicit(&state->overwrite, overwrite, memory_order_relaxed);
	if (host_get() != NULL)
		atomic_store(&host_get()->lanes->beat_ns, 0);
	if (++sessions == 0)
		sessions = 1;
	atomic_store_explicit(&state->session, sessions, memory_order_release);
	__atomic_store_n(&vgctl_recording, sessions, __ATOMIC_RELEASE);
	vg_process_unlock(&mutex, &before);
}

void vg_lanes_stop(void)
{
	struct vg_lanes_state *state = state_get();

	__atomic_store_n(&vgctl_recording, 0, __ATOMIC_RELEASE);
	if (state != NULL)
		atomic_store_explicit(&state->session, 0, memory_order_release);
}

void vg_lanes_rest(bool helper_gone)
{
	struct vg_lanes_host *host;
	sigset_t before;

	vg_process_lock(&mutex, &before);
	host = host_get();
	/* Never unmapped: a thread may have been interrupted in the middle of a record, and writes
	 * the rest of it whenever it goes on. */
	if (host != NULL && helper_gone)
		vg_own_ring_rest(host);
	else if (host != NULL)
		atomic_store_explicit(&state_get()->host, NULL, memory_order_release);
	vg_process_unlock(&mutex, &before);
}

/* ---- the heartbeat ---- */

void vg_lanes_beat(uint64_t time_ns)
{
	struct vg_producer_local *own = &vg_producer_local;
	struct vg_lanes_host *host = host_get();

	if (host == NULL)
		return;
	if (own->tid_host != host) {
		own->tid = gettid();
		own->tid_host = host;
	}
	atomic_store_explicit(&host->lanes->beat_tid, own->tid, memory_order_relaxed);
	atomic_store_explicit(&host->lanes->beat_ns, time_ns, memory_order_release);
}

uint32_t vg_lanes_dumps(void)
{
	struct vg_lanes_host *host = host_get();

	return host != NULL ? atomic_load_explicit(&host->lanes->dumps, memory_order_acquire) : 0;
}

/* ---- lanes ---- */

void vg_lanes_refuse(uint64_t records)
{
	struct vg_lanes_host *host = host_get();

	if (host != NULL)
		atomic_fetch_add_explicit(&host->lanes->refused, records, memory_order_relaxed);
}

static bool lane_take(struct vg_lane *lane)
{
	uint32_t no = 0;

	/* What the helper has not fetched yet is the last owner's. */
	return atomic_load_explicit(&lane->taken, memory_order_relaxed) == 0 &&
	       atomic_compare_exchange_strong(&lane->taken, &no, 1) &&
	       (atomic_load(&lane->tail) == atomic_load(&lane->head) ||
		(atomic_store(&lane->taken, 0), false));
}

static struct vg_producer *lane_claim(struct vg_lanes_host *host)
{
	for (uint32_t i = 0; i < VG_LANES; i++) {
		struct vg_producer *own = &host->producers[i];
		uint32_t used = atomic_load(&host->lanes->used);

		if (!lane_take(&host->lanes->lanes[i]))
			continue;
		own->lane = &host->lanes->lanes[i];
		own->records = vg_own_ring_records(host, i);
		if (own->records == NULL) {
			atomic_store(&own->lane->taken, 0);
			return NULL;
		}
		own->host = host;
		own->index = i;
		own->session = 0;
		atomic_store_explicit(&own->lane->interval, 0, memory_order_relaxed);
		atomic_store_explicit(&own->lane->owner, gettid(), memory_order_relaxed);
		atomic_store_explicit(&own->lane->name, vg_producer_local.name,
				      memory_order_relaxed);
		atomic_fetch_add_explicit(&own->lane->claims, 1, memory_order_release);
		while (used < i + 1 && !atomic_compare_exchange_weak(&host->lanes->used, &used, i + 1))
			;
		vg_producer_local.producer = own;
		pthread_setspecific(thread_key, own);
		return own;
	}
	return NULL;
}

/* The calling thread's lane, whether a session is in progress or not. */
static struct vg_producer *lane_get(void)
{
	struct vg_producer *own = vg_producer_local.producer;
	struct vg_lanes_host *host = host_get();

	if (host == NULL || (own != NULL && own->host == host))
		return host != NULL ? own : NULL;
	if (vg_producer_local.refusals++ % RETRY_EVERY != 0)
		return NULL;
	own = lane_claim(host);
	if (own != NULL)
		vg_producer_local.refusals = 0;
	return own;
}

struct vg_producer *vg_producer_renew(void)
{
	struct vg_lanes_state *state = state_get();
	struct vg_producer *own;
	uint32_t session;

	if (host_get() == NULL)                  /* a child that copied the flag */
		__atomic_store_n(&vgctl_recording, 0, __ATOMIC_RELAXED);
	session = atomic_load_explicit(&state->session, memory_order_acquire);
	if (session == 0)
		return NULL;
	own = lane_get();
	if (own == NULL || own->session == session)
		return own;
	own->depth = own->deeper = 0;
	atomic_store_explicit(&own->lane->interval, 0, memory_order_relaxed);
	own->limit = atomic_load_explicit(&state->overwrite, memory_order_relaxed) ? UINT64_MAX :
		     atomic_load_explicit(&own->lane->tail, memory_order_acquire) + VG_LANE_RECORDS;
	own->session = session;
	return own;
}

void vgctl_thread_name(const char *name)
{
	struct vg_producer *own;

	vg_producer_local.name = vgctl_intern(name);
	if (vg_lanes_fd() < 0)
		return;
	vg_producer_local.busy = 1;
	own = lane_get();
	if (own != NULL)
		atomic_store_explicit(&own->lane->name, vg_producer_local.name,
				      memory_order_release);
	vg_producer_local.busy = 0;
}
