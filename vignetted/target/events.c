/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/events.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "vignetted/target/event_record.h"

/* Records are copied out of the ring so many at a time. */
enum { BATCH = 256 };

/* How often the ring is looked at: while events come, and while none have come for a while.  A
 * lane takes what a thread sends in the former at 1.6 million events a second. */
static const uint64_t BUSY_NS = 10000000, IDLE_NS = 100000000, CALM_NS = 1000000000;

/* And where a lane was found more than half full. */
static const uint64_t FLOOD_NS = 1000000;

/* A thread that no scan has shown after so many drains is one too many for the session's bound. */
enum { WAITS_MAX = 64 };

/* The kernel's own limit. */
enum { TID_MAX = 4 << 20 };

int vg_events_open(struct vg_events *events, int fd, bool overwrite)
{
	struct stat status;
	int seals = fcntl(fd, F_GET_SEALS);
	void *shared;

	memset(events, 0, sizeof *events);
	if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(fd, &status) != 0 ||
	    status.st_size != (off_t)sizeof *events->shared)
		return -EPROTO;
	events->lanes = calloc(VG_LANES, sizeof *events->lanes);
	if (events->lanes == NULL)
		return -ENOMEM;
	shared = mmap(NULL, sizeof *events->shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED) {
		int rc = -errno;

		free(events->lanes);
		events->lanes = NULL;
		return rc;
	}
	events->shared = shared;
	events->overwrite = overwrite;
	if (events->shared->magic == VG_LANES_MAGIC && events->shared->version == VG_LANES_VERSION)
		return 0;
	vg_events_close(events);
	return -EPROTO;
}

void vg_events_close(struct vg_events *events)
{
	for (uint32_t i = 0; events->lanes != NULL && i < VG_LANES; i++)
		vg_array_free(&events->lanes[i].moves);
	free(events->lanes);
	vg_array_free(&events->labels);
	if (events->shared != NULL)
		munmap(events->shared, sizeof *events->shared);
	memset(events, 0, sizeof *events);
}

static uint32_t lanes_used(const struct vg_events *events)
{
	uint32_t used;

	if (events->shared == NULL)
		return 0;
	used = atomic_load_explicit(&events->shared->used, memory_order_acquire);
	return used < VG_LANES ? used : VG_LANES;
}

void vg_events_begin(struct vg_events *events, uint64_t begin_ns)
{
	events->begin_ns = begin_ns;
	if (events->shared == NULL)
		return;
	events->refused = atomic_load(&events->shared->refused);
	for (uint32_t i = 0; i < VG_LANES; i++) {
		struct vg_events_lane *own = &events->lanes[i];
		struct vg_lane *lane = &events->shared->lanes[i];

		own->tail = own->first = atomic_load(&lane->head);
		own->dropped = atomic_load(&lane->dropped);
		own->claims = atomic_load(&lane->claims) - 1;
		vg_lane_reset(own);
		atomic_store(&lane->tail, own->tail);
	}
}

void vg_events_join(struct vg_events *events, uint32_t index, struct vg_writer *writer,
		    uint32_t *threads, uint64_t now_ns)
{
	events->outs[index] = (struct vg_events_out){
		.writer = writer, .threads = threads, .since_ns = now_ns, .until_ns = UINT64_MAX,
		.dropped = vg_events_dropped(events),
	};
	events->live |= 1u << index;
	for (uint32_t i = 0; events->shared != NULL && i < VG_LANES; i++)
		events->lanes[i].first_of[index] = events->lanes[i].tail;
}

void vg_events_leave(struct vg_events *events, uint32_t index)
{
	events->live &= ~(1u << index);
	for (uint32_t i = 0; events->shared != NULL && i < VG_LANES; i++) {
		events->lanes[i].joined &= ~(1u << index);
		events->lanes[i].told &= ~(1u << index);
	}
	for (size_t i = 0; i < events->labels.count; i++)
		events->labels.items[i].written &= ~(1u << index);
}

/* ---- whose lane it is ---- */

static struct vg_task *task_of(const struct vg_events_sink *sink, uint32_t lane, pid_t tid)
{
	struct vg_task *found = NULL;

