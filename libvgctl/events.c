/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What threads do while a session records: no lock, no system call but where the kernel has no
 * vDSO clock. */
#include <time.h>

#include "libvgctl/lanes.h"
#include "libvgctl/stalls.h"
#include "libvgctl/vgctl.h"

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void producer_leave(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	vg_producer_local.busy = 0;
}

/* The thread's lane, which no handler on this thread may touch until producer_leave(). */
static struct vg_producer *producer_enter(uint64_t records)
{
	struct vg_lanes_state *state = atomic_load_explicit(&vg_lanes_state, memory_order_acquire);
	struct vg_producer *own = vg_producer_local.producer;
	uint32_t session;

	if (state == NULL)
		return NULL;
	session = atomic_load_explicit(&state->session, memory_order_acquire);
	if (__builtin_expect(vg_producer_local.busy, 0)) {
		if (session != 0)
			vg_lanes_refuse(records);
		return NULL;
	}
	vg_producer_local.busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(own == NULL || own->session != session ||
			     own->host != atomic_load_explicit(&state->host, memory_order_relaxed), 0))
		own = vg_producer_renew();
	if (own == NULL) {
		if (session != 0)
			vg_lanes_refuse(records);
		producer_leave();
	}
	return own;
}

/* Whether so many records fit, beside an end for each interval that is open: an interval whose
 * beginning is in the profile must not lose its end. */
static bool producer_room(struct vg_producer *own, uint64_t head, uint32_t records)
{
	uint32_t ends = own->depth + own->deeper;

	if (ends > VG_PRODUCER_ENDS)
		ends = VG_PRODUCER_ENDS;
	if (head + ends + records <= own->limit)
		return true;
	own->limit = atomic_load_explicit(&own->lane->tail, memory_order_acquire) + VG_LANE_RECORDS;
	return head + ends + records <= own->limit;
}

static uint64_t what_pack(enum vg_lane_what what, uint32_t kind, uint32_t label)
{
	const uint64_t mask = (UINT64_C(1) << VG_LANE_LABEL_BITS) - 1;

	return what | (kind & mask) << VG_LANE_KIND_SHIFT | (label & mask) << VG_LANE_LABEL_SHIFT;
}

static void record_put(struct vg_producer *own, uint64_t head, uint64_t what, uint64_t value,
		       uint64_t parent)
{
	struct vg_lane_record *record = &own->records[head % VG_LANE_RECORDS];

	/* Where the oldest are overwritten: a reader that sees any of this must see the head that
	 * tells it so. */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&record->time_ns, clock_ns(), memory_order_relaxed);
	atomic_store_explicit(&record->what, what, memory_order_relaxed);
	atomic_store_explicit(&record->value, value, memory_order_relaxed);
	atomic_store_explicit(&record->parent, parent, memory_order_relaxed);
	atomic_store_explicit(&own->lane->head, head + 1, memory_order_release);
}

static void drop(struct vg_producer *own, uint64_t records)
{
	atomic_fetch_add_explicit(&own->lane->dropped, records, memory_order_relaxed);
}

static void event_put(uint64_t what, uint64_t value)
{
	struct vg_producer *own = producer_enter(1);
	uint64_t head;

	if (own == NULL)
		return;
	head = atomic_load_explicit(&own->lane->head, memory_order_relaxed);
	if (producer_room(own, head, 1))
		record_put(own, head, what, value, 0);
	else
		drop(own, 1);
	producer_leave();
}

void vgctl_event_instant(uint32_t kind, uint32_t label, uint64_t argument)
{
	event_put(what_pack(VG_LANE_INSTANT, kind, label), argument);
}

void vgctl_event_counter(uint32_t label, int64_t value)
{
	event_put(what_pack(VG_LANE_COUNTER, 0, label), (uint64_t)value);
}

/* The innermost open interval, for one that begins with that token: its own, where that is not known. */
static uint64_t parent_of(const struct vg_producer *own, uint64_t token)
{
	if (own->deeper > 0)
		return token;
	return own->depth > 0 ? own->open[own->depth - 1] : 0;
}

static void interval_open(struct vg_producer *own, uint64_t token)
{
	if (own->depth == VG_PRODUCER_DEPTH) {
		own->deeper++;
		return;
	}
	own->open[own->depth++] = token;
	atomic_store_explicit(&own->lane->interval, token, memory_order_relaxed);
}

struct vgctl_interval vgctl_event_begin(uint32_t kind, uint32_t label, uint64_t argument,
					uint32_t detached)
{
	struct vgctl_interval interval = { 0, 0, detached };
	/* Without a beginning there will be no end. */
	struct vg_producer *own = producer_enter(2);
	uint64_t head;

	if (own == NULL)
		return interval;
	head = atomic_load_explicit(&own->lane->head, memory_order_relaxed);
	if (producer_room(own, head, detached ? 1 : 2)) {
		interval.token = vg_lane_token(head, own->index);
		interval.session = own->session;
		record_put(own, head, what_pack(detached ? VG_LANE_DETACHED_BEGIN : VG_LANE_BEGIN,
						kind, label), argument, parent_of(own, interval.token));
		if (!detached)
			interval_open(own, interval.token);
	} else {
		drop(own, 2);
	}
	producer_leave();
	return interval;
}

/* Takes it off the open ones: the innermost, where ends are nested as beginnings are.  One that is not listed is a
 * deeper one, if it began on this thread. */
static void interval_close(struct vg_producer *own, uint64_t token)
{
	uint32_t at = own->depth;

	while (at > 0 && own->open[at - 1] != token)
		at--;
	if (at == 0) {
		own->deeper -= own->deeper > 0 && vg_token_lane(token) == own->index;
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

	/* Of an earlier session, or of a parent process. */
	if (state == NULL || interval.session !=
	    atomic_load_explicit(&state->session, memory_order_relaxed))
		return;
	own = producer_enter(1);
	if (own == NULL)
		return;
	if (!interval.detached)
		interval_close(own, interval.token);
	head = atomic_load_explicit(&own->lane->head, memory_order_relaxed);
	if (producer_room(own, head, 1))
		record_put(own, head, interval.detached ? VG_LANE_DETACHED_END : VG_LANE_END,
			   interval.token, 0);
	else
		drop(own, 1);
	producer_leave();
}

void vgctl_event_heartbeat(int due)
{
	struct vg_lanes_state *state = atomic_load_explicit(&vg_lanes_state, memory_order_acquire);

	if (state == NULL || atomic_load_explicit(&state->session, memory_order_relaxed) == 0)
		return;
	vg_lanes_beat(due ? clock_ns() : 0);
	vg_stalls_name();
}
