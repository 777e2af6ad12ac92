/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/lanes.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/intern.h"
#include "base/outfile.h"
#include "libvgctl/vgctl.h"

/* A thread without a lane looks for one at the first of so many events. */
enum { RETRY_EVERY = 64 };

unsigned int vgctl_recording;
struct vg_lanes_state *vg_lanes_state;
__thread struct vg_producer_local vg_producer_local;

/* All under the mutex, but for producers, which belong to who has the lane. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;
static bool prepared;
static uint64_t serials;
static uint32_t sessions;
static struct {
	uint64_t serial;
	int fd;
	dev_t device;                /* of the memfd: a program may close what is not its own */
	ino_t inode;
	struct vg_lanes *lanes;
	size_t labels_bytes;         /* used of theirs: not believed from there */
	struct vg_producer *producers;
} ring = { .fd = -1 };

/* Strings by id - 1.  Kept for ever: an id must stay valid in every later session. */
static struct vg_intern labels;
static size_t labels_bytes;

static bool ring_alive(void)
{
	return vg_lanes_state != NULL && ring.serial != 0 && vg_lanes_state->serial == ring.serial;
}

/* ---- threads and processes that go ---- */

static void thread_end(void *argument)
{
	struct vg_producer *own = argument;

	vg_producer_local.producer = NULL;
	/* A child of fork(2) has this too, and the lane is its parent's. */
	if (own == NULL || vg_lanes_state == NULL || own->serial != vg_lanes_state->serial)
		return;
	atomic_store_explicit(&own->lane->interval, 0, memory_order_relaxed);
	atomic_store_explicit(&own->lane->taken, 0, memory_order_release);
}

static void fork_prepare(void)
{
	pthread_mutex_lock(&mutex);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&mutex);
}

static void fork_child(void)
{
	/* Cleared already, where the kernel can. */
	if (vg_lanes_state != NULL)
		memset(vg_lanes_state, 0, sizeof *vg_lanes_state);
	vgctl_recording = 0;
	pthread_mutex_unlock(&mutex);
}