	for (size_t i = 0; i < sink->tasks->live.count; i++) {
		struct vg_task *task = &sink->tasks->live.items[i];

		if (task->tid == tid && task->begun != 0)
			found = task;
		else if (task->lane == lane + 1)
			task->lane = 0;  /* it has given it up */
	}
	return found;
}

/* Session time of the oldest record. */
static uint64_t first_ns(const struct vg_events *events, const struct vg_events_sink *sink,
			 uint32_t lane)
{
	const struct vg_events_lane *own = &events->lanes[lane];
	const struct vg_lane_record *record =
		&events->shared->records[lane][own->tail % VG_LANE_RECORDS];
	uint64_t time_ns = atomic_load_explicit(&record->time_ns, memory_order_relaxed) -
			   events->begin_ns;

	return time_ns >= own->last_ns && time_ns <= sink->now_ns ? time_ns : sink->now_ns;
}

/* What the lane's thread is called in the profiles that have not met it; task is NULL for one that is
 * known from here alone. */
static void lane_join(struct vg_events *events, const struct vg_events_sink *sink, uint32_t lane,
		      const struct vg_task *task)
{
	struct vg_events_lane *own = &events->lanes[lane];

	VG_EACH_RECORDING(i, events->live & ~own->joined) {
		struct vg_events_out *out = &events->outs[i];
		struct vg_thread thread = { 0 };

		if (task != NULL && (task->begun & 1u << i) == 0)
			continue;        /* the next scan tells */
		own->joined |= 1u << i;
		if (task != NULL) {
			own->threads[i] = task->accounts[i].id;
			continue;
		}
		thread.tid = atomic_load_explicit(&events->shared->lanes[lane].owner,
						  memory_order_relaxed);
		thread.begin_ns = first_ns(events, sink, lane);
		thread.begin_ns -= thread.begin_ns < out->since_ns ? thread.begin_ns : out->since_ns;
		thread.id = own->threads[i] = (*out->threads)++;
		vg_writer_thread(out->writer, &thread, "");
	}
}

/* A lane whose thread is known, when a recording has begun since. */
static bool lane_rejoin(struct vg_events *events, const struct vg_events_sink *sink, uint32_t lane)
{
	struct vg_events_lane *own = &events->lanes[lane];
	const struct vg_task *task = NULL;

	if (!own->known)
		own->told |= events->live;
	if (!own->known || (events->live & ~own->joined) == 0)
		return own->known;
	if (!own->strange)
		task = task_of(sink, lane, atomic_load_explicit(&events->shared->lanes[lane].owner,
								memory_order_relaxed));
	if (task != NULL || own->strange)
		lane_join(events, sink, lane, task);
	return true;
}

/* Whether the lane's events can be written.  A thread that came and went between two scans is
 * known from here alone. */
static bool lane_resolve(struct vg_events *events, const struct vg_events_sink *sink, uint32_t lane)
{
	struct vg_events_lane *own = &events->lanes[lane];
	const struct vg_lane *shared = &events->shared->lanes[lane];
	uint32_t claims = atomic_load_explicit(&shared->claims, memory_order_acquire);
	struct vg_task *task;
	bool taken;
	pid_t tid;

	if (claims == own->claims)
		return lane_rejoin(events, sink, lane);
	vg_lane_reset(own);
	tid = atomic_load_explicit(&shared->owner, memory_order_relaxed);
	taken = atomic_load_explicit(&shared->taken, memory_order_acquire) != 0;
	own->claims = claims;
	if (tid < 1 || tid > TID_MAX)
		return false;
	task = task_of(sink, lane, tid);
	if (task != NULL) {
		task->lane = lane + 1;
		own->known = true;
	} else if (taken && !sink->last && own->waits++ < WAITS_MAX) {
		own->claims = claims - 1;
		return false;            /* not seen by a scan yet */
	} else if (atomic_load_explicit(&shared->head, memory_order_acquire) != own->tail) {
		own->known = true;
	} else if (taken) {
		own->claims = claims - 1;
		return false;            /* nothing to tell, but there may be */
	}
	own->waits = 0;
	own->strange = task == NULL;
	if (own->known)
		lane_join(events, sink, lane, task);
	return own->known;
}

