/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_RING_H
#define VG_LIBVGCTL_RING_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * What the host and the helper share of the program's events: a memfd that the host makes, seals
 * against shrinking and passes with BEGIN.  Pages that nobody touched take no memory.
 *
 * Each thread that records has a lane to itself: one producer, one consumer, no lock.  The thread
 * writes a record, then raises `head`; the helper copies what lies below it, then raises `tail`.
 * Both only rise, for as long as the ring lives, which is longer than a session.  The helper
 * believes nothing that it reads here: it copies, then checks the copy.
 *
 * A lane is taken by one thread after another, and changes hands only when it is drained, so that
 * all that is between tail and head is its owner's.
 */
#ifndef VG_LANE_RECORDS_COUNT           /* a fuzzer wants to come round soon */
#define VG_LANE_RECORDS_COUNT 16384
#endif
enum {
	VG_LANES_MAGIC = 0x6e616c76,
	VG_LANES_VERSION = 1,
	VG_LANES = 256,
	VG_LANE_RECORDS = VG_LANE_RECORDS_COUNT, /* a power of two */
	VG_LANES_LABELS_BYTES = 4 << 20,
	VG_LANES_LABEL_MAX = 1024,   /* bytes of one label */
};

/* The low byte of vg_lane_record.what; numbers are those of the profile's events. */
enum vg_lane_what {
	VG_LANE_INSTANT = 0,
	VG_LANE_BEGIN = 1,
	VG_LANE_END = 2,
	VG_LANE_DETACHED_BEGIN = 3,
	VG_LANE_DETACHED_END = 4,
	VG_LANE_COUNTER = 5,
};

/* Labels are numbered from 1 in the order in which they stand; 0 is none. */
enum { VG_LANE_LABEL_BITS = 28, VG_LANE_KIND_SHIFT = 8, VG_LANE_LABEL_SHIFT = 36 };

struct vg_lane_record {
	_Atomic uint64_t time_ns;    /* CLOCK_MONOTONIC */
	_Atomic uint64_t what;       /* enum vg_lane_what, 28 bits of kind, 28 of label */
	_Atomic uint64_t value;      /* argument, counter; of an end the interval's token */
	_Atomic uint64_t parent;     /* of a beginning: token of the innermost open interval, or 0; its own:
	                                that is not known */
};

/* The token of an interval whose beginning is the lane's record number `index`: never 0. */
static inline uint64_t vg_lane_token(uint64_t index, uint32_t lane)
{
	return (index + 1) << 8 | lane;
}

static inline uint32_t vg_token_lane(uint64_t token)
{
	return token & 0xff;
}

struct vg_lane {
	/* The host's. */
	_Alignas(64) _Atomic uint64_t head; /* records so far */
	_Atomic uint64_t interval;   /* token of the thread's innermost open interval, or 0 */
	_Atomic uint64_t dropped;    /* records for which there was no room */
	_Atomic uint32_t taken;      /* 0 or 1 */
	_Atomic uint32_t claims;     /* one more each time that a thread takes it */
	_Atomic int32_t owner;       /* tid of who took it last */
	_Atomic uint32_t name;       /* label: how the thread calls itself, or 0 */
	/* The helper's. */
	_Alignas(64) _Atomic uint64_t tail; /* records that may be overwritten */
};

struct vg_lanes {
	uint32_t magic, version;
	_Atomic uint32_t used;       /* lanes that were ever taken are the first so many */
	_Atomic uint64_t refused;    /* records of threads that found no lane */
	_Atomic uint64_t labels_bytes; /* used of `labels` */
	_Atomic uint64_t beat_ns;    /* CLOCK_MONOTONIC of the latest heartbeat; 0: none is due */
	_Atomic int32_t beat_tid;    /* and whose it was */
	_Atomic uint32_t dumps;      /* the helper's: stalls that are written, so far */
	struct vg_lane lanes[VG_LANES];
	/* Each two bytes of length, low one first, and so much text. */
	_Alignas(4096) unsigned char labels[VG_LANES_LABELS_BYTES];
	_Alignas(4096) struct vg_lane_record records[VG_LANES][VG_LANE_RECORDS];
};

#endif
