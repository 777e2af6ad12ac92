/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/events.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "vignetted/target/event_record.h"

/* The most records that are copied from the ring at a time. */
enum { BATCH = 256 };

/* Time from one drain to the next: DRAIN_BUSY_NS while events are frequent, DRAIN_IDLE_NS if there were none for
 * IDLE_AFTER_NS.  With DRAIN_BUSY_NS a lane can take 1.6 million events a second from its thread. */
static const uint64_t DRAIN_BUSY_NS = 10000000, DRAIN_IDLE_NS = 100000000, IDLE_AFTER_NS = 1000000000;

/* Time from one drain to the next after a lane was more than half full. */
static const uint64_t DRAIN_FULL_NS = 1000000;

/* If vg_tasks_scan() has not found a thread after this many drains, the thread is beyond vg_tasks.max. */
enum { DRAINS_WAITED_MAX = 64 };

/* The kernel's limit for pids. */
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
		vg_array_free(&events->lanes[i].changes);
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

void vg_events_recording_begin(struct vg_events *events, uint32_t index, struct vg_writer *writer,
			       uint32_t *threads, uint64_t now_ns)
{
	events->profiles[index] = (struct vg_events_profile){
		.writer = writer, .threads = threads, .since_ns = now_ns, .until_ns = UINT64_MAX,
		.dropped = vg_events_dropped(events),
	};
	events->live |= 1u << index;
	for (uint32_t i = 0; events->shared != NULL && i < VG_LANES; i++)
		events->lanes[i].first_of[index] = events->lanes[i].tail;
}

void vg_events_recording_end(struct vg_events *events, uint32_t index)
{
	events->live &= ~(1u << index);
	for (uint32_t i = 0; events->shared != NULL && i < VG_LANES; i++) {
		events->lanes[i].thread_written &= ~(1u << index);
		events->lanes[i].skipped &= ~(1u << index);
		events->lanes[i].name_written &= ~(1u << index);
	}
	for (size_t i = 0; i < events->labels.count; i++)
		events->labels.items[i].written &= ~(1u << index);
}

/* ---- which thread a lane belongs to ---- */

static struct vg_task *task_find(const struct vg_drain_context *context, uint32_t lane, pid_t tid)
{
	struct vg_task *found = NULL;

	for (size_t i = 0; i < context->tasks->live.count; i++) {
		struct vg_task *task = &context->tasks->live.items[i];

		if (task->tid == tid && task->in_profiles != 0)
			found = task;
		else if (task->lane == lane + 1)
			task->lane = 0; /* this task has released the lane */
	}
	return found;
}

/* Session time of the lane's oldest record that is not drained yet.  If that time is impossible: now. */
static uint64_t first_event_ns(const struct vg_events *events, const struct vg_drain_context *context,
			       uint32_t lane)
{
	const struct vg_events_lane *own = &events->lanes[lane];
	uint64_t time_ns = vg_event_record_ns(events, lane, own->tail);

	return time_ns >= own->last_ns && time_ns <= context->now_ns ? time_ns : context->now_ns;
}

/* Returns the live profiles that want events of all threads, or of this one. */
static vg_recording_set wanted_in(const struct vg_events *events, pid_t tid)
{
	vg_recording_set wanted = 0;

	VG_EACH_RECORDING(i, events->live)
		wanted |= (uint32_t)(events->profiles[i].only == 0 || events->profiles[i].only == tid) << i;
	return wanted;
}

/* Adds the lane's thread to the profiles that want it and do not have it.  `task` is NULL if the thread is not in
 * vg_tasks. */
