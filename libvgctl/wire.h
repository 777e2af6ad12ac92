/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_WIRE_H
#define VG_LIBVGCTL_WIRE_H

#include <stdint.h>

/*
 * What the host and the helper say to each other over a SOCK_SEQPACKET socket pair: one fixed
 * struct a message, in the machine's own byte order, for both ends are on one machine.  Each
 * message answers the one before it; a message of another size, magic or version ends the
 * session.
 *
 *     helper: HELLO          who I am; its credentials give the pid that may trace the host
 *     host:   BEGIN + fds    the options, the output file and, if it has one, the event ring
 *     helper: STARTED | FAILED
 *     host:   SAMPLE         any number of times
 *     helper: SAMPLED
 *     host:   END
 *     helper: ENDED | FAILED
 */
enum {
	VG_WIRE_MAGIC = 0x77696776,
	VG_WIRE_VERSION = 2,
	VG_WIRE_FD = 3,              /* the helper's end of the socket */
	VG_WIRE_TEXT_BYTES = 240,
};

/* Numbers are never reused. */
enum vg_wire_kind {
	VG_WIRE_HELLO = 1,
	VG_WIRE_BEGIN = 2,
	VG_WIRE_STARTED = 3,
	VG_WIRE_SAMPLE = 4,
	VG_WIRE_SAMPLED = 5,
	VG_WIRE_END = 6,
	VG_WIRE_ENDED = 7,
	VG_WIRE_FAILED = 8,
};

struct vg_wire_begin {
	uint64_t period_ns;          /* 0: on demand */
	uint64_t max_file_bytes;     /* 0: no limit */
	uint64_t max_duration_ns;    /* 0: no limit */
	uint32_t max_frames;
	uint32_t cpu_mode;           /* 0 or 1 */
	uint32_t budget_ppm;         /* 0: no limit */
	uint32_t perf_map;           /* 0 or 1 */
	uint32_t thread_names;       /* 0 or 1 */
	uint32_t max_threads;        /* 0: the helper's default, as of the next three */
	uint64_t max_memory_bytes;
	uint32_t max_modules;
	uint32_t max_name_bytes;
	uint32_t stop_always;        /* 0 or 1 */
	uint32_t events_overwrite;   /* 0 or 1: what the host does when a lane is full */
};

struct vg_wire_started {
	uint32_t events;             /* 0 or 1: the ring is read */
	uint32_t zero;
};

struct vg_wire_summary {
	uint64_t samples;
	uint64_t lost;
	uint64_t duration_ns;
	uint64_t file_bytes;
	uint32_t threads;
	uint32_t limited;
	uint64_t events;
	uint64_t events_dropped;
};

struct vg_wire_failure {
	int32_t code;                /* a negative errno */
	uint32_t zero;
	char text[VG_WIRE_TEXT_BYTES]; /* a sentence, NUL-terminated */
};

struct vg_wire_message {
	uint32_t magic;
	uint16_t version;
	uint16_t kind;
	union {
		struct vg_wire_begin begin;
		struct vg_wire_started started;
		struct vg_wire_summary summary;
		struct vg_wire_failure failure;
		unsigned char bytes[256];
	};
};

_Static_assert(sizeof(struct vg_wire_message) == 264, "the message's size is its format");

#endif
