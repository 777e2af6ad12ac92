/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_FLIGHT_H
#define VG_VIGNETTED_FLIGHT_H

#include <stdbool.h>

#include "libvgctl/wire.h"
#include "vignetted/output/recorder.h"
#include "vignetted/target/perf_map.h"

#define VG_FLIGHT_MEMORY_DEFAULT_BYTES (UINT64_C(64) << 20)
#define VG_FLIGHT_MEMORY_MIN_BYTES (UINT64_C(1) << 20)
/* The most statistics that a dump has. */
enum { VG_FLIGHT_COUNTS = 64 };

/*
 * Checks the program's heartbeat, which the program writes into the event ring.  A heartbeat older than the limit is a
 * stall.  Before the first heartbeat, and while the program says that none is due, there is no stall.
 *
 *     vg_watchdog_add(&watchdog, limit_ns, fd);                  for each stall that is to be recorded
 *     switch (vg_watchdog_check(&watchdog, heartbeat_ns, now_ns)) ...
 *
 * All zero is no watchdog.
 */
struct vg_watchdog {
	uint64_t limit_ns;           /* 0: there is no watchdog */
	int files[VG_WIRE_WATCH_FILES]; /* owned, one for each stall */
	uint32_t file_count, files_used;
	uint64_t heartbeat_ns;       /* the heartbeat before the stall in progress; 0: no stall */
	uint64_t stalls;             /* number of stalls so far */
};

enum vg_watch {
	VG_WATCH_OK,
	VG_WATCH_STALL_BEGAN,
	VG_WATCH_STALL_LASTS,
	VG_WATCH_STALL_ENDED,
};

/* Adds a file for one stall.  Returns true and takes ownership of fd.  Returns false if limit_ns is 0 or there are
 * already VG_WIRE_WATCH_FILES files; fd then stays the caller's. */
bool vg_watchdog_add(struct vg_watchdog *watchdog, uint64_t limit_ns, int fd);

/* Both times are of CLOCK_MONOTONIC.  heartbeat_ns is the latest heartbeat, or 0 if none is due. */
enum vg_watch vg_watchdog_check(struct vg_watchdog *watchdog, uint64_t heartbeat_ns, uint64_t now_ns);

/* Returns the file for the stall that began, or -1 if none is left.  The watchdog still owns it. */
int vg_watchdog_file(struct vg_watchdog *watchdog);

void vg_watchdog_close(struct vg_watchdog *watchdog);

struct vg_flight_chunk;

/* What the dump in progress is for. */
enum vg_dump_purpose {
	VG_DUMP_NONE,                /* no dump is in progress */
	VG_DUMP_REQUESTED,           /* the program or another process requested it */
	VG_DUMP_STALL,               /* the watchdog began it; it goes on as long as the stall */
	VG_DUMP_FINAL,               /* the last dump, when the recording ends */
};

/* A dump: writes what a flight recorder keeps as an ordinary profile, chunk by chunk, while the flight recorder goes
 * on.  A chunk that the dump still has to write is not dropped before it is written. */
struct vg_dump {
	struct vg_writer writer;
	bool is_stopped;
	const struct vg_flight_chunk *next; /* to be written; NULL: none yet */
	const struct vg_flight_chunk *last; /* of a stopped dump */
	uint64_t first_begin_ns;     /* of its first segment */
	uint64_t window_begin_ns;    /* in its header */
	uint64_t end_ns;             /* when it was stopped */
	struct vg_losses before, lost; /* at the window's begin, and when it was stopped */
	uint64_t samples, stacks_complete, events;
	uint32_t threads;            /* set by vg_flight_dump_end() */
	struct vg_intern thread_ids;
	struct vg_intern jit_addresses; /* uint64_t, with a perf map: of its frames that may be JIT code */
};

/* Reports the result of a requested dump to the peer.  `rc`: 0 or a negative errno.  `dump` has the counts. */
typedef void vg_dump_done(int peer, const struct vg_dump *dump, int rc);

/*
 * The memory of a flight recorder: the chunks that its writer wrote in the last seconds, which are called the window.
 * The chunks form segments.  A segment begins with the state at that time: the sampling period and the intervals that
 * are open.  After that it has each thread, module, label and stack again before the first record that refers to it.
 * So a reader can begin at any segment, and the oldest segments can be dropped.  A dump copies the state of its first
 * segment, and all other chunks.
 *
 *     vg_flight_open(&flight, &recorder, &header, window_ns, memory_bytes);
 *     ...                                      recorder.writer gets records
 *     if (vg_flight_segment_due(&flight, now_ns)) {
 *             vg_flight_segment_begin(&flight, now_ns);
 *             ...                              recorder.writer gets the state
 *             vg_flight_state_end(&flight);
 *             ...                              recorder and recorder.writer get definitions again
 *             vg_flight_definitions_end(&flight);
 *     }
 *     flight.done = ..., flight.peer = ..., flight.reason = ...;   for a requested dump
 *     vg_flight_dump_begin(&flight, VG_DUMP_REQUESTED, fd, now_ns);
 *     while (vg_flight_dump_run(&flight, 10)) ...
 *     rc = vg_flight_dump_end(&flight, "reason");
 *     vg_flight_close(&flight);
 *
 * At most one dump is in progress.  session/dumps.c writes it in slices between ticks.
 *
 * All zero is a flight recorder that keeps nothing.
 */