static void lane_name(struct vg_events *events, const struct vg_events_sink *sink, uint32_t lane)
{
	struct vg_events_lane *own = &events->lanes[lane];
	uint32_t name = atomic_load_explicit(&events->shared->lanes[lane].name, memory_order_acquire);
	char text[VG_LANES_LABEL_MAX + 1];
	const struct vg_events_label *label;
	vg_recording_set tell;

	if (name != own->name)
		own->told = 0;
	tell = own->joined & ~own->told;
	if (tell == 0)
		return;
	own->name = name;
	own->told |= tell;
	if (name == 0 || name > events->labels.count)
		return;
	label = &events->labels.items[name - 1];
	memcpy(text, events->shared->labels + label->offset, label->length);
	text[label->length] = '\0';
	VG_EACH_RECORDING(i, tell)
		vg_writer_thread_name(events->outs[i].writer, own->threads[i],
				      sink->now_ns - events->outs[i].since_ns, text);
	for (size_t i = 0; i < sink->tasks->live.count; i++) {
		if (sink->tasks->live.items[i].lane == lane + 1)
			sink->tasks->live.items[i].named = true;
	}
}

/* ---- records ---- */

/* How many of the records from own->tail on were copied before they were overwritten begins here. */
static uint64_t first_whole(const struct vg_lane *lane, uint64_t tail)
{
	uint64_t head;

	atomic_thread_fence(memory_order_acquire);
	head = atomic_load_explicit(&lane->head, memory_order_relaxed);
	/* The one at head may be half written. */
	if (head < tail || head - tail < VG_LANE_RECORDS)
		return tail;
	return head - VG_LANE_RECORDS + 1;
}

static void batch_copy(const struct vg_lane_record *records, uint64_t tail, size_t count,
		       struct vg_event_record *batch)
{
	for (size_t i = 0; i < count; i++) {
		const struct vg_lane_record *record = &records[(tail + i) % VG_LANE_RECORDS];

		batch[i].time_ns = atomic_load_explicit(&record->time_ns, memory_order_relaxed);
		batch[i].what = atomic_load_explicit(&record->what, memory_order_relaxed);
		batch[i].value = atomic_load_explicit(&record->value, memory_order_relaxed);
		batch[i].parent = atomic_load_explicit(&record->parent, memory_order_relaxed);
	}
}

/* What was overwritten is lost, and with it who has which interval open. */
static void lane_skip(struct vg_events *events, struct vg_events_lane *own, uint64_t to)
{
	events->overrun += to - own->tail;
	own->tail = to;
	own->depth = 0;
	vg_lane_forget(own);
}

static void lane_drain(struct vg_events *events, const struct vg_events_sink *sink, uint32_t lane,
		      uint64_t head)
{
	struct vg_events_lane *own = &events->lanes[lane];
	struct vg_lane *shared = &events->shared->lanes[lane];
	struct vg_event_record batch[BATCH];

	/* A head that fell, or rose beyond what fits, is either overwriting or nonsense. */
	if (head < own->tail || (!events->overwrite && head - own->tail > VG_LANE_RECORDS)) {
		events->bad++;
		own->tail = head;
	} else if (head - own->tail > VG_LANE_RECORDS) {
		lane_skip(events, own, head - VG_LANE_RECORDS);
	}
	while (own->tail < head) {
		size_t count = head - own->tail < BATCH ? (size_t)(head - own->tail) : BATCH;
		uint64_t start = own->tail, whole;

		batch_copy(events->shared->records[lane], start, count, batch);
		whole = events->overwrite ? first_whole(shared, start) : start;
		if (whole > start)
			lane_skip(events, own, whole);
		for (; own->tail < start + count; own->tail++)
			vg_event_record_write(events, sink, lane, &batch[own->tail - start]);
		atomic_store_explicit(&shared->tail, own->tail, memory_order_release);
	}
	atomic_store_explicit(&shared->tail, own->tail, memory_order_release);
	if (!own->strange || atomic_load(&shared->taken) != 0)
		return;
	VG_EACH_RECORDING(i, own->joined) {
		const struct vg_events_out *out = &events->outs[i];

		if (own->last_ns >= out->since_ns)
			vg_writer_thread_end(out->writer, own->threads[i], own->last_ns - out->since_ns);
	}
}

