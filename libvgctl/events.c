/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Records events.  Takes no lock.  Makes no system call, except to read the time if the kernel has no vDSO clock. */
#include <time.h>

/* This file exports the inline functions of vgctl.h. */
#define VGCTL_INLINE_ extern inline
#include "libvgctl/lanes.h"
#include "libvgctl/stalls.h"
#include "libvgctl/vgctl.h"

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Whether a session of the program or a remote recording records events. */
static bool events_wanted(const struct vg_lanes_state *state)
{
	const _Atomic uint32_t *wanted = atomic_load_explicit(&state->wanted, memory_order_acquire);

	/* In a child that inherited vgctl_recording but not the state, vg_producer_get() clears vgctl_recording. */
	return wanted == NULL || atomic_load_explicit(wanted, memory_order_relaxed) != 0;
}

static void producer_leave(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	vg_producer_local.busy = 0;
}

/* Returns the calling thread's producer.  Until producer_leave(), a signal handler on this thread gets NULL.  Returns
 * NULL if the thread cannot record now.  If this happens during a session, counts `records` as dropped. */
static struct vg_producer *producer_enter(struct vg_lanes_state *state, uint64_t records)
{
	struct vg_producer *own = vg_producer_local.producer;
	uint32_t session;

	session = atomic_load_explicit(&state->session, memory_order_acquire);
	if (__builtin_expect(vg_producer_local.busy, 0)) {
		if (session != 0)
			vg_lanes_count_dropped(records);
		return NULL;
	}
	vg_producer_local.busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(own == NULL || own->session != session ||
			     own->ring != atomic_load_explicit(&state->ring, memory_order_relaxed), 0))
		own = vg_producer_get();
	if (own == NULL) {
		if (session != 0)
			vg_lanes_count_dropped(records);
		producer_leave();
	}
	return own;
}

/* True if there is room for the records and also for the ends of all open intervals.  If the begin of an interval was
 * recorded, its end must not be dropped. */
static bool producer_room(struct vg_producer *own, uint64_t head, uint32_t records)
{
	uint32_t ends = own->depth + own->untracked;

	if (ends > VG_PRODUCER_ENDS)
		ends = VG_PRODUCER_ENDS;
	if (head + ends + records <= own->head_limit)
		return true;
	own->head_limit = atomic_load_explicit(&own->lane->tail, memory_order_acquire) + VG_LANE_RECORDS;
	return head + ends + records <= own->head_limit;
}

static uint64_t type_pack(enum vg_lane_event_type type, uint32_t kind, uint32_t label)
{
	const uint64_t mask = (UINT64_C(1) << VG_LANE_LABEL_BITS) - 1;

	return type | (kind & mask) << VG_LANE_KIND_SHIFT | (label & mask) << VG_LANE_LABEL_SHIFT;
}

static void record_put(struct vg_producer *own, uint64_t head, uint64_t type_and_labels, uint64_t value,
		       uint64_t parent)
{
	struct vg_lane_record *record = &own->records[head % VG_LANE_RECORDS];

	/* With events_overwrite, these stores may overwrite a record that the helper is reading.  The fence orders them
	 * after the previous store of `head`.  So if the helper reads one of the new values and then reads `head`,
	 * `head` shows that the old record was overwritten. */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&record->time_ns, clock_ns(), memory_order_relaxed);
	atomic_store_explicit(&record->type_and_labels, type_and_labels, memory_order_relaxed);
	atomic_store_explicit(&record->value, value, memory_order_relaxed);
	atomic_store_explicit(&record->parent, parent, memory_order_relaxed);
	atomic_store_explicit(&own->lane->head, head + 1, memory_order_release);
}

static void drop(struct vg_producer *own, uint64_t records)
{
	atomic_fetch_add_explicit(&own->lane->dropped, records, memory_order_relaxed);
}

static void event_put(uint64_t type_and_labels, uint64_t value)
{
	struct vg_lanes_state *state = atomic_load_explicit(&vg_lanes_state, memory_order_acquire);
	struct vg_producer *own;
	uint64_t head;

	if (state == NULL || !events_wanted(state))
		return;
	own = producer_enter(state, 1);
	if (own == NULL)
		return;
	head = atomic_load_explicit(&own->lane->head, memory_order_relaxed);
	if (producer_room(own, head, 1))
		record_put(own, head, type_and_labels, value, 0);
	else
		drop(own, 1);
	producer_leave();
}