struct vg_flight {
	struct vg_recorder *recorder; /* the caller's */
	const struct vg_writer_header *header; /* the recording's */
	struct vg_perf_map *perf_map; /* the recording's, set by the caller; NULL: dumps have no names of JIT code */
	_Atomic uint32_t *stalls_written; /* in the event ring, set by the caller: finished dumps of stalls */
	struct vg_watchdog watchdog;
	uint64_t window_ns, chunks_max_bytes;
	struct vg_flight_chunk *first, *latest; /* owned */
	uint64_t chunks_bytes;
	uint64_t segment_begin_ns;   /* of the latest segment */
	uint64_t definitions_bytes;  /* of its chunks up to vg_flight_definitions_end() */
	uint64_t segment_bytes;      /* of its chunks after that */
	struct vg_losses segment_lost; /* before the latest segment */
	bool begins_segment;         /* the next chunk begins a segment */
	bool is_state;               /* the next chunks are the state of a segment */
	uint64_t samples, events, stacks_complete; /* in chunks so far */
	uint64_t dropped;            /* samples and events that were lost because memory was short */
	struct vg_named_value stats[VG_FLIGHT_COUNTS];
	size_t stats_count;
	struct vg_pauses pauses;

	struct vg_dump dump;         /* the dump in progress, or the latest dump */
	enum vg_dump_purpose purpose; /* of the dump in progress */
	int fd;                      /* of the dump in progress; owned if it was requested */
	uint64_t stall_ns;           /* the recording's time when the stall was found */
	uint32_t stall_thread;       /* the thread that sends the heartbeat, or another one, or VG_NONE */
	uint64_t late_ns;            /* age of the heartbeat at stall_ns; 0: the instant that reports this age is
					already in the dump */
	vg_dump_done *done;          /* is called at the end of a requested dump */
	int peer;                    /* argument of done(); -1: the peer has left */
	const char *reason;          /* end reason in the requested dump */
	struct {                     /* counts of the final dump */
		uint64_t samples, events, file_bytes;
		uint32_t threads;
	} final;
};

/* Makes the recorder's writer write into the flight recorder.  `header`: for each dump.  It and the recorder must be
 * valid until vg_flight_close(). */
void vg_flight_open(struct vg_flight *flight, struct vg_recorder *recorder, const struct vg_writer_header *header,
		    uint64_t window_ns, uint64_t memory_bytes);
void vg_flight_close(struct vg_flight *flight);

/* Whether the latest segment is long or large enough; whether it is large enough. */
bool vg_flight_segment_due(const struct vg_flight *flight, uint64_t now_ns);
bool vg_flight_segment_is_full(const struct vg_flight *flight);

/* Begins a segment.  The caller then writes the state, and after that definitions that it knows to be needed.  Then
 * segments that are older than the window are dropped. */
void vg_flight_segment_begin(struct vg_flight *flight, uint64_t now_ns);
void vg_flight_state_end(struct vg_flight *flight);
void vg_flight_definitions_end(struct vg_flight *flight);

/* Keeps the statistics and the pause histogram for the next dump.  The names must stay valid. */
void vg_flight_counts(struct vg_flight *flight, const struct vg_named_value *stats, size_t stats_count,
		      const struct vg_pauses *pauses);

/* Begins a dump of what is kept now.  It begins with the latest segment that has the whole window, or with the oldest.
 * The dump of a stall also has what comes later, until vg_flight_dump_stop().  No other dump may be in progress.
 * Returns 0 or a negative errno; call vg_flight_dump_end() in both cases. */
int vg_flight_dump_begin(struct vg_flight *flight, enum vg_dump_purpose purpose, int fd, uint64_t now_ns);

/* Stops a dump that continues.  Does nothing if it was stopped. */
void vg_flight_dump_stop(struct vg_flight *flight, uint64_t now_ns);

/* Writes up to `count` chunks.  When none is left, adds the instant that reports a stall (late_ns), once.  Returns
 * whether there are chunks that can be written now (flight->dump.next). */
bool vg_flight_dump_run(struct vg_flight *flight, size_t count);

/* Adds an instant of the kind "watchdog" with the label `what` to the dump, at time_ns.  `thread` is an id that
 * recorder.writer has.  Does nothing without a dump, or if it is VG_NONE. */
void vg_flight_dump_note(struct vg_flight *flight, uint32_t thread, const char *what, uint64_t time_ns, uint64_t value);

/* Writes the rest and the end of the dump, which must have been stopped, and reports its end to the peer.  `reason` is
 * static text.  Returns 0, or the negative errno with which the dump failed.  The counts of flight->dump stay valid. */
int vg_flight_dump_end(struct vg_flight *flight, const char *reason);

/* The recording has ended: ends the dump in progress, and writes the final dump into the recording's file `fd`.
 * Returns 0 or a negative errno. */
int vg_flight_dump_final(struct vg_flight *flight, int fd, const char *reason, uint64_t ended_ns);

#endif
