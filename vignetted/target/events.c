/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/events.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

/* ---- records of the event ring ---- */

/* A copy of one record of the event ring, still untrusted. */
struct event_record {
	uint64_t time_ns, type_and_labels, value, parent; /* as in struct vg_lane_record */
};

/* The clock readings of two processes may differ.  A record that is later than our clock by more than this is
 * forged. */
static const uint64_t CLOCK_AHEAD_MAX_NS = 1000000000;

/* The clock is read only for a record that is ahead of the drain's time: a drain can take long on a busy machine, and
 * the host writes records meanwhile. */
static bool is_ahead(const struct event_record *record, uint64_t drained_ns)
{
	return record->time_ns > drained_ns + CLOCK_AHEAD_MAX_NS && record->time_ns > vg_now_ns() + CLOCK_AHEAD_MAX_NS;
}

/* Finds the labels that the host has added.  After a label with an invalid length no further labels are read. */
static void labels_read(struct vg_events *events)
{
	uint64_t end = atomic_load_explicit(&events->shared->labels_bytes, memory_order_acquire);
	const volatile unsigned char *bytes = events->shared->labels;

	if (end > VG_LANES_LABELS_BYTES)
		return;
	while (events->labels_bytes + 2 <= end) {
		struct vg_events_label label = { .offset = (uint32_t)events->labels_bytes + 2 };

		label.length = bytes[label.offset - 2] | (uint32_t)bytes[label.offset - 1] << 8;
		if (label.length > VG_LANES_LABEL_MAX || label.length > end - label.offset ||
		    vg_array_push(&events->labels, &label) != 0)
			return;
		events->labels_bytes = label.offset + label.length;
	}
}

/* Returns the label's id in profiles: its number in the event ring, minus 1.  VG_NONE for number 0, which means no
 * label. */
static uint32_t label_id(uint64_t number)
{
	return number == 0 ? VG_NONE : (uint32_t)number - 1;
}

/* Writes the label to a profile that does not have it yet. */
static void label_write(struct vg_events *events, uint32_t out, uint32_t id)
{
	char text[VG_LANES_LABEL_MAX];
	struct vg_events_label *label;

	if (id == VG_NONE || (events->labels.items[id].written & 1u << out) != 0)
		return;
	label = &events->labels.items[id];
	label->written |= 1u << out;
	events->profiles[out].labels_written++;
	memcpy(text, events->shared->labels + label->offset, label->length);
	vg_writer_label(events->profiles[out].writer, id, text, label->length);
}

/* Returns `token` if it names this lane and a record of this session before record number `head`.  Otherwise returns 0.
 * Does not check whether that record began an interval. */
static uint64_t token_check(const struct vg_events_lane *own, uint64_t token, uint64_t head)
{
	uint64_t number = token >> 8;

	return vg_token_lane(token) == own->number && number > own->first && number <= head ? token : 0;
}

/* Fills *event; its time_ns is session time.  Returns 0, or -EBADMSG if the record is invalid. */
static int record_check(const struct vg_events *events, const struct vg_drain_context *context,
			const struct vg_events_lane *own, const struct event_record *record,
			struct vg_writer_event *event)
{
	const uint64_t mask = (UINT64_C(1) << VG_LANE_LABEL_BITS) - 1;
	uint64_t kind = record->type_and_labels >> VG_LANE_KIND_SHIFT & mask;
	uint64_t label = record->type_and_labels >> VG_LANE_LABEL_SHIFT & mask;

	*event = (struct vg_writer_event){
		.type = record->type_and_labels & 0xff, .value = record->value,
		.time_ns = record->time_ns - events->begin_ns,
		.kind = label_id(kind), .label = label_id(label),
	};
	if (event->type >= VG_EVENT_TYPES || record->time_ns < events->begin_ns ||
	    is_ahead(record, events->begin_ns + context->now_ns) || kind > events->labels.count ||
	    label > events->labels.count)
		return -EBADMSG;
	if (event->time_ns < own->last_ns)
		event->time_ns = own->last_ns;
	switch (event->type) {
	case VG_EVENT_BEGIN:
	case VG_EVENT_DETACHED_BEGIN:
		event->token = vg_lane_token(own->tail, own->number);
		event->parent = record->parent == event->token ? event->token :
				token_check(own, record->parent, own->tail);
		break;
	case VG_EVENT_END:
	case VG_EVENT_DETACHED_END:
		event->token = record->value;
		event->value = 0;
		event->time_ns = vg_lane_end_ns(own, event->token, event->time_ns);
		return record->value != 0 ? 0 : -EBADMSG;
	case VG_EVENT_INSTANT:
	case VG_EVENT_COUNTER:
	case VG_EVENT_TYPES:
		break;
	}
	return 0;
}