void vgctl_event_instant(uint32_t kind, uint32_t label, uint64_t argument)
{
	event_put(type_pack(VG_LANE_INSTANT, kind, label), argument);
}

void vgctl_event_counter(uint32_t label, int64_t value)
{
	event_put(type_pack(VG_LANE_COUNTER, 0, label), (uint64_t)value);
}

/* Returns the parent of a new interval: the innermost open interval, or 0 if there is none.  If the innermost open
 * interval is unknown, returns the new interval's own token. */
static uint64_t parent_of(const struct vg_producer *own, uint64_t token)
{
	if (own->untracked > 0)
		return token;
	return own->depth > 0 ? own->open[own->depth - 1] : 0;
}

static void interval_open(struct vg_producer *own, uint64_t token)
{
	if (own->depth == VG_PRODUCER_DEPTH) {
		own->untracked++;
		return;
	}
	own->open[own->depth++] = token;
	atomic_store_explicit(&own->lane->interval, token, memory_order_relaxed);
}

struct vgctl_interval vgctl_event_begin(uint32_t kind, uint32_t label, uint64_t argument,
					uint32_t detached)
{
	struct vg_lanes_state *state = atomic_load_explicit(&vg_lanes_state, memory_order_acquire);
	struct vgctl_interval interval = { 0, 0, detached };
	struct vg_producer *own;
	uint64_t head;

	if (state == NULL || !events_wanted(state))
		return interval;
	/* If there is no producer, count two dropped records: the end of this interval is then dropped too. */
	own = producer_enter(state, 2);
	if (own == NULL)
		return interval;
	head = atomic_load_explicit(&own->lane->head, memory_order_relaxed);
	if (producer_room(own, head, detached ? 1 : 2)) {
		interval.token = vg_lane_token(head, own->index);
		interval.session = own->session;
		record_put(own, head, type_pack(detached ? VG_LANE_DETACHED_BEGIN : VG_LANE_BEGIN,
						kind, label), argument, parent_of(own, interval.token));
		if (!detached)
			interval_open(own, interval.token);
	} else {
		drop(own, 2);
	}
	producer_leave();
	return interval;
}

/* Removes the token from the open intervals.  If intervals are nested properly, it is the innermost token.  A token of
 * this thread that is not in `open` belongs to an untracked interval. */
static void interval_close(struct vg_producer *own, uint64_t token)
{
	uint32_t at = own->depth;

	while (at > 0 && own->open[at - 1] != token)
		at--;
	if (at == 0) {
		own->untracked -= own->untracked > 0 && vg_token_lane(token) == own->index;
		return;
	}
	for (; at < own->depth; at++)
		own->open[at - 1] = own->open[at];
	own->depth--;
	atomic_store_explicit(&own->lane->interval, own->depth > 0 ? own->open[own->depth - 1] : 0,
			      memory_order_relaxed);
}

void vgctl_event_end(struct vgctl_interval interval)
{
	struct vg_lanes_state *state = atomic_load_explicit(&vg_lanes_state, memory_order_acquire);
	struct vg_producer *own;
	uint64_t head;
	bool wanted;

	/* Ignore an interval that began in an earlier session or in a parent process. */
	if (state == NULL || interval.session !=
	    atomic_load_explicit(&state->session, memory_order_relaxed))
		return;
	/* While the helper listens and nobody records, only the thread's open intervals are updated. */
	wanted = events_wanted(state);
	own = wanted || !interval.detached ? producer_enter(state, wanted) : NULL;
	if (own == NULL)
		return;
	if (!interval.detached)
		interval_close(own, interval.token);
	head = atomic_load_explicit(&own->lane->head, memory_order_relaxed);
	if (!wanted)
		;
	else if (producer_room(own, head, 1))
		record_put(own, head, interval.detached ? VG_LANE_DETACHED_END : VG_LANE_END,
			   interval.token, 0);
	else
		drop(own, 1);
	producer_leave();
}

void vgctl_event_heartbeat(int due)
{
	struct vg_lanes_state *state = atomic_load_explicit(&vg_lanes_state, memory_order_acquire);

	if (state == NULL || atomic_load_explicit(&state->session, memory_order_relaxed) == 0 || !events_wanted(state))
		return;
	/* First, because a slow disk delays the rename, and the program must not count as stalled meanwhile. */
	vg_stalls_rename_written();
	vg_lanes_heartbeat(due ? clock_ns() : 0);
}
