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
struct vg_lanes_state *_Atomic vg_lanes_state;
__thread struct vg_producer_local vg_producer_local;

/* All under the mutex, but for producers, which belong to who has the lane. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t thread_key;
static bool prepared;
static uint32_t sessions;
/* A ring, from this side.  Never freed, see ring_open(). */
struct vg_lanes_host {
	int fd;
	dev_t device;                /* of the memfd: a program may close what is not its own */
	ino_t inode;
	struct vg_lanes *lanes;
	size_t labels_bytes;         /* used of theirs: not believed from there */
	struct vg_producer producers[VG_LANES];
};

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
	struct vg_lanes_state *state = state_get();

	/* Cleared already, where the kernel can. */
	atomic_store(&state->host, NULL);
	atomic_store(&state->session, 0);
	vgctl_recording = 0;
	pthread_mutex_unlock(&mutex);
}

/* As the library is loaded: pthread_once(3) calls futex(2), and the C library ends a program whose filter of
 * system calls forbids that. */
__attribute__((constructor)) static void prepare(void)
{
	void *page = mmap(NULL, sizeof(struct vg_lanes_state), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;
	madvise(page, sizeof(struct vg_lanes_state), MADV_WIPEONFORK);
	if (pthread_key_create(&thread_key, thread_end) != 0) {
		munmap(page, sizeof(struct vg_lanes_state));
		return;
	}
	atomic_store_explicit(&vg_lanes_state, page, memory_order_release);
	pthread_atfork(fork_prepare, fork_parent, fork_child);
	prepared = true;
}

/* The library may be unloaded. */
__attribute__((destructor)) static void unprepare(void)
{
	if (prepared)
		pthread_key_delete(thread_key);
}

/* ---- labels ---- */

static void label_publish(struct vg_lanes_host *host, const char *text, size_t length)
{
	unsigned char *at = host->lanes->labels + host->labels_bytes;

	at[0] = (unsigned char)(length & 0xff);
	at[1] = (unsigned char)(length >> 8);
	memcpy(at + 2, text, length);
	host->labels_bytes += 2 + length;
	atomic_store_explicit(&host->lanes->labels_bytes, host->labels_bytes, memory_order_release);
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
		label_publish(host, text, length);
	return id + 1;
}

uint32_t vgctl_intern(const char *text)
{
	uint32_t id;

	if (text == NULL || *text == '\0')
		return 0;
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

/* The helper must not be made to read behind the file's end: sealed. */
static int ring_map(struct vg_lanes_host *host)
{
	struct stat status;
	void *lanes;

	if (ftruncate(host->fd, sizeof *host->lanes) != 0 ||
	    fcntl(host->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
	    fstat(host->fd, &status) != 0)
		return -1;
	lanes = mmap(NULL, sizeof *host->lanes, PROT_READ | PROT_WRITE, MAP_SHARED, host->fd, 0);
	if (lanes == MAP_FAILED)
		return -1;
	madvise(lanes, sizeof *host->lanes, MADV_DONTDUMP);
	host->device = status.st_dev;
	host->inode = status.st_ino;
	host->lanes = lanes;
	return 0;
}

static void ring_fill(struct vg_lanes_host *host)
{
	host->lanes->magic = VG_LANES_MAGIC;
	host->lanes->version = VG_LANES_VERSION;
	for (uint32_t i = 0; i < labels.count; i++) {
		size_t length;
		const char *text = vg_intern_bytes(&labels, i, &length);

		label_publish(host, text, length);
	}
}

/* What an earlier ring leaves behind stays mapped: a thread may be in the middle of writing to it. */
static struct vg_lanes_host *ring_open(void)
{
	struct vg_lanes_host *host;

	if (!size_allowed())
		return NULL;
	host = mmap(NULL, sizeof *host, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (host == MAP_FAILED)
		return NULL;
	host->fd = vg_descriptor_raise(memfd_create("vgctl", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (host->fd < 0 || ring_map(host) != 0) {
		if (host->fd >= 0)
			close(host->fd);
		munmap(host, sizeof *host);
		return NULL;
	}
	ring_fill(host);
	return host;
}

static bool fd_holds(const struct vg_lanes_host *host)
{
	struct stat status;

	return fstat(host->fd, &status) == 0 && status.st_dev == host->device &&
	       status.st_ino == host->inode;
}

int vg_lanes_fd(void)
{
	static struct vg_lanes_host *latest;
	struct vg_lanes_host *host;
	struct vg_lanes_state *state;

	state = state_get();
	if (state == NULL)
		return -1;
	pthread_mutex_lock(&mutex);
	host = host_get();
	if (host == NULL || !fd_holds(host)) {
		/* That of a parent process, or of a helper that did not answer. */
		if (latest != NULL && fd_holds(latest))
			close(latest->fd);
		host = latest = ring_open();
		atomic_store_explicit(&state->host, host, memory_order_release);
	}
	pthread_mutex_unlock(&mutex);
	return host != NULL ? host->fd : -1;
}

void vg_lanes_start(bool overwrite)
{
	struct vg_lanes_state *state = state_get();

	pthread_mutex_lock(&mutex);
	atomic_store_explicit(&state->overwrite, overwrite, memory_order_relaxed);
	if (host_get() != NULL)
		atomic_store(&host_get()->lanes->beat_ns, 0);
	if (++sessions == 0)
		sessions = 1;
	atomic_store_explicit(&state->session, sessions, memory_order_release);
	__atomic_store_n(&vgctl_recording, sessions, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&mutex);
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

	pthread_mutex_lock(&mutex);
	host = host_get();
	/* Never unmapped: a thread may have been interrupted in the middle of a record, and writes
	 * the rest of it whenever it goes on. */
	if (host != NULL && helper_gone)
		madvise(host->lanes->records, sizeof host->lanes->records, MADV_REMOVE);
	else if (host != NULL)
		atomic_store_explicit(&state_get()->host, NULL, memory_order_release);
	pthread_mutex_unlock(&mutex);
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
		own->records = host->lanes->records[i];
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