/* Whether a lane has anything to tell. */
static bool lane_came(const struct vg_events *events, uint32_t lane, uint64_t head)
{
	const struct vg_lane *shared = &events->shared->lanes[lane];
	const struct vg_events_lane *own = &events->lanes[lane];

	return head != own->tail || (events->live & ~own->told) != 0 ||
	       atomic_load_explicit(&shared->claims, memory_order_relaxed) != own->claims ||
	       atomic_load_explicit(&shared->name, memory_order_relaxed) != own->name;
}

void vg_events_drain(struct vg_events *events, const struct vg_events_sink *sink)
{
	uint32_t used = lanes_used(events);
	uint64_t cpu_ns = 0, fullest = 0;

	for (uint32_t i = 0; i < used; i++) {
		uint64_t head = atomic_load_explicit(&events->shared->lanes[i].head,
						     memory_order_acquire);

		if (!lane_came(events, i, head))
			continue;
		if (cpu_ns == 0)
			cpu_ns = vg_own_cpu_ns();
		vg_event_labels_read(events);
		if (!lane_resolve(events, sink, i))
			continue;
		lane_name(events, sink, i);
		events->came_ns = sink->now_ns;
		if (head - events->lanes[i].tail > fullest)
			fullest = head - events->lanes[i].tail;
		if (head != events->lanes[i].tail)
			lane_drain(events, sink, i, head);
	}
	if (cpu_ns != 0)
		events->cpu_ns += vg_own_cpu_ns() - cpu_ns;
	events->drained_ns = sink->now_ns;
	events->due_ns = sink->now_ns + (fullest > VG_LANE_RECORDS / 2 ? FLOOD_NS :
			  vg_events_come(events, sink->now_ns) ? BUSY_NS : IDLE_NS);
}

bool vg_events_come(const struct vg_events *events, uint64_t now_ns)
{
	/* They may have come since the round began, which is `now_ns`. */
	return events->shared != NULL && (now_ns < events->came_ns || now_ns - events->came_ns < CALM_NS);
}

bool vg_events_due(const struct vg_events *events, uint64_t now_ns)
{
	return events->shared != NULL && now_ns - events->begin_ns >= events->due_ns;
}

/* ---- samples ---- */

const _Atomic uint64_t *vg_events_slot(const struct vg_events *events, const struct vg_task *task)
{
	return events->shared != NULL && task->lane != 0 ?
	       &events->shared->lanes[task->lane - 1].interval : NULL;
}

uint64_t vg_events_token(const struct vg_events *events, const struct vg_task *task, uint64_t token)
{
	if (events->shared == NULL || task->lane == 0)
		return 0;
	return vg_event_token_check(&events->lanes[task->lane - 1], task->lane - 1, token, UINT64_MAX >> 8);
}

uint64_t vg_events_token_in(const struct vg_events *events, const struct vg_task *task,
			    uint32_t index, uint64_t token)
{
	return token != 0 && task->lane != 0 &&
	       token >> 8 > events->lanes[task->lane - 1].first_of[index] ? token : 0;
}

uint64_t vg_events_interval_at(const struct vg_events *events, const struct vg_task *task,
			       uint64_t time_ns)
{
	return events->shared != NULL && task->lane != 0 ?
	       vg_lane_at(&events->lanes[task->lane - 1], time_ns) : 0;
}

void vg_events_finish(struct vg_events *events)
{
	uint32_t used = lanes_used(events);

	for (uint32_t i = 0; i < used; i++) {
		uint64_t left = atomic_load(&events->shared->lanes[i].head) - events->lanes[i].tail;

		events->overrun += left < VG_LANE_RECORDS ? left : VG_LANE_RECORDS;
		events->lanes[i].tail += left;
	}
}

void vg_events_forget(struct vg_events *events)
{
	uint32_t used = lanes_used(events);

	for (uint32_t i = 0; i < used; i++)
		vg_lane_forget(&events->lanes[i]);
}

uint64_t vg_events_dropped(const struct vg_events *events)
{
	uint64_t sum = events->bad + events->overrun;

	if (events->shared == NULL)
		return 0;
	sum += atomic_load(&events->shared->refused) - events->refused;
	for (uint32_t i = 0; i < lanes_used(events); i++)
		sum += atomic_load(&events->shared->lanes[i].dropped) - events->lanes[i].dropped;
	return sum;
}