static void lane_thread_write(struct vg_events *events, const struct vg_drain_context *context, uint32_t lane,
			      const struct vg_task *task)
{
	struct vg_events_lane *own = &events->lanes[lane];
	pid_t tid = atomic_load_explicit(&events->shared->lanes[lane].owner, memory_order_relaxed);

	own->skipped |= events->live & ~own->thread_written & ~wanted_in(events, tid);
	own->thread_written |= own->skipped;
	VG_EACH_RECORDING(i, events->live & ~own->thread_written) {
		struct vg_events_profile *out = &events->profiles[i];
		struct vg_thread thread = { .tid = tid };

		if (task != NULL && (task->in_profiles & 1u << i) == 0)
			continue;    /* the next scan adds the task to this profile */
		own->thread_written |= 1u << i;
		if (task != NULL) {
			own->threads[i] = task->accounts[i].id;
			continue;
		}
		thread.begin_ns = first_event_ns(events, context, lane);
		thread.begin_ns -= thread.begin_ns < out->since_ns ? thread.begin_ns : out->since_ns;
		thread.id = own->threads[i] = (*out->threads)++;
		vg_writer_thread(out->writer, &thread, "");
	}
}

/* Adds the lane's thread to profiles that began after the thread became known.  False: the thread is not known yet. */
static bool lane_thread_write_new(struct vg_events *events, const struct vg_drain_context *context, uint32_t lane)
{
	struct vg_events_lane *own = &events->lanes[lane];
	struct vg_task *task = NULL;

	if (!own->known)
		own->name_written |= events->live;
	if (!own->known || (events->live & ~own->thread_written) == 0)
		return own->known;
	if (!own->is_no_task)
		task = task_find(context, lane, atomic_load_explicit(&events->shared->lanes[lane].owner,
								     memory_order_relaxed));
	/* The task may be a new one: it is removed while scans look for chosen threads only. */
	if (task != NULL)
		task->lane = lane + 1;
	if (task != NULL || own->is_no_task)
		lane_thread_write(events, context, lane, task);
	return true;
}

void vg_events_task_found(struct vg_events *events, struct vg_task *task, uint32_t ids[VG_RECORDINGS_MAX])
{
	for (uint32_t i = 0; i < VG_RECORDINGS_MAX; i++)
		ids[i] = VG_NONE;
	for (uint32_t lane = 0; lane < lanes_used(events); lane++) {
		struct vg_events_lane *own = &events->lanes[lane];
		const struct vg_lane *shared = &events->shared->lanes[lane];

		if (!own->known || !own->is_no_task || task->tid != atomic_load_explicit(&shared->owner, memory_order_relaxed) ||
		    own->claims != atomic_load_explicit(&shared->claims, memory_order_acquire))
			continue;
		own->is_no_task = false;
		task->lane = lane + 1;
		task->named_by_host = own->name != 0;
		VG_EACH_RECORDING(i, own->thread_written & ~own->skipped)
			ids[i] = own->threads[i];
	}
}

/* Finds the lane's thread and adds it to the profiles.  Returns false if the lane's events must wait.  A thread that
 * was created and exited between two scans is known only from its lane. */
static bool lane_thread_find(struct vg_events *events, const struct vg_drain_context *context, uint32_t lane)
{
	struct vg_events_lane *own = &events->lanes[lane];
	const struct vg_lane *shared = &events->shared->lanes[lane];
	uint32_t claims = atomic_load_explicit(&shared->claims, memory_order_acquire);
	struct vg_task *task;
	bool taken;
	pid_t tid;

	if (claims == own->claims)
		return lane_thread_write_new(events, context, lane);
	vg_lane_reset(own);
	tid = atomic_load_explicit(&shared->owner, memory_order_relaxed);
	taken = atomic_load_explicit(&shared->taken, memory_order_acquire) != 0;
	own->claims = claims;
	if (tid < 1 || tid > TID_MAX)
		return false;
	task = task_find(context, lane, tid);
	if (task != NULL) {
		task->lane = lane + 1;
		own->known = true;
	} else if (wanted_in(events, tid) == 0) {
		/* Look the thread up again at each drain: a recording of all threads may begin. */
		vg_event_records_drop(events, lane);
		own->claims = claims - 1;
		return false;
	} else if (taken && !context->last && own->drains_waited++ < DRAINS_WAITED_MAX) {
		own->claims = claims - 1;
		return false;        /* no scan has found the thread yet */
	} else if (atomic_load_explicit(&shared->head, memory_order_acquire) != own->tail) {
		own->known = true;
	} else if (taken) {
		own->claims = claims - 1;
		return false;        /* no events yet, but they may follow */
	}
	own->drains_waited = 0;
	own->is_no_task = task == NULL;
	if (own->known)
		lane_thread_write(events, context, lane, task);
	return own->known;
}

