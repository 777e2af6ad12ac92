/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_WIRE_H
#define VG_LIBVGCTL_WIRE_H

#include <stdint.h>

/*
 * The messages between host and helper over a SOCK_SEQPACKET socket pair, and between vgctl and helper over the control
 * socket.  A message is one struct in the machine's byte order.  channel.h has the functions that send and receive
 * messages.
 *
 * Both ends may be of different releases.  `version` of a message is the oldest version of this protocol that can
 * understand the message.  A message without new members keeps the old version, so both releases understand it.  New
 * members are added at the end of a struct, and 0 means what their absence meant.  The receiver ignores what follows
 * the members that it knows, and sets members that are missing to 0.  A message that needs them has a new version.  An
 * end that gets a message of a version that it does not speak says which end is too old: the helper with FAILED, the
 * others with an error.  HELLO and FAILED have version VG_WIRE_FIRST in all releases.
 *
 * The host and peers send requests.  The helper sends one answer to each request.  It sends three messages without a
 * request: HELLO; COMPLETE; and FAILED to the host, if a signal ends the helper.  RENAMED answers COMPLETE, and gets no
 * answer itself.
 *
 *     helper: HELLO          the host permits the pid in its credentials to trace it
 *     host:   BEGIN + fds    options, the output file and, if the host has one, the event ring
 *     helper: STARTED | FAILED
 *     host:   SAMPLE         any number of times; of all threads or, since version 5, of one
 *     helper: SAMPLED | FAILED
 *     host:   WATCH + fd     a file for the watchdog, up to VG_WIRE_WATCH_FILES times
 *     helper: WATCHED | FAILED
 *     host:   DUMP + fd      any number of times: write the flight recorder's contents to the file
 *     helper: DUMPED | FAILED
 *     host:   END
 *     helper: ENDED | FAILED
 *
 * A host that calls vgctl_listen() sends, instead of the first BEGIN:
 *
 *     host:   LISTEN + fd    the helper's limits, the directory of the socket and, if the host has one, the
 *                            event ring
 *     helper: STARTED | FAILED
 *
 * For each further session of the same helper:
 *
 *     host:   JOIN + fd      a socket, on which the host continues with BEGIN
 *     helper: JOINED | FAILED
 *
 * On the control socket PID.sock, vgctl(1) of the same user sends:
 *
 *     peer:   STATUS         helper: STATE
 *     peer:   OPEN + fd      options and the output file of a remote recording
 *                            helper: OPENED | FAILED; and COMPLETE on the same connection when the
 *                            recording has ended
 *     peer:   RENAMED        answers COMPLETE: the file was renamed, or the reason why it was not
 *     peer:   CLOSE          helper: ENDED | FAILED
 *     peer:   MARK           helper: MARKED
 *     peer:   DUMP + fd      of a flight recorder, remote or the program's own
 *                            helper: DUMPED | FAILED, when the dump is written
 */
enum {
	VG_WIRE_MAGIC = 0x77696776,
	VG_WIRE_FIRST = 4,           /* version of the first release */
	VG_WIRE_OLDEST = 4,          /* this release speaks VG_WIRE_OLDEST to VG_WIRE_NEWEST */
	VG_WIRE_NEWEST = 5,
	VG_WIRE_THREAD = 5,          /* the version in which BEGIN, OPEN and SAMPLE have a thread */
	VG_WIRE_FD = 3,              /* descriptor of the helper's end of the socket pair */
	VG_WIRE_TEXT_BYTES = 240,
	VG_WIRE_NAME_BYTES = 160,
	VG_WIRE_LISTEN_BYTES = 96,   /* the size of struct vg_wire_begin in the first release */
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
	VG_WIRE_RENAMED = 41,
};

struct vg_wire_hello {
	uint16_t oldest;             /* versions that the helper speaks; both 0: only VG_WIRE_FIRST */
	uint16_t newest;
};

