/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_FLIGHT_RECORDER_H
#define VG_VIGNETTED_FLIGHT_RECORDER_H

#include "vignetted/output/flight.h"
#include "vignetted/output/watchdog.h"
#include "vignetted/target/perf_map.h"

struct vg_lanes;

/* What the dump in progress is for. */
enum vg_dump_purpose {
	VG_DUMP_NONE,                /* no dump is in progress */
	VG_DUMP_REQUESTED,           /* the program or another process requested it */
	VG_DUMP_STALL,               /* the watchdog began it; it goes on as long as the stall */
	VG_DUMP_FINAL,               /* the last dump, when the recording ends */
};

/* Reports the result of a requested dump to the peer.  `rc`: 0 or a negative errno.  `dump` has the counts. */
typedef void vg_dump_done(int peer, const struct vg_dump *dump, int rc);

/*
 * A recording's flight recorder and its dumps.  At most one dump is in progress.  It is written in slices between ticks
 * (dumps.h).
 */
struct vg_flight_recorder {
	struct vg_flight flight;     /* flight.dump: the dump in progress, or the latest dump */
	const struct vg_writer_header *header; /* the recording's */
	bool has_perf_map;           /* dumps have names of JIT code; set by the caller */
	struct vg_watchdog watchdog;
	enum vg_dump_purpose purpose;
	struct vg_lanes *shared;     /* the event ring, which counts the finished dumps of stalls; or NULL */
	int fd;                      /* of the dump in progress; owned if it was requested */
	uint64_t stall_ns;           /* the recording's time when the stall was found */
	uint64_t late_ns;            /* age of the heartbeat at stall_ns; 0: the instant that reports this age is
					already in the dump */
	vg_dump_done *done;          /* is called at the end of a requested dump */
	int peer;                    /* argument of done(); -1: the peer has left */
	const char *reason;          /* end reason in the requested dump */
	uint64_t samples, events;    /* of the final dump, like file_bytes and threads */
	uint64_t file_bytes;
	uint32_t threads;
};

/* Makes the recorder keep the last window_ns in memory, instead of writing them.  `header`: for each dump; the
 * caller's. */
void vg_flight_recorder_open(struct vg_flight_recorder *flight_recorder, struct vg_recorder *recorder,
			     const struct vg_writer_header *header, uint64_t window_ns, uint64_t memory_bytes,
			     struct vg_lanes *events);

/* now_ns: a time of the recording.  Does nothing if all is zero. */
void vg_flight_recorder_close(struct vg_flight_recorder *flight_recorder, uint64_t now_ns);

/* Begins a dump of the window that ends at now_ns, a time of the recording.  Returns 0 or a negative errno; call
 * vg_flight_recorder_dump_end() in both cases. */
int vg_flight_recorder_dump_begin(struct vg_flight_recorder *flight_recorder, enum vg_dump_purpose purpose, int fd,
				  uint64_t now_ns);

/* Writes the rest of the dump, and reports its end to the peer.  `perf_map`: the recording's.  Returns 0 or a negative
 * errno. */
int vg_flight_recorder_dump_end(struct vg_flight_recorder *flight_recorder, struct vg_perf_map *perf_map,
				const char *reason);

/* The recording has ended: ends the dump in progress, and writes the final dump into the recording's file `fd`.
 * Returns 0 or a negative errno. */
int vg_flight_recorder_dump_final(struct vg_flight_recorder *flight_recorder, struct vg_perf_map *perf_map, int fd,
				  const char *reason, uint64_t ended_ns);

#endif