static void lane_name_write(struct vg_events *events, const struct vg_drain_context *context, uint32_t lane)
{
	struct vg_events_lane *own = &events->lanes[lane];
	uint32_t name = atomic_load_explicit(&events->shared->lanes[lane].name, memory_order_acquire);
	char text[VG_LANES_LABEL_MAX + 1];
	const struct vg_events_label *label;
	vg_recording_set name_due;

	if (name != own->name)
		own->name_written = 0;
	name_due = own->thread_written & ~own->name_written;
	if (name_due == 0)
		return;
	own->name = name;
	own->name_written |= name_due;
	if (name == 0 || name > events->labels.count)
		return;
	label = &events->labels.items[name - 1];
	memcpy(text, events->shared->labels + label->offset, label->length);
	text[label->length] = '\0';
	VG_EACH_RECORDING(i, name_due & ~own->skipped)
		vg_writer_thread_name(events->profiles[i].writer, own->threads[i],
				      context->now_ns - events->profiles[i].since_ns, text);
	for (size_t i = 0; i < context->tasks->live.count; i++) {
		if (context->tasks->live.items[i].lane == lane + 1)
			context->tasks->live.items[i].named_by_host = true;
	}
}

/* ---- records ---- */

/* Skips the overwritten records before number `to`. */
static void lane_skip(struct vg_events *events, struct vg_events_lane *own, uint64_t to)
{
	events->overrun += to - own->tail;
	own->tail = to;
	vg_lane_skip(own);
}

static void lane_drain(struct vg_events *events, const struct vg_drain_context *context, uint32_t lane,
		       uint64_t head)
{
	struct vg_events_lane *own = &events->lanes[lane];
	struct vg_lane *shared = &events->shared->lanes[lane];
	struct vg_event_record batch[BATCH];

	/* A decreased head is invalid.  Without `overwrite`, an advance of more than VG_LANE_RECORDS is invalid too. */
	if (head < own->tail || (!events->overwrite && head - own->tail > VG_LANE_RECORDS)) {
		events->malformed++;
		own->tail = head;
	} else if (head - own->tail > VG_LANE_RECORDS) {
		lane_skip(events, own, head - VG_LANE_RECORDS);
	}
	while (own->tail < head) {
		size_t count = head - own->tail < BATCH ? (size_t)(head - own->tail) : BATCH;
		uint64_t start = own->tail, intact;

		vg_event_records_copy(events->shared->records[lane], start, count, batch);
		intact = events->overwrite ? vg_event_first_intact(shared, start) : start;
		if (intact > start)
			lane_skip(events, own, intact);
		for (; own->tail < start + count; own->tail++)
			vg_event_record_write(events, context, lane, &batch[own->tail - start]);
		atomic_store_explicit(&shared->tail, own->tail, memory_order_release);
	}
	atomic_store_explicit(&shared->tail, own->tail, memory_order_release);
	if (!own->is_no_task || atomic_load(&shared->taken) != 0)
		return;
	VG_EACH_RECORDING(i, own->thread_written & ~own->skipped) {
		const struct vg_events_profile *out = &events->profiles[i];

		if (own->last_ns >= out->since_ns)
			vg_writer_thread_end(out->writer, own->threads[i], own->last_ns - out->since_ns);
	}
}

/* Whether a lane has new records, another thread, or a name to write. */
static bool lane_changed(const struct vg_events *events, uint32_t lane, uint64_t head)
{
	const struct vg_lane *shared = &events->shared->lanes[lane];
	const struct vg_events_lane *own = &events->lanes[lane];

	return head != own->tail || (events->live & ~own->name_written) != 0 ||
	       atomic_load_explicit(&shared->claims, memory_order_relaxed) != own->claims ||
	       atomic_load_explicit(&shared->name, memory_order_relaxed) != own->name;
}