/* Whether the interval began before the recording `index` began. */
static bool began_before(const struct vg_events *events, uint32_t index, uint64_t token)
{
	return token >> 8 <= events->lanes[vg_token_lane(token)].first_of[index];
}

/* Writes the event to one profile, with that profile's time and thread id. */
static void event_write(struct vg_events *events, struct vg_events_lane *own, uint32_t index,
			struct vg_writer_event event)
{
	struct vg_events_profile *out = &events->profiles[index];

	if (event.time_ns < out->since_ns) {
		own->first_of[index] = own->tail + 1;
		return;
	}
	if (event.time_ns > out->until_ns || (event.token != 0 && began_before(events, index, event.token)))
		return;
	if (vg_writer_full(out->writer)) {
		out->file_full++;
		return;
	}
	label_write(events, index, event.kind);
	label_write(events, index, event.label);
	event.time_ns -= out->since_ns;
	event.thread = own->threads[index];
	if (began_before(events, index, event.parent))
		event.parent = 0;
	out->recorded++;
	vg_writer_event(out->writer, &event);
	if (out->open.max != 0 && out->writer->failed == 0)
		vg_open_intervals_note(&out->open, &(struct vg_open_interval){ event, own->tid });
}

/* Returns the number of the first intact record of a copy that begins at record number `tail`.  The host overwrote the
 * earlier records during the copy. */
static uint64_t first_intact(const struct vg_lane *lane, uint64_t tail)
{
	uint64_t head;

	atomic_thread_fence(memory_order_acquire);
	head = atomic_load_explicit(&lane->head, memory_order_relaxed);
	/* The record at `head` may be half written. */
	if (head < tail || head - tail < VG_LANE_RECORDS)
		return tail;
	return head - VG_LANE_RECORDS + 1;
}

/* Copies `count` records, beginning with record number `tail`, from the lane's records. */
static void records_copy(const struct vg_lane_record *records, uint64_t tail, size_t count, struct event_record *batch)
{
	for (size_t i = 0; i < count; i++) {
		const struct vg_lane_record *record = &records[(tail + i) % VG_LANE_RECORDS];

		batch[i].time_ns = atomic_load_explicit(&record->time_ns, memory_order_relaxed);
		batch[i].type_and_labels = atomic_load_explicit(&record->type_and_labels, memory_order_relaxed);
		batch[i].value = atomic_load_explicit(&record->value, memory_order_relaxed);
		batch[i].parent = atomic_load_explicit(&record->parent, memory_order_relaxed);
	}
}

/* Drops the lane's records, which no profile wants, without counting them. */
static void records_drop(const struct vg_events *events, struct vg_events_lane *own)
{
	own->tail = atomic_load_explicit(&own->shared->head, memory_order_acquire);
	VG_EACH_RECORDING(i, events->live)
		own->first_of[i] = own->tail;
	atomic_store_explicit(&own->shared->tail, own->tail, memory_order_release);
}

/* Returns the session time of record `number`, which is in the ring. */
static uint64_t record_ns(const struct vg_events *events, uint32_t lane, uint64_t number)
{
	return atomic_load(&events->shared->records[lane][number % VG_LANE_RECORDS].time_ns) - events->begin_ns;
}

/* Writes `record`, whose number is the lane's `tail`, to each profile that has the lane's thread.  Labels that a
 * profile does not have yet are written before the record.  An invalid record is counted in events->malformed
 * instead. */
static void record_write(struct vg_events *events, const struct vg_drain_context *context, struct vg_events_lane *own,
			 const struct event_record *record)
{
	struct vg_writer_event event;

	if (record_check(events, context, own, record, &event) != 0) {
		events->malformed++;
		return;
	}
	own->last_ns = event.time_ns;
	if (event.type == VG_EVENT_BEGIN)
		vg_lane_open(own, event.time_ns, event.token);
	else if (event.type == VG_EVENT_END)
		vg_lane_close(own, event.time_ns, event.token);
	VG_EACH_RECORDING(i, own->thread_written & ~own->skipped)
		event_write(events, own, i, event);
	/* Profiles that do not have the thread, or not yet, do not get the event. */
	VG_EACH_RECORDING(i, events->live & (~own->thread_written | own->skipped))
		own->first_of[i] = own->tail + 1;
}

/* ---- lanes, threads and profiles ---- */

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

		vg_events_close(events);
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

		own->number = i;
		own->shared = lane;
		own->tail = own->first = atomic_load(&lane->head);
		own->dropped = atomic_load(&lane->dropped);
		own->claims = atomic_load(&lane->claims) - 1;
		vg_lane_reset(own);
		atomic_store(&lane->tail, own->tail);
	}
}