struct vg_wire_begin {
	uint64_t period_ns;          /* 0: on demand; otherwise VG_WIRE_PERIOD_LEAST_NS to _MAX_NS */
	uint64_t max_file_bytes;     /* 0: no limit */
	uint64_t max_duration_ns;    /* 0: no limit */
	uint32_t max_frames;
	uint32_t cpu_mode;           /* 0 or 1 */
	uint32_t budget_ppm;         /* budget in millionths; 0: no limit */
	uint32_t perf_map;           /* 0 or 1 */
	uint32_t thread_names;       /* 0 or 1 */
	uint32_t max_threads;        /* 0: the helper's default; also in the next member */
	uint64_t max_memory_bytes;
	uint32_t unused[2];          /* earlier libraries set them */
	uint32_t stop_always;        /* 0 or 1 */
	uint32_t events_overwrite;   /* 0 or 1: the host overwrites the oldest records of a full lane */
	uint64_t flight_ns;          /* the window of a flight recorder; 0: not a flight recorder */
	uint64_t flight_memory_bytes; /* 0: the helper's default */
	uint16_t counters[VG_WIRE_COUNTERS]; /* codes of base/counters.h; the first 0 ends the list */
	/* Since version VG_WIRE_THREAD; not in LISTEN. */
	uint32_t thread;             /* id of the only thread to sample; 0: all threads */
	uint32_t zero;
};

struct vg_wire_sample {
	uint32_t thread;             /* id of the thread; 0: all threads; otherwise the version is VG_WIRE_THREAD */
	uint32_t zero;
};

struct vg_wire_watch {
	uint64_t limit_ns;           /* the next heartbeat is late after this time; the same in all WATCH messages of a
	                                session */
};

struct vg_wire_started {
	uint32_t events;             /* 0 or 1: the helper reads the event ring */
	uint32_t zero;
};

/* ENDED and DUMPED.  struct vgctl_summary of vgctl.h explains the members. */
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

/* FAILED, RENAMED. */
struct vg_wire_failure {
	int32_t code;                /* a negative errno; in RENAMED also 0 */
	uint32_t zero;
	char text[VG_WIRE_TEXT_BYTES]; /* a sentence, NUL-terminated */
};

struct vg_wire_listen {
	unsigned char begin[VG_WIRE_LISTEN_BYTES]; /* the first bytes of a struct vg_wire_begin; only the members that
	                                              limit the helper are used */
	char directory[VG_WIRE_NAME_BYTES]; /* of the socket; NUL-terminated */
};

struct vg_wire_recording {
	uint32_t id;                 /* from 1; 0: this element is empty */
	uint32_t period_us;          /* 0: on demand */
	uint64_t samples;
	uint64_t lost;
	uint64_t duration_ns;
	uint64_t file_bytes;
	uint16_t cpu_mode;           /* 0 or 1 */
	uint16_t remote;             /* 0 or 1: begun by a peer, not by the host */
	uint32_t flight_s;           /* the window of a flight recorder; 0: not a flight recorder */
};

struct vg_wire_state {
	int32_t pid;
	uint32_t threads;
	struct vg_wire_recording recordings[VG_WIRE_RECORDINGS];
	char program[48];            /* file name of the target's executable, truncated; NUL-terminated */
};

/* For CLOSE, OPENED and DUMP.  In MARKED, `id` is the number of profiles that got the mark. */
struct vg_wire_recording_id {
	uint32_t id;                 /* 0: the only remote recording or, in DUMP, the only flight recorder */
	uint32_t zero;
};

struct vg_wire_message {
	uint32_t magic;
	uint16_t version;            /* vg_channel_send() sets it to VG_WIRE_FIRST if it is 0 */
	uint16_t kind;
	union {
		struct vg_wire_hello hello;
		struct vg_wire_begin begin;
		struct vg_wire_started started;
		struct vg_wire_sample sample;
		struct vg_wire_summary summary;
		struct vg_wire_failure failure;
		struct vg_wire_watch watch;
		struct vg_wire_listen listen;
		struct vg_wire_state state;
		struct vg_wire_recording_id recording;
		char text[VG_WIRE_TEXT_BYTES]; /* MARK: the label */
		unsigned char bytes[256];
	};
};

_Static_assert(sizeof(struct vg_wire_message) == 264, "the first release accepts no other size");

#endif