void vg_events_drain(struct vg_events *events, const struct vg_drain_context *context)
{
	uint32_t used = lanes_used(events);
	uint64_t cpu_ns = 0, fullest = 0;

	for (uint32_t i = 0; i < used; i++) {
		uint64_t head = atomic_load_explicit(&events->shared->lanes[i].head,
						     memory_order_acquire);

		if (!lane_changed(events, i, head))
			continue;
		if (cpu_ns == 0)
			cpu_ns = vg_own_cpu_ns();
		vg_event_labels_read(events);
		if (!lane_thread_find(events, context, i))
			continue;
		lane_name_write(events, context, i);
		events->last_event_ns = context->now_ns;
		if (head - events->lanes[i].tail > fullest)
			fullest = head - events->lanes[i].tail;
		if (head != events->lanes[i].tail)
			lane_drain(events, context, i, head);
	}
	if (cpu_ns != 0)
		events->cpu_ns += vg_own_cpu_ns() - cpu_ns;
	events->drained_ns = context->now_ns;
	events->due_ns = context->now_ns + (fullest > VG_LANE_RECORDS / 2 ? DRAIN_FULL_NS :
			  vg_events_are_frequent(events, context->now_ns) ? DRAIN_BUSY_NS : DRAIN_IDLE_NS);
}

bool vg_events_are_frequent(const struct vg_events *events, uint64_t now_ns)
{
	/* last_event_ns may be later than now_ns, which is the time when the round began. */
	return events->shared != NULL &&
	       (now_ns < events->last_event_ns || now_ns - events->last_event_ns < IDLE_AFTER_NS);
}

bool vg_events_due(const struct vg_events *events, uint64_t now_ns)
{
	return events->shared != NULL && now_ns - events->begin_ns >= events->due_ns;
}

/* ---- samples ---- */

const _Atomic uint64_t *vg_events_token_address(const struct vg_events *events, const struct vg_task *task)
{
	return events->shared != NULL && task->lane != 0 ?
	       &events->shared->lanes[task->lane - 1].interval : NULL;
}

uint64_t vg_events_token_check(const struct vg_events *events, const struct vg_task *task, uint64_t token)
{
	if (events->shared == NULL || task->lane == 0)
		return 0;
	return vg_event_token_check(&events->lanes[task->lane - 1], task->lane - 1, token, UINT64_MAX >> 8);
}

uint64_t vg_events_token_for(const struct vg_events *events, const struct vg_task *task,
			     uint32_t index, uint64_t token)
{
	return token != 0 && task->lane != 0 &&
	       token >> 8 > events->lanes[task->lane - 1].first_of[index] ? token : 0;
}

uint64_t vg_events_interval_at(struct vg_events *events, const struct vg_task *task, uint64_t time_ns)
{
	struct vg_events_lane *own;

	if (events->shared == NULL || task->lane == 0)
		return 0;
	own = &events->lanes[task->lane - 1];
	own->sampled = (struct vg_lane_sampled){ time_ns, vg_lane_interval_at(own, time_ns) };
	return own->sampled.interval;
}

void vg_events_finish(struct vg_events *events, uint64_t until_ns)
{
	uint32_t used = lanes_used(events);

	for (uint32_t i = 0; i < used; i++) {
		uint64_t head = atomic_load(&events->shared->lanes[i].head), left = head - events->lanes[i].tail;

		for (left = left < VG_LANE_RECORDS ? left : VG_LANE_RECORDS; left > 0; left--)
			events->overrun += vg_event_record_ns(events, i, head - left) <= until_ns;
		events->lanes[i].tail = head;
	}
}

void vg_events_history_drop(struct vg_events *events, uint64_t before_ns)
{
	uint32_t used = lanes_used(events);

	for (uint32_t i = 0; i < used; i++)
		vg_lane_history_drop(&events->lanes[i], before_ns);
}

uint64_t vg_events_dropped(const struct vg_events *events)
{
	uint64_t sum = events->malformed + events->overrun;

	if (events->shared == NULL)
		return 0;
	sum += atomic_load(&events->shared->refused) - events->refused;
	for (uint32_t i = 0; i < lanes_used(events); i++)
		sum += atomic_load(&events->shared->lanes[i].dropped) - events->lanes[i].dropped;
	return sum;
}