void vg_events_recording_begin(struct vg_events *events, uint32_t index, struct vg_writer *writer, uint32_t *threads,
			       uint64_t now_ns)
{
	events->profiles[index] = (struct vg_events_profile){
		.writer = writer, .threads = threads, .since_ns = now_ns, .until_ns = UINT64_MAX,
		.dropped = vg_events_dropped(events),
	};
	events->live |= 1u << index;
	for (uint32_t i = 0; events->shared != NULL && i < VG_LANES; i++)
		events->lanes[i].first_of[index] = events->lanes[i].tail;
}

/* A hostile host can have two million labels: do nothing if none of them counts as written. */
static void labels_forget(struct vg_events *events, uint32_t index)
{
	if (events->profiles[index].labels_written == 0)
		return;
	events->profiles[index].labels_written = 0;
	for (size_t i = 0; i < events->labels.count; i++)
		events->labels.items[i].written &= ~(1u << index);
}

/* Writes a lane's thread that is not in vg_tasks. */
static void lane_thread_define(const struct vg_events_lane *own, uint32_t index, const struct vg_events_profile *out)
{
	struct vg_thread thread = { .id = own->threads[index], .tid = own->tid };

	if (own->begin_ns > out->since_ns)
		thread.begin_ns = own->begin_ns - out->since_ns;
	vg_writer_thread(out->writer, &thread, "");
}

void vg_events_recording_end(struct vg_events *events, uint32_t index)
{
	events->live &= ~(1u << index);
	for (uint32_t i = 0; events->shared != NULL && i < VG_LANES; i++) {
		events->lanes[i].thread_written &= ~(1u << index);
		events->lanes[i].skipped &= ~(1u << index);
		events->lanes[i].name_written &= ~(1u << index);
	}
	labels_forget(events, index);
	vg_open_intervals_free(&events->profiles[index].open);
}

/* ---- which thread a lane belongs to ---- */

static struct vg_task *task_find(const struct vg_drain_context *context, const struct vg_events_lane *own, pid_t tid)
{
	struct vg_task *found = NULL;

	VG_EACH_TASK(task, context->tasks) {
		if (task->tid == tid && task->in_profiles != 0)
			found = task;
		else if (task->lane == own->number + 1)
			task->lane = 0; /* this task has released the lane */
	}
	return found;
}

