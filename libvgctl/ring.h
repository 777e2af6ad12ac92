/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_RING_H
#define VG_LIBVGCTL_RING_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * The event ring: memory in which the host writes the program's events and the helper reads them.  The ring is a memfd.
 * The host creates it, seals it against shrinking, and passes it to the helper with BEGIN or LISTEN.  Pages that were
 * never written take no memory.
 *
 * The ring has one lane for each thread that records.  A lane has one producer, one consumer and no
 * lock.  The thread writes a record, then increases `head`.  The helper copies the records below
 * `head`, then increases `tail`.  `head` and `tail` never decrease, even if a later session uses the
 * same ring.  The helper trusts nothing that it reads here: it copies, then checks the copy.
 *
 * When the helper has read all records of an exited thread (head == tail), another thread can take its lane.  So all
 * records between tail and head belong to the current owner of the lane.
 *
 *     lane->records[head % VG_LANE_RECORDS] = record;     the host: record_put() in events.c
 *     lane->head = head + 1;                              with memory_order_release
 */
#ifndef VG_LANE_RECORDS_COUNT           /* the fuzzer sets a smaller value, so that lanes wrap around soon */
#define VG_LANE_RECORDS_COUNT 16384
#endif
enum {
	VG_LANES_MAGIC = 0x6e616c76,
	VG_LANES_VERSION = 1,
	VG_LANES = 256,
	VG_LANE_RECORDS = VG_LANE_RECORDS_COUNT, /* a power of two */
	VG_LANES_LABELS_BYTES = 4 << 20,
	VG_LANES_LABEL_MAX = 1024,   /* bytes of one label; longer labels are truncated */
};

/* The low byte of vg_lane_record.type_and_labels.  The same numbers as enum vg_event_type. */
enum vg_lane_event_type {
	VG_LANE_INSTANT = 0,
	VG_LANE_BEGIN = 1,
	VG_LANE_END = 2,
	VG_LANE_DETACHED_BEGIN = 3,
	VG_LANE_DETACHED_END = 4,
	VG_LANE_COUNTER = 5,
};

/* Labels are numbered from 1 in their order in the ring.  0 means no label. */
enum { VG_LANE_LABEL_BITS = 28, VG_LANE_KIND_SHIFT = 8, VG_LANE_LABEL_SHIFT = 36 };

struct vg_lane_record {
	_Atomic uint64_t time_ns;    /* CLOCK_MONOTONIC */
	_Atomic uint64_t type_and_labels; /* low byte: enum vg_lane_event_type; then 28 bits of kind,
	                                28 of label */
	_Atomic uint64_t value;      /* argument or counter; of an end, the interval's token */
	_Atomic uint64_t parent;     /* of a begin: token of the interval around the new interval; 0: there is
	                                none; equal to the new interval's own token: the parent is unknown */
};

/* The token of an interval whose begin is the lane's record number `index`.  Never 0. */
static inline uint64_t vg_lane_token(uint64_t index, uint32_t lane)
{
	return (index + 1) << 8 | lane;
}

static inline uint32_t vg_token_lane(uint64_t token)
{
	return token & 0xff;
}

struct vg_lane {
	/* Written by the host: */
	_Alignas(64) _Atomic uint64_t head; /* records written so far */
	_Atomic uint64_t interval;   /* token of the thread's innermost open interval, or 0 */
	_Atomic uint64_t dropped;    /* records for which there was no room */
	_Atomic uint32_t taken;      /* 1: a thread has the lane */
	_Atomic uint32_t claims;     /* how often a thread has taken the lane */
	_Atomic int32_t owner;       /* tid of the thread that took it last */
	_Atomic uint32_t name;       /* label: the name that vgctl_thread_name() has set, or 0 */
	/* Written by the helper: */
	_Alignas(64) _Atomic uint64_t tail; /* records that the helper has fetched: the host may overwrite them */
};

struct vg_lanes {
	uint32_t magic, version;
	_Atomic uint32_t used;       /* number of lanes that a thread has ever taken: lanes[0] to lanes[used - 1] */
	_Atomic uint64_t refused;    /* dropped records of threads that have no lane, and of signal handlers that
	                                interrupted the writing of a record */
	_Atomic uint64_t labels_bytes; /* used bytes of `labels` */
	_Atomic uint64_t heartbeat_ns;    /* CLOCK_MONOTONIC of the latest heartbeat; 0: no heartbeat is due */
	_Atomic int32_t heartbeat_tid;    /* thread of the latest heartbeat */
	_Atomic uint32_t stalls_written; /* number of stalls that the helper has written to files */
	_Atomic uint32_t remote;     /* 1: the helper records events for a remote recording */
	struct vg_lane lanes[VG_LANES];
	/* Each label is its length in two bytes, low byte first, and then the text. */
	_Alignas(4096) unsigned char labels[VG_LANES_LABELS_BYTES];
	_Alignas(4096) struct vg_lane_record records[VG_LANES][VG_LANE_RECORDS];
};

#endif
