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
 *     host:   WATCH + fd     a file for the watchdog, up to VG_WIRE_WATCH_FILES times
 *     helper: WATCHED | FAILED
 *     host:   DUMP + fd      any number of times: what the flight recorder has, into that file
 *     helper: DUMPED | FAILED
 *     host:   END
 *     helper: ENDED | FAILED
 *
 * Instead of the first BEGIN, a host that wants its helper to stay and others to speak with it:
 *
 *     host:   LISTEN + fd    bounds, where the socket is to be, and the event ring if it has one
 *     helper: STARTED | FAILED
 *     host:   JOIN + fd      any number of times: a socket on which it goes on with BEGIN
 *     helper: JOINED | FAILED
 *
 * On the socket PID.sock, others of the same user (libvgctl has no part in it; vgctl(1) has):
 *
 *     other:  STATUS         helper: STATE
 *     other:  OPEN + fd      the options, and the file
 *                            helper: OPENED | FAILED; and when the recording has ended, on the
 *                            same connection: COMPLETE
 *     other:  NAMED          the answer to COMPLETE: the file has its name, or why not
 *     other:  CLOSE          helper: ENDED | FAILED
 *     other:  MARK           helper: MARKED
 *     other:  DUMP + fd      which flight recorder, the program's own or another
 *                            helper: DUMPED | FAILED, when it is written
 */
enum {
	VG_WIRE_MAGIC = 0x77696776,
	VG_WIRE_VERSION = 4,
	VG_WIRE_FD = 3,              /* the helper's end of the socket */
	VG_WIRE_TEXT_BYTES = 240,
	VG_WIRE_NAME_BYTES = 160,
	VG_WIRE_RECORDINGS = 4,
	VG_WIRE_WATCH_FILES = 16,
	VG_WIRE_COUNTERS = 4,
	VG_WIRE_PERIOD_LEAST_NS = 100000,
	VG_WIRE_PERIOD_MAX_NS = 1000000000,
};

#define VG_WIRE_FLIGHT_MAX_NS (UINT64_C(86400) * 1000000000)

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
	VG_WIRE_DUMP = 20,
	VG_WIRE_DUMPED = 21,
	VG_WIRE_WATCH = 22,
	VG_WIRE_WATCHED = 23,
	VG_WIRE_JOIN = 30,
	VG_WIRE_JOINED = 31,
	VG_WIRE_LISTEN = 32,
	VG_WIRE_STATUS = 33,
	VG_WIRE_STATE = 34,
	VG_WIRE_OPEN = 35,
	VG_WIRE_OPENED = 36,
	VG_WIRE_CLOSE = 37,
	VG_WIRE_MARK = 38,
	VG_WIRE_MARKED = 39,
	VG_WIRE_COMPLETE = 40,
	VG_WIRE_NAMED = 41,
};

struct vg_wire_begin {
	uint64_t period_ns;          /* 0: on demand; else between the two bounds */
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
	uint64_t flight_ns;          /* what a flight recorder keeps; 0: there is none */
	uint64_t flight_memory_bytes; /* 0: the helper's default */
	uint16_t counters[VG_WIRE_COUNTERS]; /* codes of base/counters.h; 0: no more */
};

struct vg_wire_watch {
	uint64_t limit_ns;           /* of a heartbeat's age; the same each time */
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

/* FAILED, NAMED. */
struct vg_wire_failure {
	int32_t code;                /* a negative errno; of NAMED also 0 */
	uint32_t zero;
	char text[VG_WIRE_TEXT_BYTES]; /* a sentence, NUL-terminated */
};

/* Both strings end with a NUL. */
struct vg_wire_listen {
	struct vg_wire_begin begin;  /* its bounds of the process */
	char directory[VG_WIRE_NAME_BYTES];
};

struct vg_wire_recording {
	uint32_t id;                 /* from 1 on; 0: there is none here */
	uint32_t period_us;          /* 0: on demand */
	uint64_t samples;
	uint64_t lost;
	uint64_t duration_ns;
	uint64_t file_bytes;
	uint16_t cpu_mode;           /* 0 or 1 */
	uint16_t outside;            /* 0 or 1: not the program's own */
	uint32_t flight_s;           /* what a flight recorder keeps; 0: it is none */
};

struct vg_wire_state {
	int32_t pid;
	uint32_t threads;
	struct vg_wire_recording recordings[VG_WIRE_RECORDINGS];
	char program[48];
};

/* CLOSE, OPENED, DUMP; MARKED says in how many profiles. */
struct vg_wire_which {
	uint32_t id;                 /* 0: the only one that is from outside, or a flight recorder */
	uint32_t zero;
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
		struct vg_wire_watch watch;
		struct vg_wire_listen listen;
		struct vg_wire_state state;
		struct vg_wire_which which;
		char text[VG_WIRE_TEXT_BYTES]; /* MARK: the label */
		unsigned char bytes[256];
	};
};

_Static_assert(sizeof(struct vg_wire_message) == 264, "the message's size is its format");

#endif