/* Session time of the lane's oldest record that is not drained yet.  If that time is impossible: now. */
static uint64_t first_event_ns(const struct vg_events *events, const struct vg_drain_context *context,
			       const struct vg_events_lane *own)
{
	uint64_t time_ns = record_ns(events, own->number, own->tail);

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
static void lane_thread_write(struct vg_events *events, const struct vg_drain_context *context,
			      struct vg_events_lane *own, const struct vg_task *task)
{
	pid_t tid = atomic_load_explicit(&own->shared->owner, memory_order_relaxed);

	own->skipped |= events->live & ~own->thread_written & ~wanted_in(events, tid);
	own->thread_written |= own->skipped;
	VG_EACH_RECORDING(i, events->live & ~own->thread_written) {
		struct vg_events_profile *out = &events->profiles[i];

		if (task != NULL && (task->in_profiles & 1u << i) == 0)
			continue;    /* the next scan adds the task to this profile */
		own->thread_written |= 1u << i;
		if (task != NULL) {
			own->threads[i] = task->accounts[i].id;
			continue;
		}
		if (own->begin_ns == 0)
			own->begin_ns = first_event_ns(events, context, own);
		own->threads[i] = vg_writer_thread_id(out->writer);
		(*out->threads)++;
		lane_thread_define(own, i, out);
	}
}

/* Adds the lane's thread to profiles that began after the thread became known.  False: the thread is not known yet. */
static bool lane_thread_write_new(struct vg_events *events, const struct vg_drain_context *context,
				  struct vg_events_lane *own)
{
	struct vg_task *task = NULL;

	if (!own->known)
		own->name_written |= events->live;
	/* A recording that begins later does not get an ended thread, nor its name. */
	if (own->has_ended)
		own->name_written |= events->live & ~own->thread_written;
	if (!own->known || own->has_ended || (events->live & ~own->thread_written) == 0)
		return own->known;
	if (!own->is_no_task)
		task = task_find(context, own, atomic_load_explicit(&own->shared->owner, memory_order_relaxed));
	/* The task may be a new one: it is removed while scans look for chosen threads only. */
	if (task != NULL)
		task->lane = own->number + 1;
	if (task != NULL || own->is_no_task)
		lane_thread_write(events, context, own, task);
	return true;
}

void vg_events_task_found(struct vg_events *events, struct vg_task *task, uint32_t ids[VG_RECORDINGS_MAX])
{
	for (uint32_t i = 0; i < VG_RECORDINGS_MAX; i++)
		ids[i] = VG_NONE;
	for (uint32_t lane = 0; lane < lanes_used(events); lane++) {
		struct vg_events_lane *own = &events->lanes[lane];

		if (!own->known || !own->is_no_task ||
		    task->tid != atomic_load_explicit(&own->shared->owner, memory_order_relaxed) ||
		    own->claims != atomic_load_explicit(&own->shared->claims, memory_order_acquire))
			continue;
		own->is_no_task = false;
		task->lane = lane + 1;
		task->host_name = own->name;
		/* A flight recorder gives the id of an ended thread to another one. */
		VG_EACH_RECORDING(i, own->thread_written & ~own->skipped) {
			if (!own->has_ended || events->profiles[i].writer->take == NULL)
				ids[i] = own->threads[i];
			else
				own->thread_written &= ~(1u << i);
		}
	}
}

/* Writes the end of a lane's thread that is not in vg_tasks. */
static void lane_end(const struct vg_events *events, struct vg_events_lane *own)
{
	if (own->has_ended)
		return;
	own->has_ended = true;
	VG_EACH_RECORDING(i, own->thread_written & ~own->skipped) {
		const struct vg_events_profile *out = &events->profiles[i];

		if (own->last_ns >= out->since_ns)
			vg_writer_thread_end(out->writer, own->threads[i], own->last_ns - out->since_ns);
	}
}

/* Finds the lane's thread and adds it to the profiles.  Returns false if the lane's events must wait.  A thread that
 * was created and exited between two scans is known only from its lane. */
static bool lane_thread_find(struct vg_events *events, const struct vg_drain_context *context,
			     struct vg_events_lane *own)
{
	const struct vg_lane *shared = own->shared;
	uint32_t claims = atomic_load_explicit(&shared->claims, memory_order_acquire);
	struct vg_task *task;
	bool taken;
	pid_t tid;

	if (claims == own->claims)
		return lane_thread_write_new(events, context, own);
	if (own->known && own->is_no_task)
		lane_end(events, own);
	vg_lane_reset(own);
	tid = atomic_load_explicit(&shared->owner, memory_order_relaxed);
	taken = atomic_load_explicit(&shared->taken, memory_order_acquire) != 0;
	own->claims = claims;
	own->tid = tid;
	if (tid < 1 || tid > TID_MAX)
		return false;
	task = task_find(context, own, tid);
	if (task != NULL) {
		task->lane = own->number + 1;
		own->known = true;
	} else if (wanted_in(events, tid) == 0) {
		/* Look the thread up again at each drain: a recording of all threads may begin. */
		records_drop(events, own);
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
		lane_thread_write(events, context, own, task);
	return own->known;
}

/* Writes the name that the host has given to a thread: label number `name`. */
static void name_write(const struct vg_events *events, uint32_t index, uint32_t thread, uint32_t name, uint64_t now_ns)
{
	const struct vg_events_profile *out = &events->profiles[index];
	const struct vg_events_label *label;
	char text[VG_LANES_LABEL_MAX + 1];

	if (name == 0 || name > events->labels.count)
		return;
	label = &events->labels.items[name - 1];
	memcpy(text, events->shared->labels + label->offset, label->length);
	text[label->length] = '\0';
	vg_writer_thread_name(out->writer, thread, now_ns - out->since_ns, text);
}

static void lane_name_write(const struct vg_events *events, const struct vg_drain_context *context,
			    struct vg_events_lane *own)
{
	uint32_t name = atomic_load_explicit(&own->shared->name, memory_order_acquire);
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
	VG_EACH_RECORDING(i, name_due & ~own->skipped)
		name_write(events, i, own->threads[i], name, context->now_ns);
	VG_EACH_TASK(task, context->tasks) {
		if (task->lane == own->number + 1)
			task->host_name = name;
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

static void lane_end_if_released(const struct vg_events *events, struct vg_events_lane *own)
{
	if (own->is_no_task && atomic_load(&own->shared->taken) == 0)
		lane_end(events, own);
}

static void lane_drain(struct vg_events *events, const struct vg_drain_context *context, struct vg_events_lane *own,
		       uint64_t head)
{
	struct event_record batch[BATCH];

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

		records_copy(events->shared->records[own->number], start, count, batch);
		intact = events->overwrite ? first_intact(own->shared, start) : start;
		if (intact > start)
			lane_skip(events, own, intact);
		for (; own->tail < start + count; own->tail++)
			record_write(events, context, own, &batch[own->tail - start]);
		atomic_store_explicit(&own->shared->tail, own->tail, memory_order_release);
		/* After the last batch another thread may take the lane. */
		if (own->tail < head && context->on_batch != NULL)
			context->on_batch(context->session);
	}
	atomic_store_explicit(&own->shared->tail, own->tail, memory_order_release);
	lane_end_if_released(events, own);
	if (context->on_batch != NULL)
		context->on_batch(context->session);
}

/* Whether a lane has new records, another thread, or a name to write. */
static bool lane_changed(const struct vg_events *events, const struct vg_events_lane *own, uint64_t head)
{
	return head != own->tail || (events->live & ~own->name_written) != 0 ||
	       atomic_load_explicit(&own->shared->claims, memory_order_relaxed) != own->claims ||
	       atomic_load_explicit(&own->shared->name, memory_order_relaxed) != own->name;
}

void vg_events_drain(struct vg_events *events, const struct vg_drain_context *context)
{
	uint32_t used = lanes_used(events);
	uint64_t cpu_ns = 0, fullest = 0;

	for (uint32_t i = 0; i < used; i++) {
		struct vg_events_lane *own = &events->lanes[i];
		uint64_t head = atomic_load_explicit(&own->shared->head, memory_order_acquire);

		if (!lane_changed(events, own, head))
			continue;
		if (cpu_ns == 0)
			cpu_ns = vg_own_cpu_ns();
		labels_read(events);
		if (!lane_thread_find(events, context, own))
			continue;
		lane_name_write(events, context, own);
		events->last_event_ns = context->now_ns;
		if (head - own->tail > fullest)
			fullest = head - own->tail;
		if (head != own->tail)
			lane_drain(events, context, own, head);
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

/* ---- segments of flight recorders ---- */

/* Detached intervals of ended threads are written as those of one thread. */
void vg_events_state_write(struct vg_events *events, uint32_t index)
{
	struct vg_events_profile *out = &events->profiles[index];
	struct vg_open_interval *intervals;
	uint32_t ended = VG_NONE;
	uint64_t latest_ns = 0;

	labels_forget(events, index);
	vg_open_intervals_threads_forget(&out->open, out->writer);
	intervals = vg_open_intervals_list(&out->open);
	for (size_t i = 0; intervals != NULL && i < out->open.count; i++) {
		struct vg_writer_event *event = &intervals[i].event;
		struct vg_thread thread = { .id = event->thread, .tid = intervals[i].tid };
		bool is_written = i > 0 && thread.id == intervals[i - 1].event.thread;

		if (event->thread == VG_NONE) {
			is_written = ended != VG_NONE;
			if (!is_written)
				ended = vg_writer_thread_id(out->writer);
			thread.id = event->thread = ended;
		}
		if (!is_written)
			vg_writer_thread(out->writer, &thread, "");
		label_write(events, index, event->kind);
		label_write(events, index, event->label);
		vg_writer_event(out->writer, event);
		latest_ns = event->time_ns;
	}
	if (ended != VG_NONE)
		vg_writer_thread_end(out->writer, ended, latest_ns);
	free(intervals);
}

void vg_events_task_restart(const struct vg_events *events, uint32_t index, const struct vg_task *task,
			    uint64_t now_ns)
{
	name_write(events, index, task->accounts[index].id, task->host_name, now_ns);
}

void vg_events_restart(struct vg_events *events, uint32_t index, uint64_t now_ns)
{
	labels_forget(events, index);
	for (uint32_t i = 0; i < lanes_used(events); i++) {
		struct vg_events_lane *own = &events->lanes[i];

		if (!own->known || !own->is_no_task || (own->thread_written & ~own->skipped & 1u << index) == 0)
			continue;
		if (atomic_load_explicit(&own->shared->head, memory_order_acquire) == own->tail)
			lane_end_if_released(events, own);
		if (own->has_ended)
			continue;
		lane_thread_define(own, index, &events->profiles[index]);
		name_write(events, index, own->threads[index], own->name, now_ns);
	}
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
	return token_check(&events->lanes[task->lane - 1], token, UINT64_MAX >> 8);
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
			events->overrun += record_ns(events, i, head - left) <= until_ns;
		events->lanes[i].tail = head;
	}
}

void vg_events_history_drop(struct vg_events *events, uint64_t before_ns)
{
	for (uint32_t i = 0; i < lanes_used(events); i++)
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