static void prepare(void)
{
	void *page = mmap(NULL, sizeof *vg_lanes_state, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;
	madvise(page, sizeof *vg_lanes_state, MADV_WIPEONFORK);
	if (pthread_key_create(&thread_key, thread_end) != 0) {
		munmap(page, sizeof *vg_lanes_state);
		return;
	}
	pthread_atfork(fork_prepare, fork_parent, fork_child);
	vg_lanes_state = page;
	prepared = true;
}

/* The library may be unloaded. */
__attribute__((destructor)) static void unprepare(void)
{
	if (prepared)
		pthread_key_delete(thread_key);
}

/* ---- labels ---- */

static void label_publish(const char *text, size_t length)
{
	unsigned char *at = ring.lanes->labels + ring.labels_bytes;

	at[0] = (unsigned char)(length & 0xff);
	at[1] = (unsigned char)(length >> 8);
	memcpy(at + 2, text, length);
	ring.labels_bytes += 2 + length;
	atomic_store_explicit(&ring.lanes->labels_bytes, ring.labels_bytes, memory_order_release);
}

static uint32_t label_add(const char *text)
{
	size_t length = strnlen(text, VG_LANES_LABEL_MAX);
	uint32_t id;

	if (vg_intern_find(&labels, text, length, &id))
		return id + 1;
	if (labels_bytes + 2 + length > VG_LANES_LABELS_BYTES ||
	    vg_intern(&labels, text, length, &id) < 0)
		return 0;
	labels_bytes += 2 + length;
	if (ring_alive())
		label_publish(text, length);
	return id + 1;
}

uint32_t vgctl_intern(const char *text)
{
	uint32_t id;

	if (text == NULL || *text == '\0')
		return 0;
	pthread_once(&once, prepare);
	pthread_mutex_lock(&mutex);
	id = label_add(text);
	pthread_mutex_unlock(&mutex);
	return id;
}

/* ---- the ring ---- */

/* A file may be refused its size by a signal that kills, where there is a limit to it. */
static bool size_allowed(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= sizeof(struct vg_lanes);
}

static int ring_map(void)
{
	void *producers = mmap(NULL, VG_LANES * sizeof *ring.producers, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *lanes;

	if (producers == MAP_FAILED)
		return -1;
	lanes = mmap(NULL, sizeof *ring.lanes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
	if (lanes == MAP_FAILED) {
		munmap(producers, VG_LANES * sizeof *ring.producers);
		return -1;
	}
	madvise(lanes, sizeof *ring.lanes, MADV_DONTDUMP);
	ring.lanes = lanes;
	ring.producers = producers;
	return 0;
}

static void ring_fill(void)
{
	ring.serial = ++serials;
	ring.labels_bytes = 0;
	ring.lanes->magic = VG_LANES_MAGIC;
	ring.lanes->version = VG_LANES_VERSION;
	for (uint32_t i = 0; i < labels.count; i++) {
		size_t length;
		const char *text = vg_intern_bytes(&labels, i, &length);

		label_publish(text, length);
	}
	vg_lanes_state->serial = ring.serial;
}

/* What an earlier ring leaves behind stays mapped: a thread may be in the middle of writing to it. */
static void ring_open(void)
{
	struct stat status;

	if (!size_allowed())
		return;
	ring.fd = vg_descriptor_raise(memfd_create("vgctl", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (ring.fd < 0)
		return;
	/* The helper must not be made to read behind the file's end. */
	if (ftruncate(ring.fd, sizeof *ring.lanes) != 0 ||
	    fcntl(ring.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
	    fstat(ring.fd, &status) != 0 || ring_map() != 0) {
		close(ring.fd);
		ring.fd = -1;
		return;
	}
	ring.device = status.st_dev;
	ring.inode = status.st_ino;
	ring_fill();
}

static bool ring_fd_holds(void)
{
	struct stat status;

	return ring.fd >= 0 && fstat(ring.fd, &status) == 0 && status.st_dev == ring.device &&
	       status.st_ino == ring.inode;
}

int vg_lanes_fd(void)
{
	int fd = -1;

	pthread_once(&once, prepare);
	if (vg_lanes_state == NULL)
		return -1;
	pthread_mutex_lock(&mutex);
	if (!ring_alive() || !ring_fd_holds()) {
		if (ring_fd_holds())
			close(ring.fd);
		ring.fd = -1;
		vg_lanes_state->serial = 0;
		ring_open();
	}
	if (ring_alive())
		fd = ring.fd;
	pthread_mutex_unlock(&mutex);
	return fd;
}

void vg_lanes_start(bool overwrite)
{
	pthread_mutex_lock(&mutex);
	vg_lanes_state->overwrite = overwrite;
	if (++sessions == 0)
		sessions = 1;
	atomic_store_explicit(&vg_lanes_state->session, sessions, memory_order_release);
	__atomic_store_n(&vgctl_recording, sessions, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&mutex);
}

void vg_lanes_stop(void)
{
	__atomic_store_n(&vgctl_recording, 0, __ATOMIC_RELEASE);
	if (vg_lanes_state != NULL)
		atomic_store_explicit(&vg_lanes_state->session, 0, memory_order_release);
}

void vg_lanes_rest(bool helper_gone)
{
	pthread_mutex_lock(&mutex);
	if (ring_alive() && !helper_gone)
		vg_lanes_state->serial = 0;
	/* Never unmapped: a thread may have been interrupted in the middle of a record, and writes
	 * the rest of it whenever it goes on. */
	if (ring_alive())
		madvise(ring.lanes->records, sizeof ring.lanes->records, MADV_REMOVE);
	pthread_mutex_unlock(&mutex);
}

/* ---- lanes ---- */

void vg_lanes_refuse(uint64_t records)
{
	atomic_fetch_add_explicit(&ring.lanes->refused, records, memory_order_relaxed);
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

static struct vg_producer *lane_claim(void)
{
	for (uint32_t i = 0; i < VG_LANES; i++) {
		struct vg_producer *own = &ring.producers[i];
		uint32_t used = atomic_load(&ring.lanes->used);

		if (!lane_take(&ring.lanes->lanes[i]))
			continue;
		own->lane = &ring.lanes->lanes[i];
		own->records = ring.lanes->records[i];
		own->serial = ring.serial;
		own->index = i;
		own->session = 0;
		atomic_store_explicit(&own->lane->interval, 0, memory_order_relaxed);
		atomic_store_explicit(&own->lane->owner, gettid(), memory_order_relaxed);
		atomic_store_explicit(&own->lane->name, vg_producer_local.name,
				      memory_order_relaxed);
		atomic_fetch_add_explicit(&own->lane->claims, 1, memory_order_release);
		while (used < i + 1 && !atomic_compare_exchange_weak(&ring.lanes->used, &used, i + 1))
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

	if (own != NULL && own->serial == vg_lanes_state->serial)
		return own;
	if (vg_producer_local.refusals++ % RETRY_EVERY != 0)
		return NULL;
	own = lane_claim();
	if (own != NULL)
		vg_producer_local.refusals = 0;
	return own;
}

struct vg_producer *vg_producer_renew(void)
{
	struct vg_producer *own;
	uint32_t session;

	if (vg_lanes_state->serial == 0)         /* a child that copied the flag */
		__atomic_store_n(&vgctl_recording, 0, __ATOMIC_RELAXED);
	session = atomic_load_explicit(&vg_lanes_state->session, memory_order_acquire);
	if (session == 0)
		return NULL;
	own = lane_get();
	if (own == NULL || own->session == session)
		return own;
	own->depth = 0;
	atomic_store_explicit(&own->lane->interval, 0, memory_order_relaxed);
	own->limit = vg_lanes_state->overwrite ? UINT64_MAX :
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
